import fc from 'fast-check';
import { Expectation } from './approval-expectation.ts';
import type { Race } from './approval-race.ts';
import { expectationAfter, stimuliFor, takesTime } from './approval-sequences.ts';
import type { Setting, Stimulus } from './approval-stimuli.ts';

export const anySetting: fc.Arbitrary<Setting> = fc.record({
  route: fc.constantFrom('conversational' as const, 'webhook' as const),
  policy: fc.constantFrom('cancel' as const, 'continue' as const, 'park' as const),
  calls: fc.constantFrom(1 as const, 2 as const),
  notices: fc.constantFrom('taken' as const, 'refused' as const, 'breaks' as const),
});

/** Where in a world's list of what can act its next stimulus is. */
export const anyPicks = (most: number): fc.Arbitrary<readonly number[]> =>
  fc.array(fc.nat(1_000), { maxLength: most, size: 'max' });

/** What ends a run or loses it comes less often, so that long sequences meet what is open. */
const RARE: ReadonlySet<Stimulus['deed']> = new Set([
  ...(['cancel', 'SIGTERM', 'SIGTERM again', 'reboot', 'answer', 'leave', 'expire'] as const),
]);

/** The sequence that picks come to; it ends where nothing can act any more. */
export function sequenceBy(setting: Setting, picks: readonly number[]): readonly Stimulus[] {
  const world = new Expectation(setting);
  const sequence: Stimulus[] = [];
  for (const nth of picks) {
    const weighed = [...stimuliFor(world), ...lateDecisions(world)].flatMap((stimulus) =>
      RARE.has(stimulus.deed) ? [stimulus] : [stimulus, stimulus, stimulus],
    );
    const next = pick(weighed, nth);
    if (next === undefined) break;
    world.apply(next);
    sequence.push(next);
  }
  return sequence;
}

/** They act on nothing, whoever sends them. */
function lateDecisions(world: Expectation): readonly Stimulus[] {
  if (world.process === 'gone' || world.run === 'over') return [];
  return world.calls.flatMap((call, at): readonly Stimulus[] => {
    const older = { deed: 'signed yes', call: at, nth: 0 } as const;
    if (world.isOpen(call)) return call.approvals.length > 1 ? [older] : [];
    return [
      { deed: 'yes', call: at },
      { deed: 'signed no', call: at },
    ];
  });
}

interface RacePicks {
  readonly before: readonly number[];
  readonly pair: readonly [number, number];
  readonly gap: number;
}

/** Two things at once, after some that came one by one. Undefined where there are no two. */
export function raceBy(
  setting: Setting,
  { before: picks, pair, gap }: RacePicks,
): Race | undefined {
  const before = sequenceBy(setting, picks);
  const able = stimuliFor(expectationAfter(setting, before));
  const first = pick(
    able.filter((stimulus) => !takesTime(stimulus)),
    pair[0],
  );
  const second = pick(able, pair[1]);
  if (first === undefined || second === undefined) return undefined;
  // A second signal before the first one is heard of is told to abort, whatever could have parked.
  if (first.deed === 'SIGTERM' && second.deed === 'SIGTERM') return undefined;
  return { before, first, second, gap };
}

const pick = (among: readonly Stimulus[], nth: number): Stimulus | undefined =>
  among[nth % Math.max(1, among.length)];
