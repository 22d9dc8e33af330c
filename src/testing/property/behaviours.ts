import fc from 'fast-check';
import type { SimStep } from '../simulation/steps.ts';

const nth = (): fc.Arbitrary<number> => fc.nat(3);

const weighted = <T>(
  ...choices: readonly (readonly [number, fc.Arbitrary<T>])[]
): fc.Arbitrary<T> => fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const onOne = <
  Do extends
    | 'cancel'
    | 'park'
    | 'resume'
    | 'explain'
    | 'leave'
    | 'vanish'
    | 'stopReading'
    | 'readOn'
    | 'reconnect',
>(
  what: Do,
): fc.Arbitrary<SimStep> =>
  fc.record({ do: fc.constant(what), nth: nth() }) as fc.Arbitrary<SimStep>;

/** What clients do: read, with a claim or without; leave, die, take nothing, come back; stop a run. */
export const clientBehaviour = (): fc.Arbitrary<SimStep> =>
  weighted<SimStep>(
    [
      4,
      fc.record({
        do: fc.constant('attach' as const),
        nth: nth(),
        to: fc.constantFrom('run' as const, 'run' as const, 'session' as const),
        claim: fc.boolean(),
      }),
    ],
    [5, onOne('leave')],
    [1, onOne('vanish')],
    [2, onOne('stopReading')],
    [1, onOne('readOn')],
    [2, onOne('reconnect')],
    [1, onOne('cancel')],
    [3, onOne('park')],
    [3, onOne('resume')],
    [1, onOne('explain')],
  );

/** What people do with what they are asked: approve mostly, so that calls run. */
export const humanBehaviour = (): fc.Arbitrary<SimStep> =>
  fc.record({
    do: fc.constant('decide' as const),
    nth: nth(),
    how: weighted(
      [4, fc.constant('approve' as const)],
      [2, fc.constant('deny' as const)],
      [1, fc.constant('twice' as const)],
      [1, fc.constant('both' as const)],
      [1, fc.constant('late' as const)],
      [1, fc.constant('edit' as const)],
      [1, fc.constant('grant' as const)],
    ),
  });

/** Time that passes, mostly; sometimes the machine's clock is set. */
export const clockMove = (): fc.Arbitrary<SimStep> =>
  weighted<SimStep>(
    [
      20,
      fc.record({
        do: fc.constant('wait' as const),
        ms: fc.constantFrom(1, 300, 1_000, 4_000, 5_000, 12_000, 20_000, 41_000, 95_000),
      }),
    ],
    [
      1,
      fc.record({
        do: fc.constant('setClock' as const),
        byMs: fc.constantFrom(-60_000, 60_000, -3_600_000, 3_600_000),
      }),
    ],
  );

/** What fails: the disk, the process, the lease; and what an operator does to a process. */
export const fault = (): fc.Arbitrary<SimStep> =>
  weighted<SimStep>(
    [4, fc.constant<SimStep>({ do: 'disk', how: 'well' })],
    [1, fc.constant<SimStep>({ do: 'disk', how: 'refuses' })],
    [
      2,
      fc.record({
        do: fc.constant('disk' as const),
        how: fc.constant('slow' as const),
        ms: fc.constantFrom(5, 800, 6_000),
      }),
    ],
    [1, fc.constant<SimStep>({ do: 'usurp' })],
    [
      5,
      fc.record({
        do: fc.constant('crash' as const),
        keeps: fc.nat(3),
        downMs: fc.constantFrom(0, 1_000, 20_000, 20_000),
        recover: fc.constantFrom('fail' as const, 'resume' as const),
        resumeOnStart: fc.boolean(),
      }),
    ],
    [
      2,
      fc.record({
        do: fc.constant('shutdown' as const),
        signals: fc.constantFrom(1 as const, 1 as const, 2 as const),
        resumeOnStart: fc.boolean(),
      }),
    ],
  );
