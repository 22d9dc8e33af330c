import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { type Coverage, type CoverageRow, createCoverage } from '../../src/testing/coverage.ts';
import { driveEdge, type Steps, transitionTable } from '../../src/testing/edges.ts';
import { type DrivenEdge, drivePairs, possiblePairs } from '../../src/testing/pairs.ts';
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
  const stepsOf = new Map<Edge, Steps>();
  const drive = async (edge: Edge, options: PathOptions<Machine>): Promise<DrivenEdge> => {
    const steps = stepsOf.get(edge) ?? (await driveEdge(machine, edge, { ...options, coverage }));
    stepsOf.set(edge, steps);
    return { edge, steps };
  };
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
          await drive(edge, options);
        });
      }
    });
  }

  describe(`${name} chart as a whole`, () => {
    it('matches the committed table of edges', async () => {
      await expect(tableOf(walked)).toMatchFileSnapshot(`${DIAGRAMS}/${name}.edges.tsv`);
    });

    it('leaves no state, transition or guard untried', async () => {
      for (const { options, edges } of walked) {
        for (const edge of edges) await drive(edge, options);
      }
      expect(coverage.missing).toEqual(unreached);
    });

    it('takes each transition after each that may precede it', async () => {
      const possible = new Set<string>();
      for (const { options, edges } of walked) {
        const driven: DrivenEdge[] = [];
        for (const edge of edges) driven.push(await drive(edge, options));
        for (const pair of possiblePairs(driven)) possible.add(pair);
        await drivePairs(machine, driven, { ...options, coverage });
      }
      const summary = coverageSummary(coverage, possible);
      console.info(`${name}\n${summary.split('\n\n')[0]}`);
      expect([...possible].filter((pair) => !coverage.pairs.has(pair))).toEqual([]);
      await expect(summary).toMatchFileSnapshot(`${DIAGRAMS}/${name}.coverage.tsv`);
    }, 120_000);
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

/** What is covered in numbers, and then which transitions were taken directly after which. */
function coverageSummary({ rows, pairs }: Coverage, possible: ReadonlySet<string>): string {
  const numbers = (what: string, ...kinds: readonly CoverageRow['what'][]) => {
    const some = rows.filter((row) => kinds.includes(row.what));
    return `${what}\t${some.filter(({ count }) => count > 0).length}\t${some.length}`;
  };
  const split = [...pairs].sort().map((pair) => pair.split('\t') as [string, string]);
  const followers = Map.groupBy(split, ([first]) => first);
  return `${[
    'what\tdriven\tof',
    numbers('states', 'state'),
    numbers('transitions', 'transition'),
    numbers('guard outcomes', 'guard passes', 'guard refuses'),
    `transition pairs\t${pairs.size}\t${new Set([...possible, ...pairs]).size}`,
    '',
    'transition\tfollowed by',
    ...[...followers].map(([first, all]) => `${first}\t${all.map(([, next]) => next).join('; ')}`),
  ].join('\n')}\n`;
}
