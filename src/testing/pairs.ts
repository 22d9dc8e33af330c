import type { AnyStateMachine } from 'xstate';
import { type Coverage, createCoverage, pairOf } from './coverage.ts';
import { driveEdge, type Steps } from './edges.ts';
import { type Edge, edgeAfter, edgesOf, type PathOptions } from './paths.ts';

/** An edge that was driven, and the transitions that its steps took. */
export interface DrivenEdge {
  readonly edge: Edge;
  readonly steps: Steps;
}

/**
 * Drives every edge of a chart and every transition directly after each that may precede it, and gives what
 * that covers: {@link Coverage.pairs} too. Rejects as `driveEdge` does.
 */
export async function driveEdgePairs<Machine extends AnyStateMachine>(
  machine: Machine,
  options: PathOptions<Machine>,
): Promise<Coverage> {
  const watched = { ...options, coverage: createCoverage(machine) };
  const driven: DrivenEdge[] = [];
  for (const edge of edgesOf(machine, options)) {
    driven.push({ edge, steps: await driveEdge(machine, edge, watched) });
  }
  await drivePairs(machine, driven, watched);
  return watched.coverage;
}

/**
 * Every transition directly followed by every other one that is possible after it, as `pairOf` gives them:
 * those on an edge, and the last one on an edge with the first one on each edge out of the state it leads to.
 */
export function possiblePairs(driven: readonly DrivenEdge[]): Set<string> {
  return new Set([...driven.flatMap(({ steps }) => pairsOn(steps)), ...successions(driven).keys()]);
}

/**
 * Drives each possible pair that no drive of `coverage` has taken yet, compared with the walk as `driveEdge`
 * does. Afterwards `coverage.pairs` has all that `possiblePairs` gives.
 */
export async function drivePairs<Machine extends AnyStateMachine>(
  machine: Machine,
  driven: readonly DrivenEdge[],
  options: PathOptions<Machine> & { readonly coverage: Coverage },
): Promise<void> {
  for (const [pair, edges] of successions(driven)) {
    if (options.coverage.pairs.has(pair)) continue;
    await driveEdge(machine, edgeAfter(machine, options, edges), options);
  }
}

/** Pairs over two edges, each with the first two edges that show it. */
function successions(driven: readonly DrivenEdge[]): Map<string, readonly [Edge, Edge]> {
  const found = new Map<string, readonly [Edge, Edge]>();
  const outOf = Map.groupBy(driven, ({ edge }) => edge.fromKey);
  for (const { edge, steps } of driven) {
    for (const next of outOf.get(edge.toKey) ?? []) {
      for (const pair of crossed(steps.at(-1), next.steps.at(0))) {
        if (!found.has(pair)) found.set(pair, [edge, next.edge]);
      }
    }
  }
  return found;
}

const pairsOn = (steps: Steps): string[] =>
  steps.slice(1).flatMap((step, index) => crossed(steps[index], step));

const crossed = (firsts: readonly string[] = [], seconds: readonly string[] = []): string[] =>
  firsts.flatMap((first) => seconds.map((second) => pairOf(first, second)));
