import fc from 'fast-check';
import type { BusyStrategy, LivenessPolicy } from '../../../machines/vocabulary.ts';
import type { SimHistory, SimSettings, SimStep, StartStep } from '../simulation/steps.ts';
import { clientBehaviour, clockMove, fault, humanBehaviour } from './behaviours.ts';
import { modelScript } from './model-script.ts';

const policy = () => fc.constantFrom<LivenessPolicy>('cancel', 'continue', 'park', 'park');
const graceMs = () => fc.constantFrom(0, 0, 5_000);
const onBusy = () => fc.constantFrom<BusyStrategy>('reject', 'enqueue', 'interrupt', 'parallel');

/** A run that somebody starts, with what its model will do. */
export const startStep = (): fc.Arbitrary<StartStep> =>
  anyStart().map((step) => (step.via === 'whole' ? { ...step, agent: 'hooked' as const } : step));

/** Who asks people through the inbox answers in streams only. */
const anyStart = (): fc.Arbitrary<StartStep> =>
  fc.record(
    {
      do: fc.constant('start' as const),
      via: fc.constantFrom('runs' as const, 'stream' as const, 'stream' as const, 'whole' as const),
      agent: fc.constantFrom('desk' as const, 'desk' as const, 'hooked' as const),
      session: fc.constantFrom('one' as const, 'one' as const, 'two' as const),
      policy: policy(),
      graceMs: graceMs(),
      onBusy: onBusy(),
      timeoutMs: fc.constantFrom(3_000, 30_000),
      script: modelScript(),
      setupMs: fc.oneof(
        { weight: 12, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.constant(2_500) },
        { weight: 1, arbitrary: fc.constant(1_000_000_000) },
      ),
    },
    {
      requiredKeys: [
        'do',
        'via',
        'agent',
        'session',
        'policy',
        'graceMs',
        'onBusy',
        'script',
        'setupMs',
      ],
    },
  );

/** One thing that happens in a world; weighted so that histories come to parked runs, decisions and deaths. */
export const simStep = (): fc.Arbitrary<SimStep> =>
  fc.oneof(
    { weight: 5, arbitrary: startStep() },
    { weight: 7, arbitrary: clientBehaviour() },
    { weight: 6, arbitrary: humanBehaviour() },
    { weight: 8, arbitrary: clockMove() },
    { weight: 4, arbitrary: fault() },
  );

export const simSettings = (): fc.Arbitrary<SimSettings> =>
  fc.record({
    seed: fc.nat(),
    chat: fc.record({ policy: policy(), graceMs: graceMs() }),
    chatOnBusy: fc.constantFrom<BusyStrategy>(
      'parallel',
      'parallel',
      'enqueue',
      'interrupt',
      'reject',
    ),
  });

/**
 * A history of at most so many steps, 20 unless told, which begins with a start. It shrinks to fewer
 * steps, and each step to a plainer one.
 */
export function simHistory({
  stepsMax = 20,
}: {
  readonly stepsMax?: number;
} = {}): fc.Arbitrary<SimHistory> {
  const rest = fc.array(simStep(), { minLength: 0, maxLength: stepsMax - 1, size: 'max' });
  return fc.record({
    settings: simSettings(),
    steps: fc
      .tuple(startStep(), rest)
      .map(([first, others]): readonly SimStep[] => [first, ...others]),
  });
}
