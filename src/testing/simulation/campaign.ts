import fc from 'fast-check';
import { simHistory } from '../property/history.ts';
import { Reach } from './reach.ts';
import { type Simulated, simulate } from './simulate.ts';
import type { SimHistory } from './steps.ts';

export interface CampaignOptions {
  /** Of the first run; each of the next has the next number. */
  readonly seed: number;
  readonly runs: number;
  /** The most steps of a history. */
  readonly stepsMax: number;
  /** Hears of each history that was played. */
  readonly onPlayed?: (seed: number, simulated: Simulated) => void;
}

/** A history that showed a fault, and the shortest like it that was found. */
export interface Failure {
  readonly seed: number;
  readonly faults: readonly string[];
  readonly shrunk: SimHistory;
}

export interface CampaignOutcome {
  readonly reach: Reach;
  /** The first one ends a campaign. */
  readonly failure: Failure | undefined;
}

/** Shrinking ends by then: what it has found is told. Real milliseconds. */
const SHRINK_MS = 60_000;

/** Plays one history for each seed, until one shows a fault. */
export async function campaign(options: CampaignOptions): Promise<CampaignOutcome> {
  const { seed, runs, stepsMax, onPlayed } = options;
  const reach = new Reach();
  for (let at = 0; at < runs; at += 1) {
    const played = await faultsOf(historyOf(seed + at, stepsMax));
    if (played.simulated !== undefined) {
      reach.add(played.simulated.reach);
      onPlayed?.(seed + at, played.simulated);
    }
    if (played.faults.length > 0) return { reach, failure: await shrink(seed + at, stepsMax) };
  }
  return { reach, failure: undefined };
}

/** The history of a seed: always the same for the same length. */
export function historyOf(seed: number, stepsMax: number): SimHistory {
  const [history] = fc.sample(arbitraryOf(stepsMax), { seed, numRuns: 1 });
  if (history === undefined) throw new Error('fast-check gave no history');
  return history;
}

/** What a bug throws counts as what it is. */
export async function faultsOf(
  history: SimHistory,
): Promise<{ readonly faults: readonly string[]; readonly simulated?: Simulated }> {
  try {
    const simulated = await simulate(history);
    return { faults: simulated.faults, simulated };
  } catch (error) {
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { faults: [`the simulation threw: ${words}`] };
  }
}

/** Early runs of a property are biased to small values; a history is to be any. */
const arbitraryOf = (stepsMax: number): fc.Arbitrary<SimHistory> =>
  fc.noBias(simHistory({ stepsMax }));

async function shrink(seed: number, stepsMax: number): Promise<Failure> {
  const property = fc.asyncProperty(arbitraryOf(stepsMax), async (history) => {
    const { faults } = await faultsOf(history);
    return faults.length === 0;
  });
  const details = await fc.check(property, {
    seed,
    numRuns: 1,
    interruptAfterTimeLimit: SHRINK_MS,
    markInterruptAsFailure: false,
  });
  const shrunk = details.counterexample?.[0] ?? historyOf(seed, stepsMax);
  const { faults } = await faultsOf(shrunk);
  return { seed, faults, shrunk };
}
