import type { AnyMachineSnapshot } from 'xstate';
import type { SeenEdge, SeenGraph, SeenNode } from './graph.ts';

/** What a client may see of one way through a chart. */
export interface Told {
  readonly facts: readonly string[];
  /** The state it ends in. */
  readonly end: AnyMachineSnapshot;
}

export interface Word {
  readonly steps: readonly string[];
  /** The server may do what it does by itself in several ways. */
  readonly told: readonly Told[];
}

export interface WordOptions {
  /** A word may end in any state at rest, and not only where the chart does. */
  readonly endsAnywhere: boolean;
  /** How dear a step is, where there is a choice of ways to the end; 1 without it. */
  readonly cost: (step: string) => number;
}

/** A state in which nothing happens by itself, and what was told on the way there. */
interface Rest {
  readonly node: SeenNode;
  readonly facts: readonly string[];
}

/**
 * The words of steps that take each step from each state at rest at least once, each gone on with to
 * an end. A step counts only in a state at rest: what only a race reaches cannot be driven from
 * outside. Ways through the chart with the same steps are one word.
 */
export function wordsOf(graph: SeenGraph, options: WordOptions): Word[] {
  const prefixes = prefixesOf(graph);
  const words = new Map<string, readonly string[]>();
  for (const [node, prefix] of prefixes) {
    if (prefix.length === 0 && isEnd(node, options)) words.set('', []);
    for (const steps of onwards(node, options)) {
      const word = [...prefix, ...steps];
      words.set(word.join('\n'), word);
    }
  }
  return [...words.values()]
    .filter((word) => !options.endsAnywhere || isWhole(word, words))
    .map((steps) => ({ steps, told: toldOf(graph, steps) }));
}

/** Whether no other word begins with all of this one. */
const isWhole = (word: readonly string[], words: ReadonlyMap<string, readonly string[]>): boolean =>
  ![...words.values()].some(
    (other) => other.length > word.length && word.every((step, at) => other[at] === step),
  );

/** Each step out of a state at rest, with the cheapest way on to an end. */
function onwards(node: SeenNode, options: WordOptions): string[][] {
  return stepsOf(node).flatMap((edge) => {
    const ways = restsAfter(edge).map(({ node: next }) => wayToEnd(next, options));
    const way = ways.find((steps) => steps !== undefined);
    return way === undefined ? [] : [[edge.step ?? '', ...way]];
  });
}

/** The shortest word to each state at rest. */
function prefixesOf(graph: SeenGraph): Map<SeenNode, readonly string[]> {
  const found = new Map<SeenNode, readonly string[]>();
  for (const { node } of restsFrom(graph.start)) found.set(node, []);
  // A map goes on with what is added while it is walked.
  for (const [node, word] of found) {
    for (const edge of stepsOf(node)) {
      for (const { node: next } of restsAfter(edge)) {
        if (!found.has(next)) found.set(next, [...word, edge.step ?? '']);
      }
    }
  }
  return found;
}

/** Dijkstra over states at rest; undefined where no end can be reached. */
function wayToEnd(from: SeenNode, options: WordOptions): readonly string[] | undefined {
  const open = [{ node: from, word: [] as readonly string[], cost: 0 }];
  const closed = new Set<SeenNode>();
  for (;;) {
    const next = open.sort((a, b) => a.cost - b.cost).shift();
    if (next === undefined) return undefined;
    if (isEnd(next.node, options)) return next.word;
    if (closed.has(next.node)) continue;
    closed.add(next.node);
    for (const edge of stepsOf(next.node)) {
      const step = edge.step ?? '';
      const reached = { word: [...next.word, step], cost: next.cost + options.cost(step) };
      for (const { node } of restsAfter(edge)) open.push({ node, ...reached });
    }
  }
}

/** All that may be told of a word. */
function toldOf(graph: SeenGraph, steps: readonly string[]): Told[] {
  let rests: Rest[] = restsFrom(graph.start).map(({ node, facts }) => ({
    node,
    facts: [...graph.startFacts, ...facts],
  }));
  for (const step of steps) rests = rests.flatMap((rest) => after(rest, step));
  const told = rests.map(({ node, facts }) => ({ facts, end: node.snapshot }));
  return [...new Map(told.map((one) => [keyOf(one), one])).values()];
}

const keyOf = ({ facts, end }: Told): string => JSON.stringify([facts, end.value, end.output]);

const after = ({ node, facts }: Rest, step: string): Rest[] =>
  stepsOf(node)
    .filter((edge) => edge.step === step)
    .flatMap(restsAfter)
    .map((rest) => ({ node: rest.node, facts: [...facts, ...rest.facts] }));

const restsAfter = (edge: SeenEdge): Rest[] =>
  restsFrom(edge.to).map(({ node, facts }) => ({ node, facts: [...edge.facts, ...facts] }));

/** Where a chart comes to rest when nobody outside does anything. */
function restsFrom(node: SeenNode, seen: ReadonlySet<SeenNode> = new Set()): Rest[] {
  const own = node.edges.filter(({ step }) => step === undefined);
  if (own.length === 0) return [{ node, facts: [] }];
  if (seen.has(node)) return [];
  const further = new Set([...seen, node]);
  return own.flatMap((edge) =>
    restsFrom(edge.to, further).map((rest) => ({
      node: rest.node,
      facts: [...edge.facts, ...rest.facts],
    })),
  );
}

const stepsOf = (node: SeenNode): readonly SeenEdge[] =>
  node.edges.filter(({ step }) => step !== undefined);

const isEnd = (node: SeenNode, { endsAnywhere }: WordOptions): boolean =>
  endsAnywhere || node.snapshot.status !== 'active';
