import type { ServerConfig, TimeoutConfig, ToolResultMode } from './config.ts';
import { DEFAULTS } from './defaults.ts';
import { trustedHeader } from './header-values.ts';
import { PARALLEL_TOOLS, ZERO_SAYS } from './ranges.ts';
import { RUN_SETTINGS, type RunSettingValues } from './run-settings.ts';
import type { Setting } from './setting.ts';
import {
  httpUrl,
  integer,
  oneOf,
  origins,
  seconds,
  text,
  toggle,
  type ZeroSeconds,
} from './values.ts';

export type { Setting } from './setting.ts';

export interface SettingValues
  extends Omit<ServerConfig, 'logLevel' | 'serverUrl' | 'defaultAgent' | 'deciderHeader'>,
    TimeoutConfig,
    RunSettingValues {
  readonly serverUrl: string | undefined;
  readonly defaultAgent: string | undefined;
  readonly deciderHeader: string | undefined;
  readonly parallelToolsMax: number;
}

export type SettingName = keyof SettingValues;

const secs = (
  key: string,
  zero: ZeroSeconds,
  fallback: number,
  help: string,
  env: readonly string[] = [],
  flag?: string,
): Setting<number> => ({
  read: seconds(zero),
  ...(flag === undefined ? {} : { flag }),
  env: [`RUNWARDEN_${key.toUpperCase()}_SECS`, ...env],
  toml: ['timeouts', `${key}_secs`],
  takes: '<secs>',
  help,
  fallback,
});

/** AURA's own deadlines have no key in TOML. */
const auraSecs = (
  flag: string,
  zero: ZeroSeconds,
  fallback: number,
  help: string,
): Setting<number> => ({
  read: seconds(zero),
  flag,
  env: [flag.toUpperCase().replaceAll('-', '_')],
  takes: '<secs>',
  help,
  fallback,
});

const TOOL_RESULT_MODES: readonly ToolResultMode[] = ['none', 'open-web-ui', 'aura', 'hidden'];

