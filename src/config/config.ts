import type { Liveness, RunLimits } from '../../machines/vocabulary.ts';
import type { AuthConfig } from '../auth.ts';
import type { BusyStrategy } from '../handle.ts';
import type { ApprovalRule as Rule } from '../hitl/rules.ts';
import type { LogLevel } from '../log.ts';
import type { McpServerConfig } from '../mcp/server-config.ts';

export type { AuthConfig, AuthScope, TenantLimitsConfig } from '../auth.ts';

/** As it was read: without conditions it has an empty list of them. */
export type ApprovalRule = Required<Rule>;

/**
 * Everything the server was told, resolved once before anything starts: flag, else environment,
 * else TOML, else default. Frozen to the last leaf. Printing it (JSON, `util.inspect`) shows
 * `[redacted]` where a secret stands; reading a field gives the real value.
 */
export interface Config {
  readonly server: ServerConfig;
  readonly timeouts: TimeoutConfig;
  /** Tool calls of one turn that run at the same time. */
  readonly parallelToolsMax: number;
  /** First matching glob wins. */
  readonly tools: readonly ToolLimitConfig[];
  readonly journal: JournalConfig;
  readonly liveness: PerSeam<Liveness>;
  readonly onBusy: PerSeam<BusyStrategy>;
  readonly crash: CrashConfig;
  readonly park: ParkConfig;
  /** Absent: the server is open. */
  readonly auth?: AuthConfig;
  /** Absent: nothing is signed, and no signature is asked for. */
  readonly webhookSigning?: WebhookSigning;
  /** At least one, ids unique, in load order. */
  readonly agents: readonly AgentConfig[];
}

/** One value for `/v1/chat/completions`, one for runs started without a reader. */
export interface PerSeam<T> {
  readonly chat: T;
  readonly headless: T;
}

/** How a server-run tool call shows in the chat stream. */
export type ToolResultMode = 'none' | 'open-web-ui' | 'aura' | 'hidden';

export interface ServerConfig {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Origins of browser pages that may call, beside the server's own. */
  readonly allowedOrigins: readonly string[];
  /** The address clients use, where it is not host and port. */
  readonly serverUrl?: string;
  readonly toolResultMode: ToolResultMode;
  /** In bytes; 0 is unlimited. */
  readonly toolResultMaxLength: number;
  /** In chunks. */
  readonly streamingBufferSize: number;
  readonly customEvents: boolean;
  readonly emitReasoning: boolean;
  readonly debugProviderErrors: boolean;
  /** The grace of a shutdown; 0 is none. */
  readonly shutdownTimeoutMs: number;
  /** The id of a configured agent. */
  readonly defaultAgent?: string;
  /** Lower-case name of the request header in which a trusted proxy says who decides an approval. */
  readonly deciderHeader?: string;
  /** Absolute. */
  readonly dataDir: string;
  readonly logLevel: LogLevel;
}

/** 0 means off for first chunk, inactivity, step, total and tool. */
export interface TimeoutConfig
  extends Pick<
    RunLimits,
    | 'setupMs'
    | 'firstChunkMs'
    | 'inactivityMs'
    | 'stepMs'
    | 'stepAllowanceMs'
    | 'totalMs'
    | 'toolStopGraceMs'
  > {
  readonly mcpConnectMs: number;
  readonly toolMs: number;
}

export interface ToolLimitConfig {
  readonly glob: string;
  /** 0 leaves the call to the step's deadline alone. Absent: `timeouts.toolMs`. */
  readonly timeoutMs?: number;
  /** After a crash a call that had started may be executed again. */
  readonly idempotent: boolean;
}

export interface CrashConfig {
  /** What becomes of a run that was at work when its process was lost, under continue or park. */
  readonly recover: 'fail' | 'resume';
}

export interface ParkConfig {
  /** Resume parked runs when the process starts, those that wait for a person excepted. */
  readonly resumeOnStart: boolean;
  readonly resumeConcurrency: number;
}

export interface JournalConfig {
  readonly store: 'sqlite' | 'memory';
  /** Whether what is stored is checked against the invariants while the server runs. */
  readonly checkInvariants: boolean;
  /** `process` survives a killed process, `power` a power cut too. */
  readonly durability: 'process' | 'power';
  /** Entries and records older than this go; 0 keeps them. */
  readonly retentionMs: number;
  /** Characters of JSON that one session, or all together, may hold; 0 is no limit. */
  readonly sessionBytesMax: number;
  readonly totalBytesMax: number;
}

export interface AgentConfig {
  /** The alias, else the name: what a client sends as `model`. */
  readonly id: string;
  readonly name: string;
  readonly alias?: string;
  readonly description?: string;
  /** The configured prompt with the context strings after it. */
  readonly systemPrompt: string;
  readonly turnDepth: number;
  readonly createdAtMs: number;
  readonly modelOwner?: string;
  /** Globs of `*` and `?`; absent: all tools, empty: none. */
  readonly mcpFilter?: readonly string[];
  readonly enableClientTools: boolean;
  readonly clientToolFilter?: readonly string[];
  /** Left out of listings only. */
  readonly hidden: boolean;
  readonly llm: LlmConfig;
  readonly mcp: McpConfig;
  readonly hitl?: HitlConfig;
}

export type LlmConfig = OpenAiConfig | ScriptedConfig;

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh';

export interface OpenAiConfig {
  readonly provider: 'openai';
  readonly apiKey: string;
  readonly model: string;
  readonly baseUrl?: string;
  readonly maxTokens?: number;
  readonly contextWindow?: number;
  readonly reasoningEffort?: ReasoningEffort;
  readonly temperature?: number;
  /** Merged into the request body. */
  readonly additionalParams?: Readonly<Record<string, unknown>>;
}

/** The built-in model of the demo: no network, no key. */
export interface ScriptedConfig {
  readonly provider: 'scripted';
  readonly model: string;
}

export interface McpConfig {
  readonly sanitizeSchemas: boolean;
  readonly servers: readonly McpServerConfig[];
}

/** That it is there switches approvals on, and gives the agent the tool `request_approval`. */
export interface HitlConfig {
  /** Before `requireApproval`; the first that matches wins. */
  readonly rules: readonly ApprovalRule[];
  /** Globset patterns over sanitised tool names. */
  readonly requireApproval: readonly string[];
  readonly allowSessionGrants: boolean;
  readonly allowArgumentEdits: boolean;
  /** 0: no reminders. */
  readonly reminderMs: number;
  /** The run's total stands still while a person is asked. */
  readonly pauseTotal: boolean;
  readonly route: ConversationalRoute | WebhookRoute;
}

export interface ConversationalRoute {
  readonly mode: 'conversational';
  readonly timeoutMs: number;
}

export interface WebhookRoute {
  readonly mode: 'webhook';
  readonly url: string;
  readonly timeoutMs: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Outgoing name to incoming name, lower case. */
  readonly headersFromRequest: Readonly<Record<string, string>>;
  /** Header of the approved MCP call to header of the webhook's answer, lower case. */
  readonly toolHeadersFromResponse: Readonly<Record<string, string>>;
}

/** Signs what goes to a webhook, and verifies what comes from one. */
export interface WebhookSigning {
  readonly secret: string;
  /** Accepted beside the first one, never signed with. */
  readonly secondary?: string;
  readonly toleranceMs: number;
}
