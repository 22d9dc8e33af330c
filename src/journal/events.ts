/**
 * What a journal holds. These shapes are stored and sent: a field may be added, none renamed or
 * given another meaning. Source: the runs contract; names are snake_case because they are the wire.
 */

/** One line of a session's stream, as stored and as sent. */
export interface Envelope {
  readonly session_id: string;
  /** UUID v7; absent when the entry belongs to no run. */
  readonly run_id?: string;
  /** Dense from 1 across all runs of the session; minted by the appender alone. */
  readonly seq: number;
  /** Epoch milliseconds, for display; the order is `seq`. */
  readonly at: number;
  readonly payload: Payload;
}

export type Payload =
  | { readonly kind: 'lifecycle'; readonly event: LifecycleEvent }
  | { readonly kind: 'agent'; readonly event: AgentEvent };

export interface UsageFields {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export interface LivenessFields {
  readonly policy: 'cancel' | 'continue' | 'park';
  readonly grace_ms: number;
}

export interface ObserverFields {
  readonly id: string;
  readonly kind: 'collecting' | 'claiming';
  readonly presence: boolean;
}

/** Who ended a run, and the entries that led to it. */
export interface EndFields {
  readonly by: string;
  readonly at: number;
  readonly after_ms: number;
  readonly evidence: readonly number[];
}

export interface ErrorFields {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  /** How long the upstream asked to be left alone, where it said so. */
  readonly retry_after_ms?: number;
}

export type CancelReason =
  | 'unclaimed'
  | 'external'
  | 'shutdown'
  | 'deadline'
  | 'client_tool'
  | 'superseded'
  | 'lease_lost';

export type DeadlineName = 'total' | 'setup' | 'first_chunk' | 'inactivity' | 'step';

/** Why the model stopped writing. After `length` and `content_filter` the answer is not whole. */
export type FinishReasonName = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export type TerminalEvent =
  | ({
      readonly type: 'finished';
      /** Of the last model turn; absent where the model did not say. */
      readonly finish_reason?: FinishReasonName;
      readonly end: EndFields;
    } & UsageFields)
  | ({
      readonly type: 'cancelled';
      readonly reason: CancelReason;
      readonly which?: DeadlineName;
      readonly after_ms?: number;
      readonly message?: string;
      readonly end: EndFields;
    } & UsageFields)
  | ({
      readonly type: 'failed';
      readonly error: ErrorFields;
      readonly end: EndFields;
    } & UsageFields)
  | ({
      readonly type: 'parked';
      /** Names what the run can be resumed from. */
      readonly checkpoint: string;
      readonly reason: ParkReason;
      readonly end: EndFields;
    } & UsageFields);

/**
 * Why a run was parked: its last claim went, somebody asked (only `/resume` brings that one back), the
 * process was shut down, or it was lost.
 */
export type ParkReason = 'unclaimed' | 'external' | 'shutdown' | 'owner_lost';

export type LifecycleEvent =
  | {
      /** The run waits for its session. */
      readonly type: 'queued';
      readonly agent: string;
      readonly liveness: LivenessFields;
      /** The parked run that it is to go on with. */
      readonly continues?: string;
    }
  | {
      readonly type: 'started';
      readonly agent: string;
      readonly prompt: string;
      readonly timeout_ms?: number;
      readonly liveness: LivenessFields;
      /** The parked run that it goes on with. */
      readonly continues?: string;
    }
  | {
      readonly type: 'observer_attached';
      readonly observer: ObserverFields;
      /** It came inside the grace window and ended it. */
      readonly within_grace?: true;
    }
  | {
      readonly type: 'observer_detached';
      readonly observer: ObserverFields;
      readonly because: 'released' | 'expired' | 'displaced';
    }
  | { readonly type: 'claims_exhausted'; readonly grace_ms: number }
  | { readonly type: 'liveness_decided'; readonly policy: 'cancel' | 'continue' | 'park' }
  | {
      readonly type: 'stopping';
      readonly cause: CancelReason | 'error';
      readonly which?: DeadlineName;
      readonly obligations: number;
    }
  | {
      readonly type: 'obligation';
      readonly what: 'model' | 'tool' | 'mcp' | 'approval' | 'run';
      readonly id: string;
      readonly state: 'asked' | 'confirmed' | 'abandoned';
      readonly waited_ms: number;
    }
  | TerminalEvent;

export type ApprovalOriginFields =
  | { readonly kind: 'config_gate'; readonly matched_pattern: string }
  | { readonly kind: 'agent_requested'; readonly reason: string; readonly agent_name: string }
  | {
      readonly kind: 'elicitation';
      readonly server: string;
      readonly message: string;
      readonly schema: Readonly<Record<string, unknown>>;
    };

export type ApprovalScopeFields = { readonly kind: 'single'; readonly session_id?: string };

export type ApprovalOutcomeFields =
  | { readonly kind: 'approved'; readonly reason?: string }
  | { readonly kind: 'denied'; readonly reason?: string }
  | { readonly kind: 'timed_out'; readonly waited_ms: number }
  | {
      readonly kind: 'cancelled';
      /** The true cause; the `aura.*` projection narrows it to its own set. */
      readonly reason: CancelReason | 'error' | 'owner_lost' | 'call_over';
      readonly which?: DeadlineName;
    }
  | { readonly kind: 'errored'; readonly message: string };

export interface ServerStatusFields {
  readonly server_name: string;
  readonly transport: 'stdio' | 'http_streamable' | 'sse';
  readonly status: 'connected' | 'failed' | 'not_attempted';
  readonly tools_count: number;
  readonly reason?: string;
}

/**
 * What the agent did. The fields are those of the `aura.*` events less their correlation blocks
 * (`agent_id`, `session_id`), so that the projection is a rename.
 */
export type AgentEvent =
  | { readonly type: 'session_info'; readonly model: string; readonly model_context_limit?: number }
  | { readonly type: 'mcp_status'; readonly servers: readonly ServerStatusFields[] }
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'reasoning'; readonly content: string }
  | {
      readonly type: 'tool_requested';
      readonly tool_id: string;
      readonly tool_name: string;
      /** `{}` when the model's text is not a JSON object; `arguments_text` always has it. */
      readonly arguments: Record<string, unknown>;
      readonly arguments_text: string;
      /** True for a call that the caller of the chat request executes. */
      readonly client?: boolean;
    }
  | {
      readonly type: 'tool_start';
      readonly tool_id: string;
      readonly tool_name: string;
      readonly progress_token?: number | string;
      /** Of a call that had to be approved: the arguments it is executed with. */
      readonly arguments_digest?: string;
    }
  | {
      readonly type: 'tool_progress';
      readonly tool_id: string;
      readonly message: string;
      readonly phase: 'mcp_progress';
      readonly percent?: number;
      readonly progress_token?: number | string;
    }
  | {
      readonly type: 'tool_complete';
      readonly tool_id: string;
      readonly tool_name: string;
      readonly duration_ms: number;
      readonly success: boolean;
      /** What the model was told, whole; the chat projection truncates. */
      readonly result?: string;
      readonly error?: string;
      readonly approval?: 'denied' | 'timed_out' | 'cancelled';
      /** The rule that forbids the call. */
      readonly forbidden_by?: string;
      /** `unknown` when the tool ignored its signal: the effect may have happened. */
      readonly effect?: 'unknown';
    }
  | ({ readonly type: 'tool_usage'; readonly tool_ids: readonly string[] } & UsageFields)
  | ({ readonly type: 'usage' } & UsageFields)
  | {
      readonly type: 'approval_requested';
      readonly decision_id: string;
      readonly tool_name: string;
      readonly origin: ApprovalOriginFields;
      readonly scope: ApprovalScopeFields;
      readonly tool_call_id: string;
      readonly arguments_digest: string;
      /** Absent in journals of older versions, which knew `conversational` alone. */
      readonly route?: 'conversational' | 'webhook';
      /** RFC 3339. Absent in journals of older versions. */
      readonly expires_at?: string;
    }
  | {
      readonly type: 'approval_pending';
      readonly decision_id: string;
      readonly tool_name: string;
      readonly arguments: unknown;
      readonly origin: ApprovalOriginFields;
      readonly scope: ApprovalScopeFields;
      /** RFC 3339. */
      readonly expires_at: string;
      readonly tool_call_id: string;
      readonly arguments_digest: string;
    }
  | {
      readonly type: 'approval_reminder';
      readonly decision_id: string;
      readonly tool_name: string;
      readonly waited_ms: number;
      /** RFC 3339. */
      readonly expires_at: string;
      readonly tool_call_id: string;
    }
  | {
      readonly type: 'approval_completed';
      readonly decision_id: string;
      readonly outcome: ApprovalOutcomeFields;
      readonly duration_ms: number;
      readonly scope: ApprovalScopeFields;
      readonly tool_call_id: string;
      /** Of the arguments that were shown to the approver. */
      readonly arguments_digest: string;
      /** Who decided, where that is known. */
      readonly decided_by?: string;
      /** It came with the signature of a webhook's decisions, and not as the answer of one. */
      readonly signed?: true;
      /** The decision whose approval for the session covers this call. */
      readonly granted_by?: string;
      /** The like of it is approved for the rest of the session. */
      readonly grant?: 'session';
      /** What the approver put in the place of the arguments; the call is executed with that. */
      readonly edited?: {
        readonly arguments: Readonly<Record<string, unknown>>;
        readonly arguments_digest: string;
      };
      /** The answer to an elicitation. */
      readonly content?: Readonly<Record<string, unknown>>;
    }
  | {
      /** Whoever was asked by a webhook is told, or cannot be told, that nobody waits any more. */
      readonly type: 'approval_withdrawn';
      readonly decision_id: string;
      readonly tool_call_id: string;
      readonly reason: string;
      /** Whether the webhook took the notice. */
      readonly notified: boolean;
    };

export type JournalEvent = LifecycleEvent | AgentEvent;

export const TERMINAL_TYPES: ReadonlySet<string> = new Set([
  'finished',
  'cancelled',
  'failed',
  'parked',
]);
