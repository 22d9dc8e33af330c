import type { LivenessPolicy } from '../../machines/vocabulary.ts';
import type { BusyStrategy } from '../handle.ts';
import type { CrashConfig, JournalConfig, ParkConfig, PerSeam } from './config.ts';
import { DEFAULTS } from './defaults.ts';
import { RESUME_CONCURRENCY, RETENTION_SECONDS_MAX, ZERO_SAYS } from './ranges.ts';
import type { Setting } from './setting.ts';
import { integer, oneOf, seconds, toggle } from './values.ts';

/** What becomes of runs beside their readers, their session's other runs and their process. */
export interface RunSettingValues extends JournalConfig, CrashConfig, ParkConfig {
  readonly chatPolicy: LivenessPolicy;
  readonly chatGraceMs: number;
  readonly headlessPolicy: LivenessPolicy;
  readonly headlessGraceMs: number;
  readonly chatOnBusy: BusyStrategy;
  readonly headlessOnBusy: BusyStrategy;
}

type Seam = keyof PerSeam<unknown>;

const policy = (seam: Seam, fallback: string): Setting<LivenessPolicy> => ({
  read: oneOf(['cancel', 'continue', 'park']),
  env: [`RUNWARDEN_${seam.toUpperCase()}_POLICY`],
  toml: ['liveness', seam, 'policy'],
  help: 'what a run does that nobody reads any more',
  fallback,
});

const grace = (seam: Seam, fallback: number): Setting<number> => ({
  read: seconds(ZERO_SAYS.graceMs),
  env: [`RUNWARDEN_${seam.toUpperCase()}_GRACE_SECS`],
  toml: ['liveness', seam, 'grace_secs'],
  help: 'how long a run waits for somebody to read it again before its policy counts',
  fallback,
});

const onBusy = (seam: Seam, fallback: string): Setting<BusyStrategy> => ({
  read: oneOf(['parallel', 'reject', 'enqueue', 'interrupt']),
  env: [`RUNWARDEN_${seam.toUpperCase()}_ON_BUSY`],
  toml: ['on_busy', seam],
  help: 'what a start does when its session has a live run',
  fallback,
});

const bytes = (key: string, fallback: number, help: string): Setting<number> => ({
  read: integer({ min: 0, max: Number.MAX_SAFE_INTEGER, note: 'bytes, 0 is unlimited' }),
  env: [`RUNWARDEN_${key.toUpperCase()}`],
  toml: ['journal', key],
  help,
  fallback,
});

/** A part of `SETTINGS`, which is the table to read. */
export const RUN_SETTINGS: {
  readonly [Name in keyof RunSettingValues]: Setting<RunSettingValues[Name]>;
} = {
  chatPolicy: policy('chat', DEFAULTS.chatPolicy),
  chatGraceMs: grace('chat', DEFAULTS.chatGraceSecs),
  headlessPolicy: policy('headless', DEFAULTS.headlessPolicy),
  headlessGraceMs: grace('headless', DEFAULTS.headlessGraceSecs),
  chatOnBusy: onBusy('chat', DEFAULTS.chatOnBusy),
  headlessOnBusy: onBusy('headless', DEFAULTS.headlessOnBusy),
  recover: {
    read: oneOf(['fail', 'resume']),
    env: ['RUNWARDEN_RECOVER'],
    toml: ['crash', 'recover'],
    help: 'what becomes of a run at work when its process was lost',
    fallback: DEFAULTS.recover,
  },
  resumeOnStart: {
    read: toggle,
    env: ['RUNWARDEN_RESUME_ON_START'],
    toml: ['park', 'resume_on_start'],
    help: 'resume parked runs when the server starts',
    fallback: DEFAULTS.resumeOnStart,
  },
  resumeConcurrency: {
    read: integer(RESUME_CONCURRENCY),
    env: ['RUNWARDEN_RESUME_CONCURRENCY'],
    toml: ['park', 'resume_concurrency'],
    help: 'parked runs that are resumed at the same time',
    fallback: DEFAULTS.resumeConcurrency,
  },
  store: {
    read: oneOf(['sqlite', 'memory']),
    env: ['RUNWARDEN_STORE'],
    toml: ['journal', 'store'],
    help: 'where the journal is kept',
    fallback: DEFAULTS.store,
  },
  durability: {
    read: oneOf(['process', 'power']),
    env: ['RUNWARDEN_DURABILITY'],
    toml: ['journal', 'durability'],
    help: 'what a stored entry survives',
    fallback: DEFAULTS.durability,
  },
  checkInvariants: {
    read: toggle,
    flag: 'check-invariants',
    env: ['RUNWARDEN_CHECK_INVARIANTS'],
    toml: ['journal', 'check_invariants'],
    takes: '[bool]',
    help: 'check the journal of each run as it is written, and stop a run that breaks an invariant',
    fallback: DEFAULTS.checkInvariants,
  },
  retentionMs: {
    read: seconds(ZERO_SAYS.retentionMs, {
      max: RETENTION_SECONDS_MAX,
      offWords: 'to keep everything',
    }),
    env: ['RUNWARDEN_RETENTION_SECS'],
    toml: ['journal', 'retention_secs'],
    help: 'how long entries are kept; 0 keeps everything',
    fallback: DEFAULTS.retentionSecs,
  },
  sessionBytesMax: bytes(
    'session_max_bytes',
    DEFAULTS.sessionBytesMax,
    'what one session may hold; 0 is unlimited',
  ),
  totalBytesMax: bytes(
    'total_max_bytes',
    DEFAULTS.totalBytesMax,
    'what all sessions may hold together; 0 is unlimited',
  ),
};
