import { describe, expect, it } from 'vitest';
import { configOf, issuesOf, MINIMAL } from '../support/config-kit.ts';

const RUNS = `${MINIMAL}[runtime]
crash = { recover = "resume" }
on_busy = { chat = "interrupt", headless = "enqueue" }
park = { resume_on_start = "yes", resume_concurrency = 7 }
[runtime.liveness]
chat = { policy = "continue", grace_secs = 2.5 }
headless = { policy = "park", grace_secs = "30" }
[runtime.journal]
retention_secs = 315360000
session_max_bytes = 1000
total_max_bytes = 0
[runtime.tools."get_*"]
retry = "idempotent"
[runtime.tools."*"]
timeout_secs = 3
`;

/** What a run's tables come to, without what they have nothing to do with. */
const runsOf = (...told: Parameters<typeof configOf>): object => {
  const { liveness, onBusy, crash, park, journal } = configOf(...told);
  const { retentionMs, sessionBytesMax, totalBytesMax } = journal;
  return { liveness, onBusy, crash, park, retentionMs, sessionBytesMax, totalBytesMax };
};

const TAKEN = {
  liveness: {
    chat: { policy: 'continue', graceMs: 2_500 },
    headless: { policy: 'park', graceMs: 30_000 },
  },
  onBusy: { chat: 'interrupt', headless: 'enqueue' },
  crash: { recover: 'resume' },
  park: { resumeOnStart: true, resumeConcurrency: 7 },
  retentionMs: 315_360_000_000,
  sessionBytesMax: 1_000,
  totalBytesMax: 0,
};

