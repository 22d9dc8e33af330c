import * as z from 'zod';
import type { ToolLimitConfig } from '../config.ts';
import { ZERO_SAYS } from '../ranges.ts';
import { SETTINGS } from '../settings.ts';
import { integer, oneOf, seconds } from '../values.ts';
import { field, glob, notYet, notYetUnless, present, switchedOff, table } from './fields.ts';

const timeouts = table(
  {
    setup_secs: field(SETTINGS.setupMs.read).optional(),
    mcp_connect_secs: field(SETTINGS.mcpConnectMs.read).optional(),
    step_secs: field(SETTINGS.stepMs.read).optional(),
    step_allowance_secs: field(SETTINGS.stepAllowanceMs.read).optional(),
    tool_secs: field(SETTINGS.toolMs.read).optional(),
    tool_stop_grace_secs: field(SETTINGS.toolStopGraceMs.read).optional(),
    total_secs: field(SETTINGS.totalMs.read).optional(),
  },
  {
    first_chunk_secs: 'Set FIRST_CHUNK_TIMEOUT_SECS or --first-chunk-timeout-secs.',
    inactivity_secs: 'Set STREAM_INACTIVITY_TIMEOUT_SECS or --stream-inactivity-timeout-secs.',
    shutdown_secs: 'Set SHUTDOWN_TIMEOUT_SECS or --shutdown-timeout-secs.',
  },
);

const toolLimit = table({
  timeout_secs: field(seconds(ZERO_SAYS.toolMs)).optional(),
  retry: notYet('Leave it out; a tool call is executed once.'),
});

const tools = z
  .record(glob, toolLimit)
  .transform((limits) => Object.entries(limits).map(toToolLimit));

function toToolLimit([glob, limit]: [string, z.output<typeof toolLimit>]): ToolLimitConfig {
  return { glob, ...present({ timeoutMs: limit.timeout_secs }) };
}

const GRACE_ADVICE = 'Leave it out or set it to 0.';

const noGrace = notYetUnless((value) => {
  const reading = seconds('none')(value);
  return reading.ok && reading.value === 0;
}, GRACE_ADVICE);

const liveness = table({
  policy: field(oneOf(['cancel'], ['continue', 'park'])).optional(),
  grace_secs: noGrace,
});

/** `[runtime]`. Values are milliseconds where the keys say seconds. */
export const runtimeSchema = table(
  {
    timeouts: timeouts.optional(),
    max_parallel_tools: field(SETTINGS.parallelToolsMax.read).optional(),
    allowed_origins: field(SETTINGS.allowedOrigins.read).optional(),
    tools: tools.optional(),
    crash: table({ recover: field(oneOf(['fail'], ['resume'])).optional() }).optional(),
    on_busy: table({
      chat: field(oneOf(['parallel'], ['reject', 'enqueue', 'interrupt'])).optional(),
      headless: field(oneOf(['reject'], ['parallel', 'enqueue', 'interrupt'])).optional(),
    }).optional(),
    journal: table({
      store: field(SETTINGS.store.read).optional(),
      durability: field(SETTINGS.durability.read).optional(),
    }).optional(),
    liveness: table({ chat: liveness.optional(), headless: liveness.optional() }).optional(),
    park: table({
      resume_on_start: switchedOff('Leave it out or set it to false.'),
      resume_concurrency: field(integer({ min: 1, max: 1_000 })).optional(),
    }).optional(),
  },
  { data_dir: 'Set RUNWARDEN_DATA_DIR or --data-dir.' },
);

export type RuntimeToml = z.output<typeof runtimeSchema>;
