import { resolve } from 'node:path';
import type { AuthConfig } from '../auth.ts';
import type { LogLevel } from '../log.ts';
import type {
  AgentConfig,
  Config,
  JournalConfig,
  ServerConfig,
  TimeoutConfig,
  ToolLimitConfig,
  WebhookSigning,
} from './config.ts';
import { DEFAULTS } from './defaults.ts';
import type { ConfigDocument } from './document.ts';
import type { Flags } from './resolve.ts';
import { present } from './schema/fields.ts';
import { toServerConfig } from './schema/mcp.ts';
import type { RootToml } from './schema/root.ts';
import type { SettingValues } from './settings.ts';

export interface BuildInput {
  readonly values: SettingValues;
  readonly tools: readonly ToolLimitConfig[];
  readonly auth: AuthConfig | undefined;
  readonly signing: WebhookSigning | undefined;
  readonly agents: readonly AgentConfig[];
  readonly flags: Flags;
  readonly cwd: string;
}

/** Puts the pieces together. Called only when every one of them was read without an issue. */
export function buildConfig(input: BuildInput): Config {
  const { values, tools, auth, signing, agents, flags, cwd } = input;
  return {
    server: serverConfig(values, flags, cwd),
    timeouts: timeoutConfig(values),
    parallelToolsMax: values.parallelToolsMax,
    tools,
    journal: journalConfig(values),
    liveness: {
      chat: { policy: values.chatPolicy, graceMs: values.chatGraceMs },
      headless: { policy: values.headlessPolicy, graceMs: values.headlessGraceMs },
    },
    onBusy: { chat: values.chatOnBusy, headless: values.headlessOnBusy },
    crash: { recover: values.recover },
    park: {
      resumeOnStart: values.resumeOnStart,
      resumeConcurrency: values.resumeConcurrency,
    },
    ...present({ auth, webhookSigning: signing }),
    agents,
  };
}

function journalConfig(values: SettingValues): JournalConfig {
  return {
    store: values.store,
    durability: values.durability,
    checkInvariants: values.checkInvariants,
    retentionMs: values.retentionMs,
    sessionBytesMax: values.sessionBytesMax,
    totalBytesMax: values.totalBytesMax,
  };
}

function serverConfig(values: SettingValues, flags: Flags, cwd: string): ServerConfig {
  return {
    host: values.host,
    port: values.port,
    allowedOrigins: values.allowedOrigins,
    toolResultMode: values.toolResultMode,
    toolResultMaxLength: values.toolResultMaxLength,
    streamingBufferSize: values.streamingBufferSize,
    customEvents: values.customEvents,
    emitReasoning: values.emitReasoning,
    debugProviderErrors: values.debugProviderErrors,
    shutdownTimeoutMs: values.shutdownTimeoutMs,
    dataDir: resolve(cwd, values.dataDir),
    logLevel: logLevel(flags),
    ...present({
      serverUrl: values.serverUrl,
      defaultAgent: values.defaultAgent,
      deciderHeader: values.deciderHeader,
    }),
  };
}

function logLevel(flags: Flags): LogLevel {
  if (flags['debug'] === true) return 'trace';
  return flags['verbose'] === true ? 'debug' : DEFAULTS.logLevel;
}

function timeoutConfig(values: SettingValues): TimeoutConfig {
  return {
    setupMs: values.setupMs,
    mcpConnectMs: values.mcpConnectMs,
    firstChunkMs: values.firstChunkMs,
    inactivityMs: values.inactivityMs,
    stepMs: values.stepMs,
    stepAllowanceMs: values.stepAllowanceMs,
    totalMs: values.totalMs,
    toolMs: values.toolMs,
    toolStopGraceMs: values.toolStopGraceMs,
  };
}

/** An agent and the file it stands in. */
export interface PlacedAgent {
  readonly agent: AgentConfig;
  readonly document: ConfigDocument;
}

/** The agent of one file; undefined when it has none. */
export function toAgent(document: ConfigDocument, nowMs: number): PlacedAgent | undefined {
  const { toml } = document;
  return toml?.agent && { agent: agentConfig({ ...toml, agent: toml.agent }, nowMs), document };
}

type WithAgent = RootToml & { readonly agent: NonNullable<RootToml['agent']> };

function agentConfig({ agent, mcp, hitl }: WithAgent, nowMs: number): AgentConfig {
  return {
    id: agent.alias ?? agent.name,
    name: agent.name,
    systemPrompt: [agent.system_prompt, ...(agent.context ?? [])].join('\n\n'),
    turnDepth: agent.turn_depth ?? DEFAULTS.turnDepth,
    createdAtMs: agent.created_at ?? nowMs,
    enableClientTools: agent.enable_client_tools ?? false,
    hidden: agent.hidden ?? false,
    llm: agent.llm,
    mcp: {
      sanitizeSchemas: mcp?.sanitize_schemas ?? true,
      servers: Object.entries(mcp?.servers ?? {}).map(([name, toml]) => toServerConfig(name, toml)),
    },
    ...present({
      alias: agent.alias,
      description: agent.description,
      modelOwner: agent.model_owner,
      mcpFilter: agent.mcp_filter,
      clientToolFilter: agent.client_tool_filter,
      hitl,
    }),
  };
}
