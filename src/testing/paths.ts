import {
  type ActorLogic,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  getNextTransitions,
  type InputFrom,
  initialTransition,
  transition,
} from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { fakeSources, splitSystemEvent } from './drive.ts';
import { labelOfEvent, labelOfState, withVariant } from './labels.ts';
import { createPorts, type FirstSnapshots } from './ports.ts';
import { type ArmedTimer, stillThere, type Walk, walkOf } from './walk.ts';

/** The fields of an event beside its type. A `type` is given only to make a wildcard concrete. */
export type Fields = Readonly<Record<string, unknown>>;

/** Fields, or how they follow from the state; undefined when the event cannot happen there. */
export type Payload =
  | Fields
  | ((snapshot: AnyMachineSnapshot) => Fields | readonly Fields[] | undefined);

/**
 * What the events of a chart carry: by event type, the variants by name. A type that is not listed
 * is sent bare. The names show in the edges, so that they read as sentences.
 */
export type Payloads = Readonly<Record<string, Readonly<Record<string, Payload>>>>;

export interface PathOptions<Machine extends AnyStateMachine> {
  readonly input: InputFrom<Machine>;
  readonly payloads?: Payloads;
  /**
   * What of the context tells two states apart, beside the state value, the armed timers and the
   * children. All that a guard compares belongs in it, and nothing that grows for ever.
   */
  readonly key?: (snapshot: AnyMachineSnapshot) => unknown;
  /** The child that sends an event; the event then needs that child to be running. */
  readonly sender?: (event: EventObject) => string | undefined;
  /** What the table says of a fact; its type when left out. */
  readonly fact?: (fact: AnyEventObject) => string;
  /** Children that run for real in the drive; every other one is a fake. */
  readonly real?: readonly string[];
  /** What the first snapshot of a fake child has, by the child's name. */
  readonly shows?: FirstSnapshots;
  /** How many steps the walk may take before the key is taken for too fine. */
  readonly limit?: number;
}

/** One event in one reachable state, the way there, and what must come of it. */
export interface Edge {
  /** The events that lead from the start to the state. */
  readonly path: readonly EventObject[];
  /** Undefined for the start itself. */
  readonly event: EventObject | undefined;
  readonly from: string;
  readonly on: string;
  readonly to: string;
  /** What the chart does on the edge: facts, sends, children and timers, in order. */
  readonly effects: readonly string[];
  readonly expected: AnyMachineSnapshot;
  /** The timers that are armed afterwards. */
  readonly timers: readonly ArmedTimer[];
  /** The children that run afterwards. */
  readonly children: readonly string[];
  /** What tells the state before it from others, as text; edges out of one state share it. */
  readonly fromKey: string;
  /** The same for the state after it. */
  readonly toKey: string;
}

/**
 * Walks a chart without running it and lists every event in every reachable state.
 *
 * The walk follows a chart as it would run: an `after` needs its timer armed, and the end of a
 * child needs that child to be running. Nothing follows a state that has ended. Throws when more
 * than `limit` steps are taken, when a wildcard has no payload, and when two states share a key but
 * not their future.
 */
export function edgesOf<Machine extends AnyStateMachine>(
  machine: Machine,
  options: PathOptions<Machine>,
): Edge[] {
  const walker = new Walker(machine, options);
  const start = walker.start();
  return [walker.startEdge(start), ...walker.paths().flatMap((path) => walker.edgesFrom(path))];
}

/** The edge of `next` after that of `edge`, by the way of `edge`. `next` must be possible there. */
export function edgeAfter<Machine extends AnyStateMachine>(
  machine: Machine,
  options: PathOptions<Machine>,
  [edge, next]: readonly [Edge, Edge],
): Edge {
  const way = edge.event === undefined ? edge.path : [...edge.path, edge.event];
  return new Walker(machine, options).edgeAfter(way, next.event as EventObject);
}

const LIMIT_DEFAULT = 5_000;

class Walker<Machine extends AnyStateMachine> {
  readonly #machine: AnyStateMachine;
  readonly #options: PathOptions<Machine>;
  /** What follows on each event from the states of a key. */
  readonly #futures = new Map<string, readonly string[]>();
  readonly #fact: (fact: AnyEventObject) => string;

  constructor(machine: Machine, options: PathOptions<Machine>) {
    const fakes = createPorts(fakeSources(machine, options.real), options.shows);
    this.#machine = machine.provide({ actors: fakes.actors } as never);
    this.#options = options;
    this.#fact = options.fact ?? (({ type }) => type);
  }

