import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { type Coverage, createCoverage } from '../../src/testing/coverage.ts';
import { driveEdge, transitionTable } from '../../src/testing/edges.ts';
import { type Edge, edgesOf, type PathOptions } from '../../src/testing/paths.ts';

const DIAGRAMS = resolve(import.meta.dirname, '../../diagrams');

/** Several walks through one chart, each with its own input, by name. */
export type Scenarios<Machine extends AnyStateMachine> = Readonly<
  Record<string, PathOptions<Machine>>
>;

/**
 * The model test of one chart: each edge of each scenario driven on the running actor, the table
 * of all edges as committed, and nothing of the chart left out. `unreached` lists what no scenario
 * can reach, as the coverage says it, with the reason beside it in the test.
 */
export function describeModel<Machine extends AnyStateMachine>(
  name: string,
  machine: Machine,
  scenarios: Scenarios<Machine>,
  unreached: readonly string[] = [],
): void {
  const coverage = createCoverage(machine);
  const walked = Object.entries(scenarios).map(([scenario, options]) => ({
    scenario,
    options,
    edges: edgesOf(machine, options),
  }));

  for (const { scenario, options, edges } of walked) {
    describe(`${name} chart, ${scenario}: every event in every state`, () => {
      // Not by `it.each`, which cuts long names.
      for (const edge of edges) {
        it(`${edge.from} on ${edge.on} goes to ${edge.to}`, async () => {
          await driveEdge(machine, edge, { ...options, coverage });
        });
      }
    });
  }

  describe(`${name} chart as a whole`, () => {
    it('matches the committed table of edges', async () => {
      await expect(tableOf(walked)).toMatchFileSnapshot(`${DIAGRAMS}/${name}.edges.tsv`);
    });

    it('leaves no state, transition or guard untried', async () => {
      const missing = await coveredBy(machine, walked, coverage);
      expect(missing).toEqual(unreached);
    });
  });
}

/** A later scenario shows only the edges that no earlier one has. */
function tableOf(walked: readonly { scenario: string; edges: readonly Edge[] }[]): string {
  const known = new Set<string>();
  const parts = walked.flatMap(({ scenario, edges }) => {
    const rows = transitionTable(edges)
      .replace(/\n$/, '')
      .split('\n')
      .filter((row) => !known.has(row));
    for (const row of rows) known.add(row);
    return [`# ${scenario}`, ...rows];
  });
  return `${parts.join('\n')}\n`;
}

/** Drives what a filter of test names has left out, so that the question has one answer. */
async function coveredBy<Machine extends AnyStateMachine>(
  machine: Machine,
  walked: readonly { options: PathOptions<Machine>; edges: readonly Edge[] }[],
  coverage: Coverage,
): Promise<readonly string[]> {
  if (coverage.missing.length === 0) return [];
  for (const { options, edges } of walked) {
    for (const edge of edges) await driveEdge(machine, edge, { ...options, coverage });
  }
  return coverage.missing;
}
