/**
 * The supervisor as the outside knows it. HTTP, the console and the command line send commands
 * here and read the journal; they never see a chart.
 */

import type {
  ApprovalRoute,
  BusyStrategy,
  Decision,
  DetachBecause,
  Liveness,
  LivenessPolicy,
} from '../machines/vocabulary.ts';
import type {
  ApprovalFilter,
  ApprovalItem,
  ApprovalWatcher,
  DecisionAnswer,
  DecisionCommand,
} from './approval-item.ts';
import type { ChatMessage } from './model.ts';
import type { ServerStatus, ToolSpec } from './tool.ts';
import type {
  CancelReason,
  EndFields,
  LivenessFields,
  ParkReason,
  UsageFields,
} from './journal/events.ts';
import type { JournalReader } from './journal/reader.ts';

export interface StartRun {
  /** Id of a configured agent: its alias, else its name. */
  readonly agent: string;
  /** As the caller knows it; of another tenant the same id is another session. */
  readonly sessionId: string;
  /** Whose run it is; `''` where there are no tenants. A tenant's view of the handle sets it. */
  readonly tenant?: string;
  /** The conversation without the agent's own system prompt; the last user message is the prompt. */
  readonly messages: readonly ChatMessage[];
  /** `messages` go on with what the session's last run left. */
  readonly continuesSession?: boolean;
  /** A repeated start under the same key finds the run of the first one. */
  readonly idempotency?: { readonly key: string; readonly digest: string };
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
  readonly state: 'queued' | 'running';
  /** The start was asked for before under the same key, and nothing was started now. */
  readonly repeated?: boolean;
}

export interface ResumedRun extends StartedRun {
  /** The parked run that it goes on with. */
  readonly continues: string;
}

/** A page of a list, newest first. `next` is the cursor of the next page. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly next: string | null;
}

export interface PageQuery {
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

export interface RunListQuery extends PageQuery {
  readonly state?: RunState;
  readonly sessionId?: string;
  readonly agent?: string;
}

/** The record of a session, as `GET /v1/sessions/{id}` sends it. Unset keys are null. */
export interface SessionRecord {
  readonly session_id: string;
  readonly created_at: number;
  readonly runs: number;
  /** Ids of the runs that live in this process, queued ones included, oldest first. */
  readonly live: readonly string[];
  readonly last_run: string;
  readonly state: 'idle' | 'running' | 'parked';
  readonly last_seq: number;
}

export interface ApprovalListQuery extends PageQuery, ApprovalFilter {}

/** Why a run is in the state it is in. */
export interface Explanation {
  readonly run_id: string;
  readonly state: RunState;
  /** Sentences for a person, from the first cause to the present state. */
  readonly prose: readonly string[];
  readonly chain: readonly ExplainedStep[];
  /** Guards that say no now, or said no on the way; each with what it waits for. */
  readonly blocked_by: readonly {
    readonly chart: string;
    readonly guard: string;
    readonly event: string | null;
    readonly because: string;
  }[];
}

/** The statechart of a run, now or as it was at an entry. */
export interface RunChart {
  readonly run_id: string;
  /** The entry it was asked for; null is now. */
  readonly seq: number | null;
  /** Active states by the chart's name, as dotted paths. */
  readonly states: Readonly<Record<string, readonly string[]>>;
  /** The picture of the run's own chart with the active states marked. */
  readonly svg: string;
}

export interface ExplainedStep {
  readonly at: number;
  /** A journal entry, a transition of a chart, a deadline, or an obligation that is still open. */
  readonly kind: 'entry' | 'transition' | 'timer' | 'obligation';
  readonly seq: number | null;
  readonly text: string;
  readonly detail: Readonly<Record<string, unknown>>;
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
  readonly reason: CancelReason | ParkReason | null;
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

export interface ResumeOptions {
  /** Headers of the request, lower-case names: those of the first start are not kept. */
  readonly requestHeaders?: Readonly<Record<string, string>>;
}

/** Whose view it is, and what that tenant may use. 0 is no limit. */
export interface TenantLimits {
  readonly tenant: string;
  readonly liveRunsMax: number;
  readonly storedBytesMax: number;
}

export interface SupervisorHandle {
  readonly journal: JournalReader;
  /** False from the first shutdown signal on. */
  readonly accepting: boolean;
  readonly phase: ShutdownPhase;
  readonly agents: readonly AgentSummary[];
  readonly defaultAgent?: string;
  /**
   * Resolves when the first entry, `started` or `queued`, is durable. Rejects with
   * `ShuttingDownError`, `AgentNotFoundError`, `TooManyRunsError`, `PolicyUnsupportedError`,
   * `SessionBusyError`, `IdempotencyKeyReusedError`, `TenantLimitError` or `StoreUnavailableError`.
   */
  start(command: StartRun): Promise<StartedRun>;
  /**
   * Asks a live run to end resumable at its next checkpoint. Undefined for a run nobody knows; a run
   * that is parked already is returned unchanged. Rejects with `PolicyUnsupportedError`, or with
   * `RunStateError` `run_ended`.
   */
  park(runId: string): Promise<RunRecord | undefined>;
  /**
   * Starts a run that goes on with a parked one; of many that ask exactly one wins. Undefined for a
   * run nobody knows. Rejects with `RunStateError` (`not_parked`, `already_resumed`,
   * `approvals_undecided`), `SessionBusyError`, and as `start` does.
   */
  resume(runId: string, options: ResumeOptions): Promise<ResumedRun | undefined>;
  /**
   * Undefined for a run nobody knows. A run that has ended is returned unchanged, but for a parked one
   * that no other goes on with: it is given up, and nobody can approve or resume it any more.
   */
  cancel(runId: string, options: { readonly message?: string }): Promise<RunRecord | undefined>;
  /**
   * Resolves when the decision is durable, or says why there is none to take. Rejects with
   * `DecisionRefusedError` for what the approval does not allow (an edit, a grant, content that its
   * schema refuses), which changes nothing, and with `StoreUnavailableError`.
   */
  decide(decisionId: string, decision: DecisionCommand): Promise<DecisionAnswer>;
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
  listRuns(query: RunListQuery): Promise<Page<RunRecord>>;
  getSession(sessionId: string): Promise<SessionRecord | undefined>;
  listSessions(query: PageQuery): Promise<Page<SessionRecord>>;
  /** Approvals of live and of parked runs. */
  listApprovals(query: ApprovalListQuery): Promise<Page<ApprovalItem>>;
  /**
   * Tells of approvals until the answer is called. Resolves when the watcher has been told of each that
   * matches now. Changes of an approval come in order. Whoever watches those that are pending hears, too,
   * when one is not any more.
   */
  watchApprovals(filter: ApprovalFilter, watcher: ApprovalWatcher): Promise<() => void>;
  /** Undefined for a run nobody knows. */
  explain(runId: string): Promise<Explanation | undefined>;
  /** The run's charts with what is, or at an entry was, active. Undefined for a run nobody knows. */
  chart(runId: string, atSeq?: number): Promise<RunChart | undefined>;
  /** The same supervisor as one tenant may see it: what is another's is not known. */
  forTenant(tenant: TenantLimits): SupervisorHandle;
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

export type {
  ApprovalRoute,
  BusyStrategy,
  Decision,
  DetachBecause,
  Liveness,
  LivenessPolicy,
  ServerStatus,
};
