import type { ApprovalRoute, Decision } from '../machines/vocabulary.ts';
import type { ApprovalOriginFields } from './journal/events.ts';

export type ApprovalState =
  | 'pending'
  | 'approved'
  | 'denied'
  | 'timed_out'
  | 'cancelled'
  | 'errored';

/** One line of the approvals inbox. Unset keys are null. */
export interface ApprovalItem {
  readonly decision_id: string;
  readonly run_id: string;
  readonly session_id: string;
  readonly agent: string;
  readonly tool_name: string;
  readonly tool_call_id: string;
  readonly arguments: unknown;
  readonly arguments_digest: string;
  readonly origin: ApprovalOriginFields;
  readonly route: ApprovalRoute;
  readonly requested_at: number;
  readonly expires_at: number;
  readonly state: ApprovalState;
  readonly reason: string | null;
  /** Who decided, where that is known. */
  readonly decided_by: string | null;
  /** What the approver put in the place of the arguments. */
  readonly edited: { readonly arguments: unknown; readonly arguments_digest: string } | null;
  /** The like of it is approved for the rest of the session. */
  readonly grant: 'session' | null;
  /** The run waits parked, and goes on when its last approval is decided. */
  readonly parked: boolean;
  /**
   * What may be done with it from the inbox: decide it (what a webhook is asked, only with its signature),
   * and what the configuration lets an approver do beside approving and denying.
   */
  readonly may: {
    readonly decide: 'anyone' | 'signed';
    readonly edit: boolean;
    readonly grant: boolean;
  };
}

/** An approval must match every key that is given. */
export interface ApprovalFilter {
  readonly state?: ApprovalState;
  readonly agent?: string;
  readonly sessionId?: string;
  readonly runId?: string;
  readonly toolName?: string;
  readonly origin?: ApprovalOriginFields['kind'];
}

/** Hears of approvals. */
export interface ApprovalWatcher {
  /** An approval as it stands now: when the watch begins each that matches, then each that changes. */
  changed(item: ApprovalItem): void;
}

export type DecisionAnswer = 'recorded' | 'repeated' | 'unknown';

/** A decision as it reaches us. */
export interface DecisionCommand extends Decision {
  /**
   * It carries the signature that a webhook's decisions carry. An approval that a webhook is asked for
   * is decided by no other.
   */
  readonly signed?: boolean;
}
