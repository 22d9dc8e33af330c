import type {
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  InspectionEvent,
} from 'xstate';

/** How often a thing of a chart was seen while it ran. */
export interface CoverageRow {
  readonly what: 'state' | 'transition' | 'guard passes' | 'guard refuses';
  readonly name: string;
  readonly count: number;
}

/** Gathers what the drives of one chart have reached. */
export interface Coverage {
  /** A copy of the machine that reports to this coverage, and the inspector that goes with it. */
  watch(machine: AnyStateMachine): {
    readonly machine: AnyStateMachine;
    readonly inspect: (event: InspectionEvent) => void;
    /** The transitions of each step that a watched chart has taken, by name and in order. */
    readonly steps: readonly (readonly string[])[];
  };
  /** Every state, transition (`always` ones included) and named guard, in the chart's order. */
  readonly rows: readonly CoverageRow[];
  /** The rows nobody reached, as text. Empty when the chart is covered. */
  readonly missing: readonly string[];
  /** Each transition that directly followed another one in the same chart, as {@link pairOf} gives it. */
  readonly pairs: ReadonlySet<string>;
}

/** Two transitions, one directly after the other, by name. */
export const pairOf = (first: string, second: string): string => `${first}\t${second}`;

/** Makes an empty coverage of `machine`, to be given to each of its drives. */
export function createCoverage(machine: AnyStateMachine): Coverage {
  return new Counted(machine);
}

/** The rows as tab-separated text. */
export function coverageTable(coverage: Coverage): string {
  const lines = coverage.rows.map(({ what, name, count }) => `${what}\t${name}\t${count}`);
  return `${['what\tname\tcount', ...lines].join('\n')}\n`;
}

type GuardImplementation = ((args: never, params: never) => boolean) & { readonly check?: unknown };

class Counted implements Coverage {
  readonly #states = new Map<string, number>();
  readonly #transitions = new Map<string, number>();
  readonly #passes = new Map<string, number>();
  readonly #refuses = new Map<string, number>();
  readonly pairs = new Set<string>();

  constructor(machine: AnyStateMachine) {
    for (const node of nodesOf(machine.root)) {
      if (node !== machine.root && node.type !== 'history') this.#states.set(node.id, 0);
    }
    for (const name of transitionNames(machine).values()) this.#transitions.set(name, 0);
    for (const [name] of plainGuards(machine)) {
      this.#passes.set(name, 0);
      this.#refuses.set(name, 0);
    }
  }

  get rows(): readonly CoverageRow[] {
    const rowsOf = (what: CoverageRow['what'], counts: Map<string, number>) =>
      [...counts].map(([name, count]) => ({ what, name, count }));
    return [
      ...rowsOf('state', this.#states),
      ...rowsOf('transition', this.#transitions),
      ...rowsOf('guard passes', this.#passes),
      ...rowsOf('guard refuses', this.#refuses),
    ];
  }

  get missing(): readonly string[] {
    return this.rows.filter(({ count }) => count === 0).map(({ what, name }) => `${what}: ${name}`);
  }

  watch(machine: AnyStateMachine) {
    const guards = plainGuards(machine).map(([name, guard]) => [name, this.#counting(name, guard)]);
    const watched = machine.provide({ guards: Object.fromEntries(guards) } as never);
    const names = transitionNames(watched);
    const steps: (readonly string[])[] = [];
    const last = new WeakMap<AnyActorRef, readonly string[]>();
    this.#enter(initialNodes(watched.root));
    return {
      machine: watched as AnyStateMachine,
      inspect: (event: InspectionEvent) => {
        if (event.type !== '@xstate.microstep') return;
        const snapshot = event.snapshot as AnyMachineSnapshot;
        if (snapshot.machine !== watched) return;
        const taken = this.#step(event._transitions, names, snapshot);
        if (taken.length === 0) return;
        const chart = event.actorRef as AnyActorRef;
        this.#pair(last.get(chart) ?? [], taken);
        last.set(chart, taken);
        steps.push(taken);
      },
      steps,
    };
  }

  #step(
    taken: readonly AnyTransitionDefinition[],
    names: ReadonlyMap<AnyTransitionDefinition, string>,
    snapshot: AnyMachineSnapshot,
  ): readonly string[] {
    const known = taken.flatMap((transition) => names.get(transition) ?? []);
    for (const name of known) bump(this.#transitions, name);
    this.#enter(snapshot._nodes);
    return known;
  }

  #pair(firsts: readonly string[], seconds: readonly string[]): void {
    for (const first of firsts) {
      for (const second of seconds) this.pairs.add(pairOf(first, second));
    }
  }

  #enter(nodes: readonly AnyStateNode[]): void {
    for (const node of nodes) if (this.#states.has(node.id)) bump(this.#states, node.id);
  }

  #counting(name: string, guard: GuardImplementation): GuardImplementation {
    return (args, params) => {
      const passes = guard(args, params);
      bump(passes ? this.#passes : this.#refuses, name);
      return passes;
    };
  }
}

/** Named guards that are functions; `and`, `or` and `not` are seen through their parts. */
function plainGuards(machine: AnyStateMachine): [string, GuardImplementation][] {
  const all = Object.entries(machine.implementations.guards) as [string, GuardImplementation][];
  return all.filter(([, guard]) => typeof guard === 'function' && guard.check === undefined);
}

/** A name for each transition of a machine; it is the same in every copy of the machine. */
function transitionNames(machine: AnyStateMachine): Map<AnyTransitionDefinition, string> {
  const names = new Map<AnyTransitionDefinition, string>();
  for (const node of nodesOf(machine.root)) {
    for (const [type, transitions] of [...node.transitions, ['always', node.always ?? []]] as [
      string,
      readonly AnyTransitionDefinition[],
    ][]) {
      transitions.forEach((transition, index) => {
        const order = transitions.length > 1 ? ` (${index + 1} of ${transitions.length})` : '';
        names.set(transition, `${node.id} on ${type.replace(/^xstate\./, '')}${order}`);
      });
    }
  }
  return names;
}

/** A state node and all below it, in the order they are written. */
export function nodesOf(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap((child: AnyStateNode) => nodesOf(child))];
}

/** The states a chart enters first, also those it leaves at once. */
function initialNodes(node: AnyStateNode): AnyStateNode[] {
  if (node.type === 'parallel') {
    return [node, ...Object.values(node.states).flatMap((n: AnyStateNode) => initialNodes(n))];
  }
  const first: AnyStateNode | undefined =
    node.type === 'compound' ? node.initial.target[0] : undefined;
  return first ? [node, ...initialNodes(first)] : [node];
}

const bump = (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
};
