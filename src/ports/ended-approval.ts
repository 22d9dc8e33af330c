import type { ApprovalOrigin, ApprovalOutcome, ApprovalRoute } from '../../machines/vocabulary.ts';
import type { ApprovalOutcomeFields } from '../journal/events.ts';
import type { RunJournal } from '../journal/run-journal.ts';
import type { ParkedApproval } from './park-run.ts';

/** What an approval that has ended is shown with; stored as JSON. */
export interface ShownApproval extends Omit<ParkedApproval, 'origin'> {
  readonly origin: ApprovalOrigin;
  /** Absent where it ended because its parked run was given up: then it was `conversational`. */
  readonly route?: ApprovalRoute;
  /** Whoever decided was told that it was not taken: the same decision is not known either. */
  readonly wasRefused?: boolean;
}

type Decided = Extract<ApprovalOutcome, { kind: 'approved' | 'denied' }>;

/**
 * How it ended; stored as JSON. What was decided is kept as the charts have it, and everything else as
 * its entry tells it. It holds no secret that the entry does not.
 */
export type EndedOutcome = Decided | Exclude<ApprovalOutcomeFields, { kind: Decided['kind'] }>;

export interface EndedApproval {
  readonly decisionId: string;
  readonly shown: ShownApproval;
  readonly outcome: EndedOutcome;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Goes with the entry that was just appended of its end: both are stored, or neither is. */
export function keepEnded(
  journal: RunJournal,
  { decisionId, shown, outcome, expiresAt }: EndedApproval,
): void {
  journal.endApproval({
    decisionId,
    record: JSON.stringify(shown),
    outcome: JSON.stringify(outcome),
    expiresAt,
  });
}

/** What {@link keepEnded} has kept. */
export const shownIn = ({ record }: { readonly record: string }): ShownApproval =>
  JSON.parse(record) as ShownApproval;

/** The decision that was taken of it; undefined where it ended without one. */
export function decidedIn(
  outcome: EndedOutcome | ApprovalOutcome | undefined,
): Decided | undefined {
  return outcome?.kind === 'approved' || outcome?.kind === 'denied' ? outcome : undefined;
}
