/**
 * The words that several charts share. All shapes are JSON, all durations milliseconds.
 *
 * These are decisions' inputs and outcomes; what a client sees of them is in
 * `src/journal/events.ts`.
 */

/** Tokens as the provider billed them. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

/** The deadlines that end a run. A tool's deadline ends only that tool call. */
export type DeadlineWhich = 'total' | 'setup' | 'first_chunk' | 'inactivity' | 'step';

/** What went wrong, already mapped from the foreign error by the adapter that owns the SDK. */
export interface Failure {
  /** Stable, part of the wire: `provider_error`, `context_length_exceeded`, `turn_limit`, … */
  readonly code: string;
  /** A sentence for the reader, free of secrets. */
  readonly message: string;
  /** Whether the same request may succeed if it is sent again. */
  readonly retryable: boolean;
  /** The HTTP status of the upstream, where there was one. */
  readonly status?: number;
  /** How long the upstream asked to be left alone. */
  readonly retryAfterMs?: number;
}

/** Why a run stops before its work is done. The first one wins (INV-33). */
export type StopCause =
  | { readonly kind: 'unclaimed' }
  | { readonly kind: 'external'; readonly message?: string }
  | { readonly kind: 'shutdown' }
  | { readonly kind: 'deadline'; readonly which: DeadlineWhich; readonly afterMs: number }
  | { readonly kind: 'client_tool' }
  /** `by`: the newer run. */
  | { readonly kind: 'superseded'; readonly by?: string }
  | { readonly kind: 'lease_lost' }
  | { readonly kind: 'error'; readonly failure: Failure };

export type StopKind = StopCause['kind'];

/** What happens when the last claim of a live run detaches. */
export type LivenessPolicy = 'cancel' | 'continue' | 'park';

/**
 * What to do when the session already has a live run: refuse, wait for it, end it first, or live
 * beside it.
 */
export type BusyStrategy = 'reject' | 'enqueue' | 'interrupt' | 'parallel';

export interface Liveness {
  readonly policy: LivenessPolicy;
  readonly graceMs: number;
}

/** Somebody who reads a run's stream and holds its right to go on. */
export interface Observer {
  readonly id: string;
  readonly presence: boolean;
}

export type DetachBecause = 'released' | 'expired' | 'displaced';

/** Why a person is asked. */
export type ApprovalOrigin =
  | { readonly kind: 'config_gate'; readonly matchedPattern: string }
  | { readonly kind: 'agent_requested'; readonly reason: string; readonly agentName: string }
  /** An MCP server asks while it executes the call; `schema` is the JSON Schema of the answer. */
  | {
      readonly kind: 'elicitation';
      readonly server: string;
      readonly message: string;
      readonly schema: Readonly<Record<string, unknown>>;
    };

/**
 * The way an approval reaches a person: `conversational` waits for a decision from the inbox,
 * `webhook` asks an address, whose answer is the decision.
 */
export type ApprovalRoute = 'conversational' | 'webhook';

export interface ApprovalRequest {
  readonly decisionId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly origin: ApprovalOrigin;
  readonly route: ApprovalRoute;
  readonly timeoutMs: number;
  /** A reminder is told each time that so much of the wait has passed; 0: none. */
  readonly reminderMs: number;
  /** `sha256:HEX` of the canonical arguments: what was approved is these arguments and no others. */
  readonly argumentsDigest: string;
  /** It was asked for by a run that parked, and decided while nobody had the run in memory. */
  readonly decided?: ApprovalOutcome;
  /** The approver of that decision has approved the like of it for the whole session. */
  readonly grantedBy?: string;
}

/** What a person, or who answers for one, said. Everything in it is JSON. */
export interface Decision {
  readonly approved: boolean;
  readonly reason?: string;
  /** Who decided, as far as that is known: a name from a trusted header, of a key, or `webhook`. */
  readonly by?: string;
  /** Approves the like of it for the rest of the session. */
  readonly grant?: 'session';
  /** The arguments that the approver wants instead. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** The answer to an elicitation. */
  readonly content?: Readonly<Record<string, unknown>>;
}

interface Signed {
  /** It came with the signature of a webhook's decisions, and not as the answer of one. */
  readonly signed?: true;
}

/** Why an approval is moot: the run stops, or the call that asked is over or takes its question back. */
export type WithdrawCause = StopCause | { readonly kind: 'call_over' };

export type ApprovalOutcome =
  | ({ readonly kind: 'approved'; readonly grantedBy?: string } & Signed &
      Omit<Decision, 'approved'>)
  | ({ readonly kind: 'denied' } & Signed & Pick<Decision, 'reason' | 'by'>)
  | { readonly kind: 'timed_out'; readonly waitedMs: number }
  | { readonly kind: 'cancelled'; readonly cause: WithdrawCause }
  | { readonly kind: 'errored'; readonly message: string };

/** One use of a tool, as the model asked for it. The arguments stay outside the charts. */
export interface ToolCallRequest {
  /** As the provider gave it. */
  readonly id: string;
  readonly name: string;
  /** `client` calls are answered by the caller, `missing` ones name no tool of this run. */
  readonly kind: 'server' | 'client' | 'missing';
  /** An `mcp` executor must be told of a stop by `notifications/cancelled`. */
  readonly executor: 'mcp' | 'local';
  /** Bound of one execution; 0 leaves it to the step and total deadlines. */
  readonly timeoutMs: number;
  /** Present when a person must approve it first. */
  readonly approval?: ApprovalRequest;
  /** The rule that forbids it, whoever might approve; as it is in the configuration. */
  readonly forbiddenBy?: string;
}

/** How a tool call ended. `unknown` says the effect may or may not have happened. */
export type ToolCallStatus =
  | 'completed'
  | 'failed'
  | 'denied'
  | 'timed_out'
  | 'cancelled'
  | 'unknown';

/** How a run ended, in the words of the charts. */
export type RunOutcome =
  | { readonly kind: 'finished' }
  | { readonly kind: 'cancelled'; readonly cause: StopCause }
  /** Ended resumable, at a checkpoint; the cause is what it would have been cancelled with. */
  | { readonly kind: 'parked'; readonly cause: StopCause }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** Something a stop must reach; each is asked, then confirmed or abandoned within its bound. */
export interface ObligationRef {
  readonly what: 'model' | 'tool' | 'mcp' | 'approval' | 'run';
  readonly id: string;
}

/** Every limit a run lives under. 0 means off for first chunk, inactivity, step, tool and total. */
export interface RunLimits {
  readonly setupMs: number;
  readonly firstChunkMs: number;
  readonly inactivityMs: number;
  readonly stepMs: number;
  readonly stepAllowanceMs: number;
  readonly totalMs: number;
  readonly toolStopGraceMs: number;
  /** Whether the total's clock stands still, too, while a person is asked. */
  readonly totalPauses: boolean;
  readonly releaseMs: number;
  /** How long a run that is asked to park may take to its next checkpoint. */
  readonly parkMs: number;
  readonly turnsMax: number;
  readonly parallelToolsMax: number;
  readonly attemptsMax: number;
}
