import { keepApproval } from '../facts/ended-approvals.ts';
import type { Journal } from '../journal/journal.ts';
import type { RunJournal, UnstoredEvent } from '../journal/run-journal.ts';
import { appendPayload, isEvidence, storedEntries } from '../journal/run-story.ts';
import type { RunScope } from './run-scope.ts';

/**
 * Opens the session anew after a failure, for a run that still has to store its end, and tells again
 * what the failure cost: with a `tool_complete` or an answered obligation lost, the end would leave
 * them open. Streamed text that was lost stays lost. Rejects when the session cannot be had.
 */
export async function reopenRun(scope: RunScope, journal: Journal): Promise<void> {
  const failed = scope.journal;
  await failed.release();
  const fresh = await journal.openRun(scope.sessionKey, scope.runId);
  try {
    const lost = await lostEvents(journal, failed);
    if (scope.released) throw new Error('The run was given up in the meantime.');
    if (neverBegan(scope, lost)) throw new Error('The run never began; the parked one stays.');
    scope.journal = fresh;
    tellAgain(scope, lost);
  } catch (error) {
    await fresh.release();
    throw error;
  }
}

/** A group whose answer was lost may have been stored all the same, so the store is asked. */
async function lostEvents(journal: Journal, failed: RunJournal): Promise<UnstoredEvent[]> {
  const { sessionId, runId, unstored } = failed;
  const from = unstored.find(({ seq }) => seq > 0)?.seq;
  if (from === undefined) return [...unstored];
  const stored = new Set<number>();
  for await (const { seq } of storedEntries(journal, { sessionId, runId, from })) stored.add(seq);
  return unstored.filter(({ seq }) => !stored.has(seq));
}

/** A resumed run of which nothing was stored has not taken the parked one: that may be resumed again. */
function neverBegan({ resumption, firstSeq }: RunScope, lost: readonly UnstoredEvent[]): boolean {
  return resumption !== undefined && lost.some(({ seq }) => seq === firstSeq);
}

/** Everything that names an entry by its `seq` names the new one. */
function tellAgain(scope: RunScope, lost: readonly UnstoredEvent[]): void {
  const gone = new Set(lost.map(({ seq }) => seq)).add(0);
  const kept = scope.evidence.filter((seq) => !gone.has(seq));
  const first = lost.find(({ seq }) => seq === scope.firstSeq);
  for (const told of lost) {
    const { event } = told.payload;
    const seq = appendPayload(scope.journal, told.payload);
    if (told === first) scope.firstSeq = seq;
    if (event.type === 'approval_completed') {
      // Whoever decided was told that it was not taken.
      keepApproval(scope, event.decision_id, event.outcome, { wasRefused: true });
    }
    if (isEvidence(event)) kept.push(seq);
  }
  scope.evidence = kept;
}
