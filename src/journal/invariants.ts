import type { Envelope } from './events.ts';
import { answersFit, elicitationsWithinCalls, refusalsTold } from './invariants-answers.ts';
import { approvalsAnswered, approvalsToldWhileOpen } from './invariants-approvals.ts';
import { claimsTellOneStory } from './invariants-claims.ts';
import {
  decidedInTime,
  forbiddenNeverStart,
  gatedToolsApproved,
  grantsCover,
} from './invariants-gates.ts';
import { continuedOnce, parkedAtRest, queuedFirst } from './invariants-parking.ts';
import { promptsWithdrawn } from './invariants-prompts.ts';
import {
  denseSeq,
  disconnectReadsInOrder,
  nothingAfterStopping,
  obligationsClosed,
  oneTerminal,
  startedFirst,
} from './invariants-runs.ts';
import { toolCallsClosed, toolCallsInOrder } from './invariants-tools.ts';
import { type Check, runsOf, type Violation } from './invariants-view.ts';

export {
  answersFit,
  approvalsAnswered,
  approvalsToldWhileOpen,
  claimsTellOneStory,
  continuedOnce,
  decidedInTime,
  denseSeq,
  disconnectReadsInOrder,
  elicitationsWithinCalls,
  forbiddenNeverStart,
  gatedToolsApproved,
  grantsCover,
  nothingAfterStopping,
  obligationsClosed,
  oneTerminal,
  parkedAtRest,
  promptsWithdrawn,
  queuedFirst,
  refusalsTold,
  startedFirst,
  toolCallsClosed,
  toolCallsInOrder,
};
export type { Check, Violation };

/** Every check that a journal must pass at any moment of its life. */
export const CHECKS: readonly Check[] = Object.freeze([
  denseSeq,
  oneTerminal,
  startedFirst,
  toolCallsClosed,
  toolCallsInOrder,
  gatedToolsApproved,
  decidedInTime,
  forbiddenNeverStart,
  grantsCover,
  approvalsAnswered,
  approvalsToldWhileOpen,
  promptsWithdrawn,
  answersFit,
  refusalsTold,
  elicitationsWithinCalls,
  nothingAfterStopping,
  obligationsClosed,
  disconnectReadsInOrder,
  claimsTellOneStory,
  queuedFirst,
  parkedAtRest,
  continuedOnce,
]);

export interface CheckOptions {
  /** Every run must have ended. */
  readonly ended?: true;
  /** The machine's clock was set while the journal was written, so times in it are not compared. */
  readonly clock?: 'set';
}

/**
 * Tells what a session's whole journal shows to be wrong. A run that has not ended may be in the
 * middle of anything; with `ended`, one that has not is wrong too.
 */
export function checkJournal(
  entries: readonly Envelope[],
  { ended, clock }: CheckOptions = {},
): Violation[] {
  const checks = clock === 'set' ? CHECKS.filter((check) => check !== decidedInTime) : CHECKS;
  const violations = checks.flatMap((check) => check(entries));
  return ended === undefined ? violations : [...violations, ...unended(entries)];
}

/**
 * The same of some runs of a session, which must be given whole: from the first entry of any of them on,
 * with all that others told between, whose own story is not looked at.
 */
export function checkRuns(
  entries: readonly Envelope[],
  runIds: ReadonlySet<string>,
): readonly Violation[] {
  const first = entries[0]?.seq;
  const holes = denseSeq(entries).filter(({ seq }) => seq !== first);
  const own = entries.filter(({ run_id: runId }) => runId !== undefined && runIds.has(runId));
  const checks = CHECKS.filter((check) => check !== denseSeq);
  return [...holes, ...checks.flatMap((check) => check(own))];
}

/** A run that never got its terminal entry, at the place of its last one. */
function unended(entries: readonly Envelope[]): Violation[] {
  return runsOf(entries)
    .filter((run) => run.terminal === undefined)
    .map((run) => run.violation('INV-35', run.events.at(-1)?.seq ?? 0, 'the run never ends'));
}
