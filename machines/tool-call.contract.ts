import type { DoneActorEvent, ErrorActorEvent } from 'xstate';
import type { ApprovalEmitted, ApprovalEvent } from './approval.machine.ts';
import type {
  ApprovalOutcome,
  ApprovalRequest,
  ObligationRef,
  StopCause,
  ToolCallRequest,
  ToolCallStatus,
} from './vocabulary.ts';

export interface ToolCallInput {
  readonly runId: string;
  readonly call: ToolCallRequest;
  /** How long a tool that was told to stop may take before it is abandoned. */
  readonly stopGraceMs: number;
}

export type ToolCallEvent =
  | { type: 'toolCall.begin' }
  | { type: 'toolCall.stop'; cause: StopCause; graceMs?: number }
  /** Whoever executes the call wants to ask a person. */
  | { type: 'toolCall.ask'; request: ApprovalRequest }
  /** It takes its question back. */
  | { type: 'toolCall.retract'; decisionId: string }
  | Extract<ApprovalEvent, { type: 'approval.decide' }>;

/** XState's own events; they arrive from children and are never accepted from outside. */
export type ChildEnded = DoneActorEvent | ErrorActorEvent;

/** How an execution came back: the text itself stays with the port. */
export interface ToolCallReturn {
  readonly isError: boolean;
}

export interface ToolCallOutput {
  readonly id: string;
  readonly status: ToolCallStatus;
}

export type ToolCallEmitted =
  | { type: 'obligation.asked'; obligation: ObligationRef }
  | { type: 'obligation.confirmed'; obligation: ObligationRef }
  | { type: 'obligation.abandoned'; obligation: ObligationRef }
  /** Whoever was asked by a webhook has been told, or could not be told, that it is moot. */
  | { type: 'approval.withdrawn'; withdrawal: Withdrawal; notified: boolean }
  /** For an approval whose own chart crashed and cannot say so. */
  | Extract<ApprovalEmitted, { type: 'approval.completed' }>
  | {
      type: 'toolCall.ended';
      id: string;
      name: string;
      status: ToolCallStatus;
      /** Present when a person, or the lack of one, kept the tool from running. */
      approval: ApprovalOutcome | null;
      cause: StopCause | null;
      /** The tool ignored its signal: what it did is not known. */
      abandoned: boolean;
      /** The rule that forbids the call. */
      forbiddenBy?: string;
    };

export interface ToolCallContext {
  readonly runId: string;
  readonly call: ToolCallRequest;
  readonly stopGraceMs: number;
  readonly status: ToolCallStatus;
  readonly approval: ApprovalOutcome | null;
  readonly cause: StopCause | null;
  readonly abandoned: boolean;
  /** Whether the executor could be told to stop; `asked` while the stop waits for an answer. */
  readonly notice: { readonly asked: boolean; readonly sent: boolean | null };
  /** Questions of the executor that a person has not answered. */
  readonly questions: readonly ApprovalRequest[];
  /** Notices to webhooks that are on their way. */
  readonly withdrawals: readonly Withdrawal[];
  /** A stop waits for this call, whose tool is over, to tell whom it asked. */
  readonly closingAsked: boolean;
}

/** What the tool ports are asked about. */
export interface ToolCallRef {
  readonly runId: string;
  readonly toolCallId: string;
}

/** An approval that a webhook was asked for and need not answer any more. */
export interface Withdrawal {
  readonly runId: string;
  readonly toolCallId: string;
  readonly decisionId: string;
  /** `timed_out`, `errored`, or the kind of the cause that cancelled it. */
  readonly reason: string;
}
