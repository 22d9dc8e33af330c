import type { ApprovalRoute } from '../../machines/vocabulary.ts';
import type { RunRecord } from '../handle.ts';
import type { JournalEvent } from '../journal/events.ts';
import type { TransitionHistory } from '../transitions/transition-log.ts';
import type { Question } from './asking.ts';

/** An entry of the session's journal, as an explanation reads it. */
export interface RunEntry {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly event: JournalEvent;
  /** Whose it is, where it is another run's: evidence of an end may be. */
  readonly runId?: string | undefined;
}

/** All that an explanation is made of; nothing else is read. */
export interface ExplainFacts {
  readonly record: RunRecord;
  /** In order; those that `readRun` gives are enough, and what is trimmed may be missing. */
  readonly entries: readonly RunEntry[];
  /** Undefined when there is no log, or none that can be read. */
  readonly transitions: TransitionHistory | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Only while the run lives in this process. */
  readonly live?: LiveRun | undefined;
  /** Only of a run that has no end and that this process does not have. */
  readonly away?: Away | undefined;
  /** Only of a parked run that no other goes on with. */
  readonly resumption?: Resumption | undefined;
  /** Only of a parked run: what was asked when it was parked, in that order. */
  readonly approvals?: readonly KeptApproval[] | undefined;
  /** Only of a run that failed with its process. */
  readonly recovery?: Recovery | undefined;
}

/** `unsettled`: it was here and is over, and the store has not taken its end yet. */
export type Away = 'elsewhere' | 'unsettled';

/** What brings a parked run back. */
export interface Resumption {
  /** It is resumed without being asked for: by a start, or by its last decision. */
  readonly automatic: boolean;
  /** The next start of the server brings it back. */
  readonly onStart: boolean;
  /** It has approvals, and each is decided. Those that expired undecided are not. */
  readonly decided: boolean;
  /** Decision ids of approvals that may still be decided. */
  readonly undecided: readonly string[];
  /** Why nothing brings it back, however it is asked for. */
  readonly obstacle: Obstacle | null;
}

export type Obstacle =
  | 'cancelled'
  | 'agent_not_served'
  | 'checkpoint_gone'
  | 'checkpoint_unreadable';

/** An approval that outlives its run. */
export interface KeptApproval {
  readonly decisionId: string;
  readonly toolName: string;
  /** Epoch milliseconds, both. */
  readonly requestedAt: number;
  readonly expiresAt: number;
  /** Null while nobody has decided, and for ever when nobody did in time. */
  readonly outcome: {
    readonly approved: boolean;
    readonly reason?: string | undefined;
    /** Who decided, where that is known. */
    readonly by?: string | undefined;
  } | null;
}

/** What decides whether a run that lost its process is brought back. */
export interface Recovery {
  readonly recover: 'fail' | 'resume';
  /** How often a run of its chain was brought back, as far as their records are kept. */
  readonly recoveries: number;
  readonly recoveriesMax: number;
}

/** What only the process knows that has the run. */
export interface LiveRun {
  readonly charts: readonly LiveChart[];
  /** Tool calls that have not ended, in the order they were asked for. */
  readonly calls: readonly LiveCall[];
  readonly approvals: readonly LiveApproval[];
  readonly obligations: readonly LiveObligation[];
  /** MCP servers that setup still waits for; empty when that is not known. */
  readonly connecting: readonly string[];
  /** The run of the same session that is at work while this one waits. */
  readonly ahead: { readonly runId: string; readonly state: string } | null;
  /** How long the run may take to its next checkpoint; null unless it is to park. */
  readonly parkBoundMs: number | null;
}

export interface LiveChart {
  readonly chart: string;
  /** `run`, or the path of the child below the run. */
  readonly actor: string;
  /** Active states as dotted paths. */
  readonly states: readonly string[];
  readonly tags: readonly string[];
  /** Guards that keep the chart where it is: asked now, they say no. */
  readonly refusing: readonly string[];
}

export interface LiveCall {
  readonly id: string;
  readonly name: string;
  readonly requestedAt: number;
  /**
   * `waiting` for a place, for a `person` who must approve it, `running`, `asking` a person while it
   * runs, `stopping`, or `closing`: over, but for the notice to a webhook that was asked.
   */
  readonly state: 'waiting' | 'person' | 'running' | 'asking' | 'stopping' | 'closing';
  /** When it came to that state. */
  readonly since: number;
  /** When its own deadline ends it while it is running; null where it has none. */
  readonly deadlineAt: number | null;
  /** It is stopping because its own deadline has passed. */
  readonly overdue: boolean;
}

export interface LiveApproval {
  readonly decisionId: string;
  readonly toolName: string;
  readonly route: ApprovalRoute;
  /** Null unless a server asks it while it executes a call. */
  readonly question: Question | null;
  readonly requestedAt: number;
  readonly expiresAt: number;
  /** Set while a webhook is to be asked again, because it could not be asked. */
  readonly retry: { readonly failures: number; readonly because: string } | null;
}

export interface LiveObligation {
  readonly what: string;
  readonly id: string;
  readonly askedAt: number;
}
