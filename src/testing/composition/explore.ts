import type { AnyStateMachine } from 'xstate';
import { type Assembly, assemble } from './assembly.ts';
import type {
  Composition,
  CompositionEdge,
  CompositionOptions,
  CompositionView,
  Happening,
} from './contract.ts';
import { assertHolds, driveToRest, type Oracle } from './oracle.ts';
import { RunningComposition } from './running.ts';
import { keyOf, labelOf, type Stimulus, stimuliIn } from './stimuli.ts';

/**
 * Runs a chart with some of its children for real and finds every state of the whole, breadth first: each
 * is driven to anew, from the start and by the shortest way, for each thing that can happen in it.
 *
 * After every stimulus each invariant must hold and no chart may have an error. Each history is then driven
 * on: `end` is sent and nothing answers any more, so that the timers alone must bring the outermost chart to
 * its end, with no timer, fake or chart left. Timers are tried in any order, as on a machine that is late.
 *
 * Everything real must be a chart, because nothing is awaited. Throws a {@link CompositionError} with the
 * history that shows what is wrong, and an error when the key is too coarse (two histories share a key but
 * not what can happen next) or too fine (more than `limit` states).
 */
export function exploreComposition<Machine extends AnyStateMachine>(
  machine: Machine,
  options: CompositionOptions<Machine>,
): Composition {
  const explorer = new Explorer(assemble(machine, options), options);
  return explorer.explore();
}

const LIMIT_DEFAULT = 5_000;

interface Place {
  readonly key: string;
  readonly path: readonly Stimulus[];
  readonly stimuli: readonly Stimulus[];
}

/** An edge as the explorer knows it: the history up to and with it, and the state it leads to. */
interface Taken {
  readonly history: readonly Stimulus[];
  readonly to: string;
}

class Explorer<Machine extends AnyStateMachine> {
  readonly #assembly: Assembly;
  readonly #options: CompositionOptions<Machine>;
  readonly #oracle: Oracle;
  readonly #places = new Map<string, Place>();
  readonly #edges: CompositionEdge[] = [];
  readonly #taken: Taken[] = [];
  readonly #driven = new Set<string>();
  /** Where a stimulus leads from a state, by both. */
  readonly #successors = new Map<string, string>();
  #drives = 0;

  constructor(assembly: Assembly, options: CompositionOptions<Machine>) {
    this.#assembly = assembly;
    this.#options = options;
    this.#oracle = options;
  }

  explore(): Composition {
    this.#drive([]);
    // A map gives what is added while it is gone through, so this is the queue.
    for (const { key, path, stimuli } of this.#places.values()) {
      for (const stimulus of stimuli) this.#drive([...path, stimulus], key);
    }
    const pairs = this.#drivePairs();
    const { coverages } = this.#assembly;
    const [states, steps] = [this.#places.size, this.#successors.size];
    return { states, steps, pairs, drives: this.#drives, edges: this.#edges, coverages };
  }

  /** Drives a history from the start to rest and notes its last step as an edge. */
  #drive(history: readonly Stimulus[], fromKey = ''): void {
    const labels = history.map(({ label }) => label);
    const running = new RunningComposition(this.#assembly, this.#options.input);
    const last = history.at(-1);
    for (const { act } of history.slice(0, -1)) running.apply(act);
    const before = running.view;
    const from = last === undefined ? '-' : labelOf(before, this.#options);
    const known = last === undefined ? 0 : before.history.length;
    if (last !== undefined) running.apply(last.act);
    assertHolds(running, this.#oracle, labels);
    const { view } = running;
    const to = labelOf(view, this.#options);
    const facts = this.#factsOf(view.history.slice(known));
    this.#edges.push({
      path: labels.slice(0, -1),
      from,
      on: last?.label ?? 'start',
      to,
      facts,
    });
    const key = this.#arrive(history, view);
    this.#taken.push({ history, to: key });
    this.#assertSameSuccessor(fromKey, key, labels);
    const [second, first] = [labels.at(-1), labels.at(-2)];
    if (first !== undefined && second !== undefined) this.#driven.add(pairOf(first, second));
    driveToRest(running, this.#oracle, labels);
    this.#drives++;
  }

  #arrive(path: readonly Stimulus[], view: CompositionView): string {
    const key = keyOf(view, this.#options);
    const stimuli = stimuliIn(view, this.#options);
    const known = this.#places.get(key);
    if (known !== undefined) assertSameStimuli(known, { key, path, stimuli });
    else this.#places.set(key, { key, path, stimuli });
    const limit = this.#options.limit ?? LIMIT_DEFAULT;
    if (this.#places.size > limit)
      throw new Error(`More than ${limit} states; the last is ${key}.`);
    return key;
  }

  #assertSameSuccessor(fromKey: string, key: string, labels: readonly string[]): void {
    const step = `${fromKey} on ${labels.at(-1)}`;
    const known = this.#successors.get(step) ?? key;
    this.#successors.set(step, known);
    if (known === key) return;
    const where = `"${labels.join('; ')}" leads to ${key} and not, as before, to ${known}`;
    throw new Error(`The key ${fromKey} is too coarse: ${where}.`);
  }

  /** Drives what the shortest ways have left out: a step after one that is not the last of such a way. */
  #drivePairs(): string[] {
    const all = new Set<string>();
    for (const { history, to } of [...this.#taken]) {
      const first = history.at(-1);
      if (first === undefined) continue;
      for (const second of this.#places.get(to)?.stimuli ?? []) {
        const pair = pairOf(first.label, second.label);
        all.add(pair);
        if (!this.#driven.has(pair)) this.#drive([...history, second], to);
      }
    }
    return [...all].sort();
  }

  #factsOf(happened: readonly Happening[]): string[] {
    const inWords = this.#options.fact ?? (({ type }) => type);
    return happened.flatMap((one) => {
      if (one.kind !== 'told') return [];
      const words = inWords(one.fact);
      return [one.path === '' ? words : `${one.path}: ${words}`];
    });
  }
}

const pairOf = (first: string, second: string): string => `${first}, then ${second}`;

function assertSameStimuli(known: Place, again: Place): void {
  const [mine, others] = [known, again].map(({ stimuli }) => stimuli.map(({ label }) => label));
  const odd = [...(mine ?? []), ...(others ?? [])].find(
    (label) => !mine?.includes(label) || !others?.includes(label),
  );
  if (odd === undefined) return;
  const ways = [known, again].map(({ path }) => path.map(({ label }) => label).join('; '));
  const where = `after "${ways.join('" or "')}"`;
  throw new Error(`The key ${known.key} is too coarse: only sometimes ${odd}, ${where}.`);
}
