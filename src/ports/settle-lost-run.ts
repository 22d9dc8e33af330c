import type { Clock } from '../clock.ts';
import type { RunRecord } from '../handle.ts';
import type { ErrorFields, TerminalEvent } from '../journal/events.ts';
import type { Journal } from '../journal/journal.ts';
import type { RunJournal } from '../journal/run-journal.ts';
import { appendPayload, readStory, type RunStory } from '../journal/run-story.ts';

/** What a run lost: the process that had it, or the store at the moment of its end. */
export type LostBy = 'owner' | 'store';

/** A run as the index has it. */
export interface LostRun {
  readonly runId: string;
  readonly sessionId: string;
  /** JSON of a {@link RunRecord}. */
  readonly record: string;
}

export interface LostRunDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly lostBy: LostBy;
}

/**
 * Gives a run that nobody has any more what its entries lack, up to the terminal entry. Resolves to
 * false when it has one already. Rejects with `SessionHeldError` while another process may write
 * the session, and with what the store rejects with.
 */
export async function settleLostRun(run: LostRun, deps: LostRunDeps): Promise<boolean> {
  const journal = await deps.journal.openRun(run.sessionId, run.runId);
  try {
    if (journal.settled) return false;
    // What a journal holds of a record was put there by this product.
    const record = JSON.parse(run.record) as RunRecord;
    switch (fateOf(record)) {
      case 'settle':
        return await settle(record, journal, deps);
    }
  } finally {
    await journal.release();
  }
}

/** What becomes of a run whose owner is gone. That one goes on from a checkpoint is decided here. */
const fateOf = (_record: RunRecord): 'settle' => 'settle';

async function settle(
  record: RunRecord,
  run: RunJournal,
  { journal, clock, lostBy }: LostRunDeps,
): Promise<boolean> {
  const { sessionId, runId } = run;
  const from = Math.max(1, record.first_seq);
  const story = await readStory(journal, { sessionId, runId, from });
  const heardLast = story.lastSeq;
  closeEnds(story, run, lostBy);
  const event = terminalEvent(story, { now: clock.now(), heardLast, lostBy });
  const { won } = await run.settle(event, (seq) =>
    JSON.stringify(lastRecord(record, { story, event, seq })),
  );
  return won;
}

/** Durations count up to the last sign of life: what came after that is not known. */
function closeEnds(story: RunStory, run: RunJournal, lostBy: LostBy): void {
  const at = story.lastAt;
  for (const payload of story.ends.close({ text: ENDINGS[lostBy].call, at })) {
    const seq = appendPayload(run, payload);
    story.note({ seq, at, event: payload.event });
  }
}

function terminalEvent(
  story: RunStory,
  { now, heardLast, lostBy }: { now: number; heardLast: number; lostBy: LostBy },
): TerminalEvent & { type: 'failed' } {
  const evidence = new Set(story.evidence);
  if (heardLast > 0) evidence.add(heardLast);
  return {
    type: 'failed',
    error: ENDINGS[lostBy].error,
    ...story.usage,
    end: {
      by: 'supervisor',
      at: now,
      after_ms: Math.max(0, now - (story.startedAt ?? now)),
      evidence: [...evidence],
    },
  };
}

function lastRecord(
  record: RunRecord,
  last: { story: RunStory; event: TerminalEvent & { type: 'failed' }; seq: number },
): RunRecord {
  const { story, event, seq } = last;
  const { end, error, prompt_tokens, completion_tokens, total_tokens } = event;
  return {
    ...record,
    state: 'failed',
    started_at: story.startedAt,
    ended_at: end.at,
    claims: [],
    observers: 0,
    deadlines: [],
    obligations: [...story.obligations.values()],
    approvals: [],
    usage: { prompt_tokens, completion_tokens, total_tokens },
    first_seq: story.firstSeq || seq,
    last_seq: seq,
    end: { ...end, reason: null, which: null, error },
    verbs: ['attach'],
  };
}

const ENDINGS: Readonly<Record<LostBy, { readonly call: string; readonly error: ErrorFields }>> = {
  owner: {
    call: 'the process that made it was lost',
    error: {
      code: 'owner_lost',
      message: 'The process that had the run was lost before the run ended.',
      retryable: true,
    },
  },
  store: {
    call: 'the run could not keep its record',
    error: {
      code: 'store_unavailable',
      message: 'The run could not keep its record.',
      retryable: true,
    },
  },
};
