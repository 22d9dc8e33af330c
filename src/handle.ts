/**
 * The supervisor as the outside knows it. HTTP, the console and the command line send commands
 * here and read the journal; they never see a chart.
 */

import type { DetachBecause, Liveness, LivenessPolicy } from '../machines/vocabulary.ts';
import type { ChatMessage } from './model.ts';
import type { ServerStatus, ToolSpec } from './tool.ts';
import type { CancelReason, EndFields, LivenessFields, UsageFields } from './journal/events.ts';
import type { JournalReader } from './journal/reader.ts';

/** What to do when the session already has a live run. Only `parallel` is built. */
export type BusyStrategy = 'reject' | 'enqueue' | 'interrupt' | 'parallel';

export interface StartRun {
  /** Id of a configured agent: its alias, else its name. */
  readonly agent: string;
  readonly sessionId: string;
  /** The conversation without the agent's own system prompt; the last user message is the prompt. */
  readonly messages: readonly ChatMessage[];
  /** The prompt as text, for the `started` entry. */
  readonly prompt: string;
  /** First-chunk and inactivity windows apply to a streaming caller alone. */
  readonly streaming: boolean;
  readonly liveness: Liveness;
  readonly onBusy: BusyStrategy;
  /** Tools that the caller executes; honoured when the agent allows client tools. */
  readonly clientTools?: readonly ToolSpec[];
  /** Headers of the request, lower-case names. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** A claim that is there from the first moment, so that leaving during setup is noticed. */
  readonly claim?: { readonly observerId: string };
}

export interface StartedRun {
  readonly runId: string;
  readonly sessionId: string;
  /** Sequence number of the `started` entry, which is durable. */
  readonly seq: number;
  readonly liveness: Liveness;
}

export type DecisionAnswer = 'recorded' | 'repeated' | 'unknown';

export interface Decision {
  readonly approved: boolean;
  readonly reason?: string;
}

export interface AgentSummary {
  readonly id: string;
  readonly provider: string;
  readonly model: string;
  readonly description?: string;
  readonly createdAtMs: number;
  readonly modelOwner?: string;
  readonly hidden: boolean;
  readonly contextWindow?: number;
  readonly allowsClientTools: boolean;
  /** Whether a conversational approval may be raised, which needs a streaming caller. */
  readonly asksPeople: boolean;
  readonly mcpServers: readonly McpServerSummary[];
}

/** Free of credentials: an origin or a basename, never a path, a header or an argument. */
export type McpServerSummary =
  | {
      readonly name: string;
      readonly transport: 'stdio';
      readonly command: string;
      readonly description?: string;
    }
  | {
      readonly name: string;
      readonly transport: 'http_streamable' | 'sse';
      readonly url: string;
      readonly description?: string;
    };

/** Tools of one agent's servers, for `/aura/info?detail=…`; a server that failed is absent. */
export type AgentTools = Readonly<Record<string, readonly ToolSpec[]>>;

export type RunState =
  | 'queued'
  | 'preparing'
  | 'running'
  | 'waiting'
  | 'stopping'
  | 'finished'
  | 'cancelled'
  | 'failed'
  | 'parked';

/** The record of a run, as `GET /v1/runs/{id}` sends it. Unset keys are null. */
export interface RunRecord {
  readonly run_id: string;
  readonly session_id: string;
  readonly agent: string;
  readonly state: RunState;
  readonly liveness: LivenessFields;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly claims: readonly { readonly id: string; readonly presence: boolean }[];
  readonly observers: number;
  readonly deadlines: readonly {
    readonly which: string;
    readonly at: number | null;
    readonly remaining_ms: number;
    readonly suspended: boolean;
  }[];
  readonly obligations: readonly {
    readonly what: string;
    readonly id: string;
    readonly state: string;
  }[];
  readonly approvals: readonly string[];
  readonly usage: UsageFields;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly continues: string | null;
  readonly continued_by: string | null;
  readonly end: RunEnd | null;
  readonly verbs: readonly ('cancel' | 'attach' | 'park' | 'resume')[];
}

export interface RunEnd extends EndFields {
  readonly reason: CancelReason | null;
  readonly which: string | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
  } | null;
}

export type ShutdownPhase = 'serving' | 'gated' | 'draining' | 'aborting' | 'flushing' | 'stopped';

export interface ShutdownOutcome {
  readonly cleanShutdown: boolean;
  readonly unabortedTasks: boolean;
  /** 0 clean, 1 stragglers aborted, 130 or 143 after a second signal. */
  readonly exitCode: number;
}

export interface Health {
  readonly status: 'healthy' | 'degraded';
  readonly store: {
    readonly backend: string;
    readonly ping:
      | { readonly ok: true; readonly latency_ms: number }
      | { readonly ok: false; readonly error: string };
  };
}

export interface SupervisorHandle {
  readonly journal: JournalReader;
  /** False from the first shutdown signal on. */
  readonly accepting: boolean;
  readonly phase: ShutdownPhase;
  readonly agents: readonly AgentSummary[];
  readonly defaultAgent?: string;
  /**
   * Resolves when the `started` entry is durable. Rejects with `ShuttingDownError`,
   * `AgentNotFoundError`, `TooManyRunsError`, `PolicyUnsupportedError` or `StoreUnavailableError`.
   */
  start(command: StartRun): Promise<StartedRun>;
  /** Undefined for a run nobody knows. A run that has ended is returned unchanged. */
  cancel(runId: string, options: { readonly message?: string }): Promise<RunRecord | undefined>;
  /** Resolves when the decision is durable, or says why there is none to take. */
  decide(decisionId: string, decision: Decision): Promise<DecisionAnswer>;
  /** Adds a claim to a live run; false when the run has ended or is not known. */
  claim(runId: string, observerId: string): boolean;
  /**
   * A claim is gone: `released` by its holder, which is the default, or `expired` when we had to
   * cut the holder off. Unknown ids and ended runs are passed over.
   */
  release(runId: string, observerId: string, because?: DetachBecause): void;
  /**
   * Calls `fn` once when the run lets go of everything and the store has not taken its end, so that
   * no terminal entry may be waited for. Gives how to stop listening. Never called for a run that
   * does not live in this process.
   */
  onLost(runId: string, fn: () => void): () => void;
  /** A reader without a claim comes or goes; it only changes the count in the record. */
  observe(runId: string, change: 1 | -1): void;
  record(runId: string): Promise<RunRecord | undefined>;
  tools(
    agent: string,
    requestHeaders: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AgentTools>;
  health(): Promise<Health>;
  /** A request that is not a run is under way; shutdown waits for it. Call the answer once at its end. */
  trackRequest(): () => void;
  /** First call: gate, grace, drain. A second one jumps to aborting. */
  shutdown(signal: 'SIGINT' | 'SIGTERM'): void;
  readonly stopped: Promise<ShutdownOutcome>;
}

export type { DetachBecause, Liveness, LivenessPolicy, ServerStatus };