describe('configuration: what becomes of runs', () => {
  it('takes every key of its tables', () => {
    expect(runsOf(RUNS)).toEqual(TAKEN);
  });

  it('takes every variable, and each before TOML', () => {
    const env = {
      RUNWARDEN_CHAT_POLICY: 'park',
      RUNWARDEN_CHAT_GRACE_SECS: '0',
      RUNWARDEN_HEADLESS_POLICY: 'cancel',
      RUNWARDEN_HEADLESS_GRACE_SECS: '0.25',
      RUNWARDEN_CHAT_ON_BUSY: 'reject',
      RUNWARDEN_HEADLESS_ON_BUSY: 'parallel',
      RUNWARDEN_RECOVER: 'fail',
      RUNWARDEN_RESUME_ON_START: 'off',
      RUNWARDEN_RESUME_CONCURRENCY: '1000',
      RUNWARDEN_RETENTION_SECS: '0',
      RUNWARDEN_SESSION_MAX_BYTES: '0',
      RUNWARDEN_TOTAL_MAX_BYTES: '5',
    };
    expect(runsOf(RUNS, { env })).toEqual({
      liveness: {
        chat: { policy: 'park', graceMs: 0 },
        headless: { policy: 'cancel', graceMs: 250 },
      },
      onBusy: { chat: 'reject', headless: 'parallel' },
      crash: { recover: 'fail' },
      park: { resumeOnStart: false, resumeConcurrency: 1_000 },
      retentionMs: 0,
      sessionBytesMax: 0,
      totalBytesMax: 5,
    });
  });

  it.each(['cancel', 'continue', 'park'] as const)(
    'takes the policy %s in both seams',
    (policy) => {
      const text = `${MINIMAL}[runtime.liveness]\nchat.policy = "${policy}"\nheadless.policy = "${policy}"`;
      const seam = { policy, graceMs: 0 };
      expect(configOf(text).liveness).toEqual({ chat: seam, headless: seam });
    },
  );

  it.each(['parallel', 'reject', 'enqueue', 'interrupt'])('takes %s for a busy session', (word) => {
    const text = `${MINIMAL}[runtime.on_busy]\nchat = "${word}"\nheadless = "${word}"`;
    expect(configOf(text).onBusy).toEqual({ chat: word, headless: word });
  });

  it('leaves the other seam and the other half of a policy at their defaults', () => {
    const text = `${MINIMAL}[runtime.liveness]\nheadless = { grace_secs = 1 }`;
    expect(configOf(text).liveness).toEqual({
      chat: { policy: 'cancel', graceMs: 0 },
      headless: { policy: 'continue', graceMs: 1_000 },
    });
  });

  it('repeats the calls of a tool after a crash only where that is written', () => {
    expect(configOf(RUNS).tools).toEqual([
      { glob: 'get_*', idempotent: true },
      { glob: '*', timeoutMs: 3_000, idempotent: false },
    ]);
  });

  const grace = 'Use a number of seconds from 0.001 to 2147483, or 0 for none.';
  const age = 'Use a number of seconds from 0.001 to 315360000, or 0 to keep everything.';
  const bytes = 'Use a whole number from 0 to 9007199254740991; bytes, 0 is unlimited.';
  const policies = 'Use "cancel", "continue", "park".';
  const strategies = 'Use "parallel", "reject", "enqueue", "interrupt".';

  it.each([
    ['liveness.chat.policy', '"contine"', 'known', `Did you mean "continue"? ${policies}`],
    ['liveness.headless.policy', '"stay"', 'known', policies],
    ['liveness.chat.grace_secs', '-1', 'range', grace],
    ['liveness.headless.grace_secs', '2147484', 'range', grace],
    ['liveness.headless.grace_secs', '0.0004', 'range', grace],
    ['on_busy.chat', '"wait"', 'known', strategies],
    ['on_busy.headless', '"enqeue"', 'known', `Did you mean "enqueue"? ${strategies}`],
    ['crash.recover', '"retry"', 'known', 'Use "fail", "resume".'],
    ['park.resume_concurrency', '0', 'range', 'Use a whole number from 1 to 1000.'],
    ['park.resume_concurrency', '1001', 'range', 'Use a whole number from 1 to 1000.'],
    ['journal.retention_secs', '-0.5', 'range', age],
    ['journal.retention_secs', '315360001', 'range', age],
    ['journal.session_max_bytes', '-1', 'range', bytes],
    ['journal.total_max_bytes', '-1', 'range', bytes],
    ['tools.add.retry', '"always"', 'known', 'Use "idempotent".'],
  ])('refuses %s = %s', (key, value, why, advice) => {
    const problem = why === 'range' ? 'is out of range' : 'is not a known value';
    expect(issuesOf(`${MINIMAL}[runtime]\n${key} = ${value}`)).toEqual([
      `a.toml:7: runtime.${key} ${problem}: ${value}. ${advice}`,
    ]);
  });

  it.each([
    ['RUNWARDEN_CHAT_POLICY', 'gone', 'is not a known value', policies],
    ['RUNWARDEN_CHAT_GRACE_SECS', 'NaN', 'is not a number of seconds', grace],
    ['RUNWARDEN_HEADLESS_GRACE_SECS', '1e9', 'is out of range', grace],
    ['RUNWARDEN_HEADLESS_ON_BUSY', 'drop', 'is not a known value', strategies],
    ['RUNWARDEN_RETENTION_SECS', '1e10', 'is out of range', age],
    ['RUNWARDEN_TOTAL_MAX_BYTES', '1.5', 'is not a whole number', bytes],
  ])('refuses %s=%s', (name, value, problem, advice) => {
    expect(issuesOf(MINIMAL, { env: { [name]: value } })).toEqual([
      `environment: ${name} ${problem}: "${value}". ${advice}`,
    ]);
  });

  it.each(['nan', 'inf', '-inf'])('refuses a grace and a retention of %s seconds', (value) => {
    const text = `[runtime]\nliveness.chat.grace_secs = ${value}\njournal.retention_secs = ${value}`;
    expect(issuesOf(`${MINIMAL}${text}`)).toHaveLength(2);
  });
});
