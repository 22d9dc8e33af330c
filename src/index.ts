/** The public surface of `runwarden`. Naming something here makes it public. */

export type {
  ApprovalOrigin,
  ApprovalRoute,
  Failure,
  Liveness,
  LivenessPolicy,
  RunLimits,
  Usage,
} from '../machines/vocabulary.ts';
export {
  type ChatMessage,
  type FinishReason,
  ModelError,
  type ModelProvider,
  type ModelRequest,
  type ModelSink,
  type ToolCall,
} from './model.ts';
export {
  type Elicitation,
  type ElicitationAnswer,
  type Tool,
  type ToolContext,
  type ToolProgress,
  type ToolResult,
  type ToolSpec,
} from './tool.ts';
export { type Clock, systemClock } from './clock.ts';
export type { Config } from './config/config.ts';
export { loadConfig } from './config/load.ts';
export { createSupervisor } from './create-supervisor.ts';
export {
  AgentNotFoundError,
  DecisionRefusedError,
  IdempotencyKeyReusedError,
  PolicyUnsupportedError,
  RunNotFoundError,
  RunStateError,
  SessionBusyError,
  ShuttingDownError,
  StoreUnavailableError,
  SupervisorError,
  TenantLimitError,
  TooManyRunsError,
} from './errors.ts';
export {
  type GeneratorModelOptions,
  type ModelEvent,
  modelFromGenerator,
  type TurnGenerator,
} from './providers/generator.ts';
export type {
  ApprovalFilter,
  ApprovalItem,
  ApprovalState,
  ApprovalWatcher,
  DecisionAnswer,
  DecisionCommand,
} from './approval-item.ts';
export type {
  ApprovalListQuery,
  BusyStrategy,
  Decision,
  Explanation,
  Page,
  PageQuery,
  ResumedRun,
  ResumeOptions,
  RunChart,
  RunListQuery,
  RunRecord,
  RunState,
  SessionRecord,
  ShutdownOutcome,
  StartedRun,
  StartRun,
  SupervisorHandle,
  TenantLimits,
} from './handle.ts';
export type {
  WebhookAnswer,
  WebhookChannel,
  WebhookContext,
  WebhookQuestion,
} from './hitl/channel.ts';
export type { ApprovalRule, JsonScalar, RuleCondition } from './hitl/rules.ts';
export { type Ids, randomIds } from './ids.ts';
export type {
  ApprovalOriginFields,
  Envelope,
  JournalEvent,
  TerminalEvent,
} from './journal/events.ts';
export { checkJournal, type Violation } from './journal/invariants.ts';
export type { Follower, JournalReader, JournalSink, StoredEntry } from './journal/reader.ts';
export { createOpenAiProvider, type OpenAiOptions } from './providers/openai.ts';
export { createScriptedProvider, type ScriptedOptions } from './providers/scripted.ts';
export { type RunningServer, type ServerDeps, startServer } from './server.ts';
export { createMemoryStore } from './stores/memory.ts';
export { openSqliteStore, type SqliteStoreOptions } from './stores/sqlite.ts';
export type { Store } from './stores/store.ts';
export type { RetentionLimits } from './retention.ts';
export type { AgentDefinition, SupervisorOptions } from './supervisor-options.ts';
