import { initialTransition } from 'xstate';
import { orphanMachine } from '../../machines/orphan.machine.ts';
import type { RunRecord } from '../handle.ts';
import type { Checkpoint } from '../journal/checkpoint.ts';
import type { RunStory } from '../journal/run-story.ts';
import type { LostBy } from './lost-run-end.ts';

/** What becomes of a run whose process is gone: the final states of its chart. */
export type Fate = 'cancelled' | 'settled' | 'parked' | 'resumed';

/** A run that takes its process with it each time is brought back so often and no more. */
export const RECOVERIES_MAX = 3;

export interface FateInput {
  readonly record: RunRecord;
  readonly checkpoint: Checkpoint | undefined;
  readonly story: RunStory;
  readonly deps: { readonly lostBy: LostBy; readonly recover: 'fail' | 'resume' };
}

/** Asks the chart. It decides at once, so nothing of it has to live. */
export function fateOf({ record, checkpoint, story, deps }: FateInput): Fate {
  const known = new Set(checkpoint?.calls.map(({ call }) => call.id));
  const [{ value }] = initialTransition(orphanMachine, {
    // Only a stop that was accepted is stored so.
    stopRequested: record.state === 'stopping' && deps.lostBy === 'owner',
    policy: record.liveness.policy,
    recover: deps.recover,
    wasStopping: story.stopping,
    // A run that the store failed had its end decided; only that was not stored.
    hasCheckpoint: checkpoint !== undefined && deps.lostBy === 'owner',
    waitsForPerson: [...story.ends.held].some((id) => known.has(id)),
    recoveries: checkpoint?.recoveries ?? 0,
    recoveriesMax: RECOVERIES_MAX,
  });
  // Its other state is left at once.
  return value as Fate;
}