/** Every process-wide setting. Flags, help, environment and `[runtime]` are read from this table. */
export const SETTINGS: { readonly [Name in SettingName]: Setting<SettingValues[Name]> } = {
  host: {
    read: text('"127.0.0.1"'),
    flag: 'host',
    env: ['HOST'],
    takes: '<host>',
    help: 'address to listen on',
    fallback: DEFAULTS.host,
  },
  port: {
    read: integer({ min: 0, max: 65_535, note: '0 lets the system choose' }),
    flag: 'port',
    short: 'p',
    env: ['PORT'],
    takes: '<port>',
    help: 'port to listen on; 0 lets the system choose',
    fallback: DEFAULTS.port,
  },
  dataDir: {
    read: text('"./.runwarden"'),
    flag: 'data-dir',
    env: ['RUNWARDEN_DATA_DIR'],
    takes: '<dir>',
    help: 'where the journal is kept',
    fallback: DEFAULTS.dataDir,
  },
  allowedOrigins: {
    read: origins,
    flag: 'allowed-origins',
    env: ['RUNWARDEN_ALLOWED_ORIGINS'],
    toml: ['allowed_origins'],
    takes: '<list>',
    help: 'origins of browser pages that may call, with commas between them',
    fallback: [],
  },
  serverUrl: {
    read: httpUrl,
    flag: 'server-url',
    env: ['AURA_SERVER_URL'],
    takes: '<url>',
    help: 'address under which clients reach this server',
    fallback: undefined,
  },
  defaultAgent: {
    read: text('the alias or name of an agent'),
    flag: 'default-agent',
    env: ['DEFAULT_AGENT'],
    takes: '<id>',
    help: 'agent for requests that name no model',
    fallback: undefined,
  },
  toolResultMode: {
    read: oneOf(TOOL_RESULT_MODES),
    flag: 'tool-result-mode',
    env: ['TOOL_RESULT_MODE'],
    takes: '<mode>',
    help: `how server-run tools show in a stream: ${TOOL_RESULT_MODES.join(', ')}`,
    fallback: DEFAULTS.toolResultMode,
  },
  toolResultMaxLength: {
    read: integer({ min: 0, max: Number.MAX_SAFE_INTEGER, note: 'bytes, 0 is unlimited' }),
    flag: 'tool-result-max-length',
    env: ['TOOL_RESULT_MAX_LENGTH'],
    takes: '<bytes>',
    help: 'bytes of a tool result that a stream shows; 0 is unlimited',
    fallback: DEFAULTS.toolResultMaxLength,
  },
  streamingBufferSize: {
    read: integer({ min: 1, max: 1_000_000, note: 'in chunks' }),
    flag: 'streaming-buffer-size',
    env: ['STREAMING_BUFFER_SIZE'],
    takes: '<chunks>',
    help: 'chunks that may wait for a slow reader',
    fallback: DEFAULTS.streamingBufferSize,
  },
  customEvents: {
    read: toggle,
    flag: 'aura-custom-events',
    env: ['AURA_CUSTOM_EVENTS'],
    takes: '[bool]',
    help: 'send aura.* events in chat streams',
    fallback: DEFAULTS.customEvents,
  },
  emitReasoning: {
    read: toggle,
    flag: 'aura-emit-reasoning',
    env: ['AURA_EMIT_REASONING'],
    takes: '[bool]',
    help: 'send reasoning too; needs custom events',
    fallback: DEFAULTS.emitReasoning,
  },
  debugProviderErrors: {
    read: toggle,
    flag: 'debug-provider-errors',
    env: ['AURA_DEBUG_PROVIDER_ERRORS'],
    takes: '[bool]',
    help: 'show clients the raw errors of model providers',
    fallback: DEFAULTS.debugProviderErrors,
  },
  shutdownTimeoutMs: auraSecs(
    'shutdown-timeout-secs',
    ZERO_SAYS.shutdownTimeoutMs,
    DEFAULTS.shutdownTimeoutSecs,
    'how long a shutdown lets requests finish; 0 is no grace',
  ),
  firstChunkMs: auraSecs(
    'first-chunk-timeout-secs',
    ZERO_SAYS.firstChunkMs,
    DEFAULTS.firstChunkSecs,
    'longest wait for the first chunk of a stream; 0 is off',
  ),
  inactivityMs: auraSecs(
    'stream-inactivity-timeout-secs',
    ZERO_SAYS.inactivityMs,
    DEFAULTS.inactivitySecs,
    'longest silence inside a stream; 0 is off',
  ),
  totalMs: secs(
    'total',
    ZERO_SAYS.totalMs,
    DEFAULTS.totalSecs,
    'longest time of a whole run; 0 is off',
    ['STREAMING_TIMEOUT_SECS'],
    'streaming-timeout-secs',
  ),
  setupMs: secs('setup', ZERO_SAYS.setupMs, DEFAULTS.setupSecs, 'longest time to set a run up'),
  mcpConnectMs: secs(
    'mcp_connect',
    ZERO_SAYS.mcpConnectMs,
    DEFAULTS.mcpConnectSecs,
    'longest time to connect one MCP server',
  ),
  stepMs: secs('step', ZERO_SAYS.stepMs, DEFAULTS.stepSecs, 'longest time of one step; 0 is off'),
  stepAllowanceMs: secs(
    'step_allowance',
    ZERO_SAYS.stepAllowanceMs,
    DEFAULTS.stepAllowanceSecs,
    'time that preparing a step may take on top of it',
  ),
  toolMs: secs(
    'tool',
    ZERO_SAYS.toolMs,
    DEFAULTS.toolSecs,
    'longest time of one tool call; 0 is off',
  ),
  toolStopGraceMs: secs(
    'tool_stop_grace',
    ZERO_SAYS.toolStopGraceMs,
    DEFAULTS.toolStopGraceSecs,
    'how long a stopped tool may take to end',
  ),
  parallelToolsMax: {
    read: integer(PARALLEL_TOOLS),
    env: ['RUNWARDEN_MAX_PARALLEL_TOOLS'],
    toml: ['max_parallel_tools'],
    help: 'tool calls of one turn that run at the same time',
    fallback: DEFAULTS.parallelToolsMax,
  },
  deciderHeader: {
    read: trustedHeader,
    env: ['RUNWARDEN_DECIDER_HEADER'],
    toml: ['decider_header'],
    help: 'request header in which a trusted proxy says who decides an approval',
    fallback: undefined,
  },
  ...RUN_SETTINGS,
};
