import type { Withdrawal } from '../hitl/withdrawals.ts';
import type { Clock } from '../clock.ts';
import type { RunRecord } from '../handle.ts';
import type { Journal } from '../journal/journal.ts';
import type { LastWords, RunJournal } from '../journal/run-journal.ts';
import { appendPayload, readStory, type RunStory } from '../journal/run-story.ts';
import { keepLostApproval, type LostAsker } from './keep-lost-approval.ts';
import { fateOf, type Fate } from './lost-run-fate.ts';
import { ENDINGS, lastRecord, lostTerminal, type LostBy } from './lost-run-end.ts';
import {
  checkpointBefore,
  checkpointOfLost,
  keptCalls,
  knownBefore,
  lostTranscript,
  standing,
} from './lost-run-standing.ts';
import { parkedAt } from './park-run.ts';

export type { Fate } from './lost-run-fate.ts';
export type { LostBy } from './lost-run-end.ts';

/** A run as the index has it. */
export interface LostRun {
  readonly runId: string;
  /** Where its session is stored. */
  readonly sessionId: string;
  /** JSON of a {@link RunRecord}. */
  readonly record: string;
}

export interface LostRunDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly lostBy: LostBy;
  /** Whether runs that were at work are brought back. */
  readonly recover: 'fail' | 'resume';
  /** Whether a call of the agent's tool that had started may be executed again. */
  readonly isIdempotent: (agent: string, toolName: string) => boolean;
  /** Tells a webhook that nobody waits; resolves to whether it took that. Never rejects. */
  readonly withdraw: (withdrawal: Withdrawal) => Promise<boolean>;
}

/**
 * Gives a run that nobody has any more what its entries lack, up to the terminal entry. Resolves to
 * what became of it: a run that is `resumed` is parked, and the caller is to resume it now. Undefined
 * when it has an end already. Rejects with `SessionHeldError` while another process may write the
 * session, and with what the store rejects with.
 */
export async function settleLostRun(run: LostRun, deps: LostRunDeps): Promise<Fate | undefined> {
  const journal = await deps.journal.openRun(run.sessionId, run.runId);
  try {
    if (journal.settled) return undefined;
    return await endLostRun(run, journal, deps);
  } finally {
    await journal.release();
  }
}

async function endLostRun(
  lost: LostRun,
  run: RunJournal,
  deps: LostRunDeps,
): Promise<Fate | undefined> {
  const { journal, clock, lostBy } = deps;
  const { sessionId, runId } = run;
  // What a journal holds of a record was put there by this product.
  const record = JSON.parse(lost.record) as RunRecord;
  const checkpoint = await checkpointOfLost(journal, runId);
  const from = Math.max(1, record.first_seq);
  // A run under cancel has no checkpoint of its own, but one that it goes on with may have.
  const before = checkpoint ?? (await checkpointBefore(journal, record));
  const known = { ...knownBefore(before), since: checkpoint?.seq ?? 0 };
  const story = await readStory(journal, { sessionId, runId, from }, known);
  story.noteRecorded(record.usage);
  const fate = fateOf({ record, checkpoint, story, deps });
  const heardLast = story.lastSeq;
  const goesOn = fate === 'parked' || fate === 'resumed';
  const kept = goesOn ? keptCalls(checkpoint, story, deps) : new Set<string>();
  closeEnds(run, { agent: record.agent, story, checkpoint: before }, { lostBy, kept });
  await withdrawOwed(story, run, { agent: record.agent, deps });
  const stands = goesOn ? checkpoint && standing(checkpoint, story, kept) : undefined;
  const event = lostTerminal(story, {
    now: clock.now(),
    createdAt: record.created_at,
    heardLast,
    lostBy,
    fate,
    checkpoint: stands,
  });
  const transcript = await lostTranscript(journal, { sessionId, runId, story, checkpoint, lostBy });
  const last: LastWords = {
    record: (seq) => JSON.stringify(lastRecord(record, { story, event, seq, checkpoint: stands })),
    ...(transcript && { transcript: JSON.stringify(transcript) }),
    ...(stands && { parked: parkedAt(stands, 'owner_lost') }),
  };
  const { won } = await run.settle(event, last);
  return won ? fate : undefined;
}

/** Whoever was asked by a webhook is told that nobody waits any more. */
async function withdrawOwed(
  story: RunStory,
  run: RunJournal,
  { agent, deps }: { readonly agent: string; readonly deps: LostRunDeps },
): Promise<void> {
  const at = story.lastAt;
  for (const { decisionId, toolCallId, outcome } of story.ends.owed) {
    const reason = outcome.kind === 'cancelled' ? outcome.reason : REASONS[outcome.kind];
    const notified = await deps.withdraw({ agent, decisionId, reason });
    const event = {
      type: 'approval_withdrawn',
      decision_id: decisionId,
      tool_call_id: toolCallId,
      reason,
      notified,
    } as const;
    story.note({ seq: run.append('agent', event), at, event });
  }
}

/** Why nobody waits any more, as a webhook is told. */
const REASONS = {
  approved: 'decided',
  denied: 'decided',
  timed_out: 'timed_out',
  errored: 'errored',
} as const;

/** Durations count up to the last sign of life: what came after that is not known. */
function closeEnds(
  run: RunJournal,
  asker: LostAsker,
  { lostBy, kept }: { readonly lostBy: LostBy; readonly kept: ReadonlySet<string> },
): void {
  const { story } = asker;
  if (story.startedAt === null) return; // It told of none that it would have gone on with.
  const at = story.lastAt;
  const { call: text, reason } = ENDINGS[lostBy];
  for (const payload of story.ends.close({ text, reason, at }, kept)) {
    const { event } = payload;
    const seq = appendPayload(run, payload);
    if (event.type === 'approval_completed') keepLostApproval(run, asker, event);
    story.note({ seq, at, event });
  }
}
