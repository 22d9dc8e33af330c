import { type Layer, LAYERS, type Outcome, type Suites } from './layers.ts';
import type { Mutant } from './mutant.ts';

/** What became of one mutant; layers that were not asked are absent. */
export interface Verdict {
  readonly mutant: Mutant;
  readonly outcomes: Readonly<Partial<Record<Layer, Outcome>>>;
  /** The layers that saw the bug. */
  readonly killedBy: readonly Layer[];
}

export type RunLayer = (layer: Layer, files: readonly string[]) => Promise<Outcome>;

export interface JudgeOptions {
  readonly suites: Suites;
  /** The layers, the cheapest one first. */
  readonly order: readonly Layer[];
  /** Stop at the first layer that kills. */
  readonly quick: boolean;
  readonly run: RunLayer;
}

/**
 * Asks one layer after the other whether it sees the planted bug. Integration takes real time, so it is
 * asked only about what everything else has let through.
 */
export async function judge(mutant: Mutant, options: JudgeOptions): Promise<Verdict> {
  const outcomes: Partial<Record<Layer, Outcome>> = {};
  let isKilled = false;
  for (const layer of options.order) {
    const files = options.suites[layer];
    if (files === undefined || (isKilled && (options.quick || layer === 'integration'))) continue;
    const outcome = await options.run(layer, files);
    outcomes[layer] = outcome;
    isKilled ||= isKill(outcome);
  }
  return { mutant, outcomes, killedBy: LAYERS.filter((layer) => isKill(outcomes[layer])) };
}

const isKill = (outcome: Outcome | undefined): boolean =>
  outcome?.kind === 'failed' || outcome?.kind === 'hung';

export const survivors = (verdicts: readonly Verdict[]): readonly Verdict[] =>
  verdicts.filter(({ killedBy }) => killedBy.length === 0);
