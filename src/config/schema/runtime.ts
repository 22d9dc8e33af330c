import * as z from 'zod';
import type { ToolLimitConfig } from '../config.ts';
import { ZERO_SAYS } from '../ranges.ts';
import { type SettingName, SETTINGS } from '../settings.ts';
import { oneOf, seconds } from '../values.ts';
import { field, glob, present, table } from './fields.ts';

/** A key that is read as the flag and the variable of the same setting are. */
const setting = <Name extends SettingName>(name: Name) => field(SETTINGS[name].read).optional();

const timeouts = table(
  {
    setup_secs: setting('setupMs'),
    mcp_connect_secs: setting('mcpConnectMs'),
    step_secs: setting('stepMs'),
    step_allowance_secs: setting('stepAllowanceMs'),
    tool_secs: setting('toolMs'),
    tool_stop_grace_secs: setting('toolStopGraceMs'),
    total_secs: setting('totalMs'),
  },
  {
    first_chunk_secs: 'Set FIRST_CHUNK_TIMEOUT_SECS or --first-chunk-timeout-secs.',
    inactivity_secs: 'Set STREAM_INACTIVITY_TIMEOUT_SECS or --stream-inactivity-timeout-secs.',
    shutdown_secs: 'Set SHUTDOWN_TIMEOUT_SECS or --shutdown-timeout-secs.',
  },
);

const toolLimit = table({
  timeout_secs: field(seconds(ZERO_SAYS.toolMs)).optional(),
  retry: field(oneOf(['idempotent'])).optional(),
});

const tools = z
  .record(glob, toolLimit)
  .transform((limits) => Object.entries(limits).map(toToolLimit));

function toToolLimit([glob, limit]: [string, z.output<typeof toolLimit>]): ToolLimitConfig {
  const { timeout_secs: timeoutMs, retry } = limit;
  return { glob, idempotent: retry === 'idempotent', ...present({ timeoutMs }) };
}

/** `[runtime]`. Values are milliseconds where the keys say seconds. */
export const runtimeSchema = table(
  {
    timeouts: timeouts.optional(),
    max_parallel_tools: setting('parallelToolsMax'),
    allowed_origins: setting('allowedOrigins'),
    decider_header: setting('deciderHeader'),
    tools: tools.optional(),
    crash: table({ recover: setting('recover') }).optional(),
    on_busy: table({
      chat: setting('chatOnBusy'),
      headless: setting('headlessOnBusy'),
    }).optional(),
    journal: table({
      store: setting('store'),
      durability: setting('durability'),
      check_invariants: setting('checkInvariants'),
      retention_secs: setting('retentionMs'),
      session_max_bytes: setting('sessionBytesMax'),
      total_max_bytes: setting('totalBytesMax'),
    }).optional(),
    liveness: table({
      chat: table({
        policy: setting('chatPolicy'),
        grace_secs: setting('chatGraceMs'),
      }).optional(),
      headless: table({
        policy: setting('headlessPolicy'),
        grace_secs: setting('headlessGraceMs'),
      }).optional(),
    }).optional(),
    park: table({
      resume_on_start: setting('resumeOnStart'),
      resume_concurrency: setting('resumeConcurrency'),
    }).optional(),
  },
  { data_dir: 'Set RUNWARDEN_DATA_DIR or --data-dir.' },
);

export type RuntimeToml = z.output<typeof runtimeSchema>;
