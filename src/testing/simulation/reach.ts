/** What is counted, each thing by its name. */
export type ReachKind = 'steps' | 'faults' | 'states' | 'ends' | 'events' | 'answers' | 'checks';

export const REACH_KINDS: readonly ReachKind[] = [
  'steps',
  'faults',
  'states',
  'ends',
  'events',
  'answers',
  'checks',
];

/** What histories came to: how often each step, fault, state, end, entry and answer. */
export class Reach {
  runs = 0;
  readonly #counts = new Map<ReachKind, Map<string, number>>(
    REACH_KINDS.map((kind) => [kind, new Map()]),
  );

  count(kind: ReachKind, what: string, by = 1): void {
    const counts = this.#counts.get(kind);
    counts?.set(what, (counts.get(what) ?? 0) + by);
  }

  /** By name, in the order of the names. */
  of(kind: ReachKind): readonly (readonly [string, number])[] {
    return [...(this.#counts.get(kind) ?? [])].toSorted(([one], [other]) => (one < other ? -1 : 1));
  }

  has(kind: ReachKind, what: string): boolean {
    return this.#counts.get(kind)?.has(what) === true;
  }

  total(kind: ReachKind): number {
    return this.of(kind).reduce((sum, [, count]) => sum + count, 0);
  }

  add(other: Reach): void {
    this.runs += other.runs;
    for (const kind of REACH_KINDS) {
      for (const [what, count] of other.of(kind)) this.count(kind, what, count);
    }
  }
}
