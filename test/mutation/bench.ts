import { type Layer, type Outcome, witnessOf } from './layers.ts';
import { runSuites, runTypes, type SuiteRun } from './suite-run.ts';
import type { Workspace } from './workspace.ts';

/** A mutant may take so many times as long as the code that it spoils: then it hangs. */
const PATIENCE = 10;

/**
 * Runs layers on copies of the tree. Before a set of suites judges its first mutant it is run on the copy
 * that nothing is planted in: what fails there can tell nothing and is left out, and how long it takes is
 * the measure of what hangs.
 */
export class Bench {
  readonly #pristine: Workspace;
  readonly #known = new Map<string, Promise<SuiteRun>>();
  /** What fails without any mutant, by its layer. */
  readonly red = new Set<string>();

  constructor(pristine: Workspace) {
    this.#pristine = pristine;
  }

  async run(workspace: Workspace, layer: Layer, files: readonly string[]): Promise<Outcome> {
    const normal = await this.#normal(layer, files);
    const green = files.filter((file) => !normal.failed.includes(file));
    if (normal.outcome.kind !== 'passed') {
      this.red.add(`${layer}: ${witnessOf(normal.outcome)}`);
      if (green.length === 0) return { kind: 'red', by: witnessOf(normal.outcome) };
    }
    const boundMs = PATIENCE * normal.tookMs;
    return (await runLayer(workspace, { layer, files: green, boundMs, bail: true })).outcome;
  }

  #normal(layer: Layer, files: readonly string[]): Promise<SuiteRun> {
    const key = [layer, ...files].join(' ');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const boundMs = Number.POSITIVE_INFINITY;
    const measured = runLayer(this.#pristine, { layer, files, boundMs, bail: false });
    this.#known.set(key, measured);
    return measured;
  }
}

interface LayerRun {
  readonly layer: Layer;
  readonly files: readonly string[];
  readonly boundMs: number;
  readonly bail: boolean;
}

/** The title that `describeModel` gives the comparison with the committed table. */
const TABLE = 'matches the committed table of edges';

const runLayer = (workspace: Workspace, { layer, files, ...how }: LayerRun): Promise<SuiteRun> => {
  if (layer === 'types') return runTypes(workspace, how.boundMs);
  return runSuites(workspace, files, { ...how, only: layer === 'tables' ? TABLE : undefined });
};
