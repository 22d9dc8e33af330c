import type { RunRecord } from '../handle.ts';
import { type Checkpoint, checkpointName } from '../journal/checkpoint.ts';
import type { ErrorFields, TerminalEvent } from '../journal/events.ts';
import type { RunStory } from '../journal/run-story.ts';
import type { Ending } from '../journal/open-ends.ts';
import type { Fate } from './lost-run-fate.ts';

/** What a run lost: the process that had it, or the store at the moment of its end. */
export type LostBy = 'owner' | 'store';

type LostEnd = TerminalEvent & { readonly type: 'cancelled' | 'failed' | 'parked' };

interface EndOptions {
  readonly now: number;
  readonly createdAt: number;
  readonly heardLast: number;
  readonly lostBy: LostBy;
  readonly fate: Fate;
  /** Where it can go on; undefined ends it for good. */
  readonly checkpoint: Checkpoint | undefined;
}

/** How the run ends whose owner cannot say. */
export function lostTerminal(story: RunStory, options: EndOptions): LostEnd {
  const { now, createdAt, heardLast, lostBy, fate, checkpoint } = options;
  const evidence = new Set(story.evidence);
  // A stop explains itself; what else ended a run is not known beyond its last sign of life.
  const isExplained = fate === 'cancelled' && evidence.size > 0;
  if (heardLast > 0 && !isExplained) evidence.add(heardLast);
  const end = {
    by: fate === 'cancelled' ? 'operator' : 'supervisor',
    at: now,
    after_ms: Math.max(0, now - (story.startedAt ?? createdAt)),
    evidence: [...evidence],
  };
  if (fate === 'cancelled') {
    return { type: 'cancelled', reason: 'external', ...story.usage, end };
  }
  if (checkpoint === undefined) {
    return { type: 'failed', error: ENDINGS[lostBy].error, ...story.usage, end };
  }
  const name = checkpointName(checkpoint);
  return { type: 'parked', checkpoint: name, reason: 'owner_lost', ...story.usage, end };
}

interface Last {
  readonly story: RunStory;
  readonly event: LostEnd;
  readonly seq: number;
  readonly checkpoint: Checkpoint | undefined;
}

export function lastRecord(record: RunRecord, { story, event, seq, checkpoint }: Last): RunRecord {
  const { end, prompt_tokens, completion_tokens, total_tokens } = event;
  return {
    ...record,
    state: event.type,
    started_at: story.startedAt,
    ended_at: end.at,
    claims: [],
    observers: 0,
    deadlines: [],
    obligations: [...story.obligations.values()],
    approvals: approvalsOf(checkpoint),
    usage: { prompt_tokens, completion_tokens, total_tokens },
    first_seq: story.firstSeq || seq,
    last_seq: seq,
    end: {
      ...end,
      reason: event.type === 'failed' ? null : event.reason,
      which: null,
      error: event.type === 'failed' ? event.error : null,
    },
    verbs: ['attach'],
  };
}

const approvalsOf = (checkpoint: Checkpoint | undefined): readonly string[] =>
  (checkpoint?.calls ?? []).flatMap(({ approval }) => approval?.decisionId ?? []);

export const ENDINGS: Readonly<
  Record<LostBy, Pick<Ending, 'reason'> & { readonly call: string; readonly error: ErrorFields }>
> = {
  owner: {
    call: 'the process that made it was lost',
    reason: 'owner_lost',
    error: {
      code: 'owner_lost',
      message: 'The process that had the run was lost before the run ended.',
      retryable: true,
    },
  },
  store: {
    call: 'the run could not keep its record',
    reason: 'error',
    error: {
      code: 'store_unavailable',
      message: 'The run could not keep its record.',
      retryable: true,
    },
  },
};