  start(): Walk {
    const [at, actions] = initialTransition(this.#machine, this.#options.input as never);
    return walkOf(at, actions, { timers: new Map(), ended: [], fact: this.#fact });
  }

  /** The shortest way to each reachable state, as the events on it. */
  paths(): EventObject[][] {
    const logic: ActorLogic<Walk, AnyEventObject> = {
      getInitialSnapshot: () => this.start(),
      transition: (walk, event) => this.#step(walk, event),
      getPersistedSnapshot: (walk) => walk,
    };
    let last = '';
    const serializeState = (walk: Walk): string => {
      last = this.#keyOf(walk);
      return last;
    };
    const limit = this.#options.limit ?? LIMIT_DEFAULT;
    try {
      const events = (walk: Walk) => this.#eventsOf(walk);
      const paths = getShortestPaths(logic, {
        ...{ events, serializeState, limit },
        serializeEvent: nameOf,
      });
      return paths.map((path) => path.steps.slice(1).map((step) => step.event));
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('Traversal limit')) throw error;
      throw endless(limit, last, error);
    }
  }

  startEdge(walk: Walk): Edge {
    const to = this.#label(walk);
    const keys = { fromKey: '', toKey: this.#keyOf(walk) };
    return { path: [], event: undefined, from: '-', on: 'start', to, ...outcome(walk), ...keys };
  }

  edgesFrom(path: readonly EventObject[]): Edge[] {
    const walk = this.#replay(path);
    return this.#eventsOf(walk).map((event) => {
      this.#assertSameFuture(this.#step(walk, event));
      return this.#edge({ path, walk, event });
    });
  }

  edgeAfter(path: readonly EventObject[], event: EventObject): Edge {
    return this.#edge({ path, walk: this.#replay(path), event });
  }

  #edge({
    path,
    walk,
    event,
  }: {
    path: readonly EventObject[];
    walk: Walk;
    event: EventObject;
  }): Edge {
    const next = this.#step(walk, event);
    const [from, on, to] = [this.#label(walk), labelOfEvent(event), this.#label(next)];
    const keys = { fromKey: this.#keyOf(walk), toKey: this.#keyOf(next) };
    return { path, event, from, on, to, ...outcome(next), ...keys };
  }

  #step(walk: Walk, event: EventObject): Walk {
    const [at, actions] = transition(this.#machine, walk.at, event as never);
    return walkOf(at, actions, { ...stillThere(walk, event, at), fact: this.#fact });
  }

  #replay(path: readonly EventObject[]): Walk {
    return path.reduce((walk, event) => this.#step(walk, event), this.start());
  }

  /** Only one state a key is walked on from, so all that share a key must share what follows. */
  #assertSameFuture(walk: Walk): void {
    const key = this.#keyOf(walk);
    const future = this.#eventsOf(walk).map(
      (event) => `${nameOf(event)} leads to ${this.#keyOf(this.#step(walk, event))}`,
    );
    const known = this.#futures.get(key) ?? future;
    this.#futures.set(key, known);
    const odd = [...future, ...known].find((one) => !future.includes(one) || !known.includes(one));
    if (odd === undefined) return;
    throw new Error(`The key ${key} is too coarse: only sometimes ${odd}. Say more in \`key\`.`);
  }

  #eventsOf(walk: Walk): EventObject[] {
    if (walk.at.status !== 'active') return [];
    const types = new Set(getNextTransitions(walk.at).map(({ eventType }) => String(eventType)));
    return [...types].filter(isDrivable).flatMap((type) => this.#variantsOf(walk, type));
  }

  #variantsOf(walk: Walk, type: string): EventObject[] {
    const variants = this.#options.payloads?.[type] ?? { '': {} };
    const events = Object.entries(variants).flatMap(([name, payload]) =>
      fieldsOf(payload, walk.at).map((fields) => eventOf(type, name, fields)),
    );
    for (const event of events) assertConcrete(event.type);
    return events.filter((event) => this.#isPossible(walk, event));
  }

  #isPossible(walk: Walk, event: EventObject): boolean {
    const [kind, id] = splitSystemEvent(event.type);
    if (kind === 'after') return [...walk.timers.values()].some(({ type }) => type === event.type);
    const child = kind === 'sent' ? this.#options.sender?.(event) : id;
    return child === undefined || (child in walk.at.children && !walk.ended.includes(child));
  }

  #keyOf({ at, timers, ended }: Walk): string {
    const children = Object.keys(at.children).sort();
    const own = this.#options.key?.(at);
    return JSON.stringify([at.status, at.value, own, [...timers.keys()].sort(), children, ended]);
  }

  #label({ at }: Walk): string {
    return labelOfState(at.value, this.#options.key?.(at));
  }
}

const endless = (limit: number, key: string, cause: Error): Error =>
  new Error(
    `More than ${limit} steps, and the walk has not ended; it came to the state ${key}. Something ` +
      'counts up without a bound: bound it, leave it out of `key`, or raise `limit`.',
    { cause },
  );

const outcome = ({ at, effects, timers, ended }: Walk) => ({
  expected: at,
  effects,
  timers: [...timers.values()],
  children: Object.keys(at.children).filter((id) => at.status === 'active' && !ended.includes(id)),
});

/** Variants may differ in functions alone, which JSON leaves out. */
const nameOf = (event: EventObject): string => `${labelOfEvent(event)} ${JSON.stringify(event)}`;

/** XState raises these itself, in the step that makes them true. */
const isDrivable = (type: string): boolean =>
  type !== '' && type !== 'xstate.route' && !type.startsWith('xstate.done.state.');

function assertConcrete(type: string): void {
  if (type !== '*' && !type.endsWith('.*')) return;
  throw new Error(`"${type}" is a wildcard: list payloads for it that give a concrete \`type\`.`);
}

function fieldsOf(payload: Payload, snapshot: AnyMachineSnapshot): readonly Fields[] {
  const fields = typeof payload === 'function' ? payload(snapshot) : payload;
  if (fields === undefined) return [];
  // `Array.isArray` does not narrow readonly arrays.
  return Array.isArray(fields) ? (fields as readonly Fields[]) : [fields as Fields];
}

function eventOf(type: string, variant: string, fields: Fields): EventObject {
  const event: AnyEventObject = { type, ...fields };
  const [kind, id] = splitSystemEvent(event.type);
  if (kind === 'done' || kind === 'error') event['actorId'] ??= id;
  return withVariant(event, variant);
}
