import type { Envelope } from './events.ts';
import { approvalsAnswered, gatedToolsApproved } from './invariants-approvals.ts';
import { claimsTellOneStory } from './invariants-claims.ts';
import { continuedOnce, parkedAtRest, queuedFirst } from './invariants-parking.ts';
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
  approvalsAnswered,
  claimsTellOneStory,
  continuedOnce,
  denseSeq,
  disconnectReadsInOrder,
  gatedToolsApproved,
  nothingAfterStopping,
  obligationsClosed,
  oneTerminal,
  parkedAtRest,
  queuedFirst,
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
  approvalsAnswered,
  nothingAfterStopping,
  obligationsClosed,
  disconnectReadsInOrder,
  claimsTellOneStory,
  queuedFirst,
  parkedAtRest,
  continuedOnce,
]);

/**
 * Tells what a session's whole journal shows to be wrong. A run that has not ended may be in the
 * middle of anything; with `ended`, one that has not is wrong too.
 */
export function checkJournal(
  entries: readonly Envelope[],
  options: { readonly ended?: true } = {},
): Violation[] {
  const violations = CHECKS.flatMap((check) => check(entries));
  return options.ended === undefined ? violations : [...violations, ...unended(entries)];
}

/** A run that never got its terminal entry, at the place of its last one. */
function unended(entries: readonly Envelope[]): Violation[] {
  return runsOf(entries)
    .filter((run) => run.terminal === undefined)
    .map((run) => run.violation('INV-35', run.events.at(-1)?.seq ?? 0, 'the run never ends'));
}
