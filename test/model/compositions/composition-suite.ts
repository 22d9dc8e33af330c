import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import type {
  Composition,
  CompositionOptions,
  Coverages,
} from '../../../src/testing/composition/contract.ts';
import { exploreComposition } from '../../../src/testing/composition/explore.ts';
import { compositionTable } from '../../../src/testing/composition/table.ts';

const DIAGRAMS = resolve(import.meta.dirname, '../../../diagrams/compositions');

/** Several explorations of one composition by name. */
type Scenarios<Machine extends AnyStateMachine> = Readonly<
  Record<string, CompositionOptions<Machine>>
>;

/**
 * The model test of a composition: every scenario explored under its invariants, the committed table, and
 * nothing left out of the charts in `unreached` but what is listed there, by machine `id`, with the reason
 * beside it in the test.
 */
export function describeComposition<Machine extends AnyStateMachine>(
  name: string,
  machine: Machine,
  scenarios: Scenarios<Machine>,
  unreached: Readonly<Record<string, readonly string[]>>,
): void {
  const explored = new Map<string, Composition>();
  let coverages: Coverages = new Map();
  const explore = (scenario: string): Composition => {
    const options = scenarios[scenario] as CompositionOptions<Machine>;
    const known = explored.get(scenario) ?? exploreComposition(machine, { ...options, coverages });
    explored.set(scenario, known);
    coverages = known.coverages;
    return known;
  };
  const all = () =>
    Object.keys(scenarios).map((scenario) => [scenario, explore(scenario)] as const);

  describe(`${name}: every step in every state of the whole`, () => {
    it.each(Object.keys(scenarios))(
      'keeps its invariants and comes to rest: %s',
      (scenario) => {
        expect(explore(scenario).edges.length).toBeGreaterThan(10);
      },
      120_000,
    );

    it('matches the committed table', async () => {
      const parts = all().flatMap(([scenario, { edges }]) => [
        `# ${scenario}\n`,
        compositionTable({ edges }),
      ]);
      await expect(parts.join('')).toMatchFileSnapshot(`${DIAGRAMS}/${name}.edges.tsv`);
    }, 240_000);

    it('leaves no state or transition of its charts untried', async () => {
      const rows = all();
      const missing = Object.fromEntries(
        Object.keys(unreached).map((id) => [id, missingOf(coverages, id)]),
      );
      const summary = summaryOf(rows, coverages);
      console.info(`${name}\n${summary}`);
      await expect(summary).toMatchFileSnapshot(`${DIAGRAMS}/${name}.coverage.tsv`);
      expect(missing).toEqual(unreached);
    }, 240_000);
  });
}

const missingOf = (coverages: Coverages, id: string): readonly string[] =>
  (coverages.get(id)?.missing ?? [`no chart ${id}`]).filter((row) => !row.startsWith('guard'));

function summaryOf(
  explored: readonly (readonly [string, Composition])[],
  coverages: Coverages,
): string {
  const wholes = explored.map(([scenario, { states, steps, pairs, drives }]) =>
    [scenario, states, steps, pairs.length, drives].join('\t'),
  );
  const charts = [...coverages].map(([id, { rows }]) => {
    const of = (...kinds: readonly string[]) => {
      const some = rows.filter(({ what }) => kinds.includes(what));
      return `${some.filter(({ count }) => count > 0).length} of ${some.length}`;
    };
    return [id, of('state'), of('transition'), of('guard passes', 'guard refuses')].join('\t');
  });
  return `${['scenario\tstates\tedges\tedge pairs\tdrives', ...wholes, 'chart\tstates\ttransitions\tguard outcomes', ...charts].join('\n')}\n`;
}
