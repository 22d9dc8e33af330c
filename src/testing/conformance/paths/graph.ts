import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { type Edge, edgesOf, type PathOptions } from '../../paths.ts';

/**
 * How a client sees an event of a chart: as a step that somebody outside takes, as nothing because the
 * server does it by itself, or not at all because nothing outside can cause it.
 */
export type Seen = { readonly step: string } | 'by itself' | 'never';

export interface SeenEdge {
  /** Undefined for what happens by itself. */
  readonly step: string | undefined;
  /** What the journal has of it, in the words of the scenario. */
  readonly facts: readonly string[];
  readonly to: SeenNode;
}

/** A reachable state of the chart. */
export interface SeenNode {
  readonly snapshot: AnyMachineSnapshot;
  readonly edges: SeenEdge[];
}

export interface SeenGraph {
  readonly start: SeenNode;
  readonly startFacts: readonly string[];
  /** Edges of the chart, those that no client can cause included. */
  readonly chartEdges: number;
}

/** The chart's own graph without what nobody outside can cause. */
export function seenGraph<Machine extends AnyStateMachine>(
  machine: Machine,
  options: PathOptions<Machine>,
  see: (event: EventObject, before: AnyMachineSnapshot) => Seen,
): SeenGraph {
  const edges = edgesOf(machine, options);
  const nodes = new Map<string, SeenNode>();
  const byPath = new Map<string, SeenNode>();
  for (const edge of edges) {
    const node = nodes.get(stateKey(edge, options)) ?? { snapshot: edge.expected, edges: [] };
    nodes.set(stateKey(edge, options), node);
    byPath.set(pathKey(edge.event ? [...edge.path, edge.event] : []), node);
  }
  for (const edge of edges) connect(edge, byPath, see);
  const [first] = edges;
  const start = byPath.get(pathKey([]));
  if (first === undefined || start === undefined) throw new Error('The chart has no start.');
  return { start, startFacts: factsOf(first), chartEdges: edges.length };
}

function connect(
  edge: Edge,
  byPath: ReadonlyMap<string, SeenNode>,
  see: (event: EventObject, before: AnyMachineSnapshot) => Seen,
): void {
  const from = byPath.get(pathKey(edge.path));
  if (edge.event === undefined || from === undefined) return;
  const to = byPath.get(pathKey([...edge.path, edge.event]));
  const seen = see(edge.event, from.snapshot);
  if (seen === 'never' || to === undefined) return;
  const step = seen === 'by itself' ? undefined : seen.step;
  // What happens by itself and changes nothing would only keep a state from being at rest.
  if (step === undefined && to === from) return;
  from.edges.push({ step, facts: factsOf(edge), to });
}

const EMIT = 'emit ';

const factsOf = ({ effects }: Edge): readonly string[] =>
  effects
    .filter((effect) => effect.startsWith(EMIT))
    .map((effect) => effect.slice(EMIT.length))
    .filter((fact) => fact !== '');

function stateKey<Machine extends AnyStateMachine>(
  { expected: at, timers, children }: Edge,
  { key }: PathOptions<Machine>,
): string {
  const armed = timers.map(({ type }) => type).sort();
  return JSON.stringify([at.status, at.value, key?.(at), armed, [...children].sort()]);
}

const pathKey = (events: readonly EventObject[]): string => JSON.stringify(events);
