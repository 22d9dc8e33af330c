import type { DoneActorEvent, ErrorActorEvent } from 'xstate';
import type { ClaimsEvent } from './claims.machine.ts';
import type { DeadlineReached } from './deadline.ts';
import type { ToolCallEmitted, ToolCallEvent } from './tool-call.contract.ts';
import type {
  Liveness,
  ObligationRef,
  Observer,
  RunLimits,
  RunOutcome,
  StopCause,
  StopKind,
  ToolCallRequest,
  Failure,
} from './vocabulary.ts';

export interface RunInput {
  readonly runId: string;
  readonly liveness: Liveness;
  readonly limits: RunLimits;
  readonly firstClaim: Observer | null;
  /** Where a parked run left off; absent: the run begins with its prompt. */
  readonly resume?: RunResume;
}

export interface RunResume {
  /** Model turns taken. */
  readonly turn: number;
  /** Calls of the last turn that have no result yet. */
  readonly calls: readonly ToolCallRequest[];
}

/** What reaches a run from outside, parsed and closed. */
export type RunEvent =
  | { type: 'run.begin' }
  /** The session is busy: the run waits for `run.begin`. */
  | { type: 'run.queue' }
  /**
   * End resumable at the next checkpoint. A run that reaches none within `boundMs`, or the run's own
   * bound, is cancelled with `cause`.
   */
  | { type: 'run.park'; cause: StopCause; boundMs?: number }
  /** `graceMs` shortens the patience with deaf tools; shutdown needs that. */
  | { type: 'run.stop'; cause: StopCause; graceMs?: number }
  | ClaimsEvent
  | (Extract<ToolCallEvent, { type: 'approval.decide' | 'toolCall.ask' | 'toolCall.retract' }> & {
      toolCallId: string;
    })
  | DeadlineReached;

export type RunEmitted =
  | { type: 'run.queued' }
  | { type: 'run.started' }
  | { type: 'run.parking'; cause: StopCause }
  | { type: 'run.stopping'; cause: StopCause; obligations: number }
  | { type: 'obligation.asked'; obligation: ObligationRef }
  | { type: 'obligation.confirmed'; obligation: ObligationRef }
  | { type: 'obligation.abandoned'; obligation: ObligationRef }
  /** A call that was never begun: its end must be told all the same (INV-37). */
  | Extract<ToolCallEmitted, { type: 'toolCall.ended' }>;

export interface RunOutput {
  readonly outcome: RunOutcome;
  /** False when the terminal entry could not be stored. */
  readonly settled: boolean;
}

export interface RunRef {
  readonly runId: string;
}

/** Work of the run itself that a stop finds under way. */
export type OwnWork = 'none' | 'setup' | 'model';

export interface CloseWorkInput extends RunRef {
  readonly work: OwnWork;
}

export interface SettleInput extends RunRef {
  readonly outcome: RunOutcome;
  /** Causes that came after the first one. */
  readonly notes: readonly StopKind[];
}

export interface ReleaseInput extends RunRef {
  /** Connections that may still carry a request are closed, so that nobody inherits them. */
  readonly evict: boolean;
}

/** The seed's name for a tool call's snapshot as its parent sees it. */
export interface ToolSnapshot {
  type: `xstate.snapshot.${string}`;
  snapshot: {
    hasTag(tag: 'input-required' | 'gated' | 'closing'): boolean;
    context: { call: ToolCallRequest };
  };
}

/**
 * How an open call stands: a person is asked whether it may run, or on its behalf while it runs, or its
 * tool is over and whom it asked is being told. One that is not known runs.
 */
export type CallStanding = 'gated' | 'asking' | 'closing';

export type RunSystemEvent = DoneActorEvent | ErrorActorEvent | ToolSnapshot;

export interface RunContext extends RunInput {
  readonly turn: number;
  /** Calls that wait for a place among the parallel ones. */
  readonly queued: readonly ToolCallRequest[];
  /** Calls that are children of this actor. */
  readonly open: readonly ToolCallRequest[];
  /** By the ids of open calls. */
  readonly standing: Readonly<Record<string, CallStanding>>;
  /** Whether the caller must answer calls of this turn itself. */
  readonly callerOwes: boolean;
  readonly work: OwnWork;
  readonly cause: StopCause | null;
  /** What its claims came to is decided for good; who comes or goes now changes nothing. */
  readonly claimsDecided: boolean;
  /** Why it is to park; null while nobody asked. */
  readonly parking: StopCause | null;
  readonly parkMs: number;
  /** It came to a checkpoint in time and ends there. */
  readonly parked: boolean;
  readonly notes: readonly StopKind[];
  readonly stopGraceMs: number;
  readonly failure: Failure | null;
  readonly settled: boolean;
}
