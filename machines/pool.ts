import {
  createActor,
  type ActorLogic,
  type AnyActorLogic,
  type ActorRefFrom,
  type ActorScope,
  type AnyActor,
  type AnyActorRef,
  type DoneActorEvent,
  type ErrorActorEvent,
  type EventFromLogic,
  type InputFrom,
  type Snapshot,
} from 'xstate';

/**
 * Holds a varying number of actors of one kind as children of the supervisor.
 *
 * XState copies a machine's `children` at every spawn and stop, so the price of one run grows with
 * the number of live runs. A pool keeps them in a `Map` instead; they are ordinary actors of the
 * same system with the pool as their parent.
 *
 * PL1. An id is live at most once; a second spawn under it is refused.
 * PL2. A child that ends, however it ends, leaves the map in the transition that learns of it.
 * PL3. A child that crashes never crashes the pool or a sibling.
 * PL4. Stopping the pool stops every child.
 */
export type PoolEvent<Child extends AnyActorLogic> =
  | { type: 'pool.spawn'; id: string; input: InputFrom<Child>; begin: EventFromLogic<Child> }
  | { type: 'pool.tell'; id: string; event: EventFromLogic<Child> }
  /** Tells a child that is brought into being first if it is not there. */
  | { type: 'pool.ask'; id: string; input: InputFrom<Child>; event: EventFromLogic<Child> }
  | { type: 'pool.tellAll'; event: EventFromLogic<Child> }
  | { type: 'pool.stop'; id: string }
  | { type: 'pool.stopAll' };

/** What the pool's parent hears: how many children are left after one came or went. */
export interface PoolChanged {
  readonly type: 'pool.changed';
  readonly pool: string;
  readonly live: number;
}

export type PoolEmitted =
  | { type: 'pool.spawned'; id: string }
  | { type: 'pool.ended'; id: string; output: unknown }
  | { type: 'pool.crashed'; id: string; error: unknown }
  | { type: 'pool.dropped'; id: string };

export type PoolSnapshot<Child extends AnyActorLogic> = Snapshot<undefined> & {
  /** The live children. The same `Map` from snapshot to snapshot: read it, never keep it. */
  readonly actors: ReadonlyMap<string, ActorRefFrom<Child>>;
  readonly parent: AnyActorRef | undefined;
};

export interface PoolInput {
  /** Who is told of every change; undefined in a test that runs the pool alone. */
  readonly parent: AnyActorRef | undefined;
}

type AnyActorSystem = AnyActorRef['system'];

/** XState's own events: they come from children and from a stop, never from outside. */
export type SystemEvent = DoneActorEvent | ErrorActorEvent | { type: 'xstate.stop' };

export type PoolLogic<Child extends AnyActorLogic> = ActorLogic<
  PoolSnapshot<Child>,
  PoolEvent<Child> | SystemEvent,
  PoolInput,
  AnyActorSystem,
  PoolEmitted
>;

type Scope<Child extends AnyActorLogic> = ActorScope<
  PoolSnapshot<Child>,
  PoolEvent<Child> | SystemEvent,
  AnyActorSystem,
  PoolEmitted
>;

/** Makes the logic of a pool named `name` whose children run `child`. */
export function poolOf<Child extends AnyActorLogic>(name: string, child: Child): PoolLogic<Child> {
  return {
    getInitialSnapshot: (_scope, input) => ({
      status: 'active',
      output: undefined,
      error: undefined,
      actors: new Map(),
      parent: input.parent,
    }),
    transition: (snapshot, event, scope) => step(snapshot, event, { name, child, scope }),
    getPersistedSnapshot: (snapshot) => ({ ...snapshot, actors: new Map() }),
  };
}

interface StepDeps<Child extends AnyActorLogic> {
  readonly name: string;
  readonly child: Child;
  readonly scope: Scope<Child>;
}

function step<Child extends AnyActorLogic>(
  snapshot: PoolSnapshot<Child>,
  event: PoolEvent<Child> | SystemEvent,
  deps: StepDeps<Child>,
): PoolSnapshot<Child> {
  switch (event.type) {
    case 'pool.spawn':
      spawn(snapshot, event, deps);
      return snapshot;
    case 'pool.tell':
      childOf(snapshot, event.id)?.send(event.event);
      return snapshot;
    case 'pool.ask':
      ask(snapshot, event, deps);
      return snapshot;
    case 'pool.tellAll':
      for (const id of [...snapshot.actors.keys()]) childOf(snapshot, id)?.send(event.event);
      return snapshot;
    case 'pool.stop':
      drop(snapshot, event.id, deps);
      return snapshot;
    case 'pool.stopAll':
      dropAll(snapshot, deps);
      return snapshot;
    case 'xstate.stop':
      dropAll(snapshot, deps);
      return stopped(snapshot);
    default:
      reap(snapshot, event, deps);
      return snapshot;
  }
}

function spawn<Child extends AnyActorLogic>(
  snapshot: PoolSnapshot<Child>,
  event: Extract<PoolEvent<Child>, { type: 'pool.spawn' }>,
  { name, child, scope }: StepDeps<Child>,
): void {
  if (snapshot.actors.has(event.id)) return;
  const options = { id: event.id, parent: scope.self, input: event.input };
  const actor: AnyActor = createActor<AnyActorLogic>(child, options);
  mapOf(snapshot).set(event.id, actor as ActorRefFrom<Child>);
  scope.emit({ type: 'pool.spawned', id: event.id });
  announce(snapshot, name);
  actor.start();
  actor.send(event.begin);
}

function ask<Child extends AnyActorLogic>(
  snapshot: PoolSnapshot<Child>,
  { id, input, event }: Extract<PoolEvent<Child>, { type: 'pool.ask' }>,
  deps: StepDeps<Child>,
): void {
  const child = childOf(snapshot, id);
  if (child !== undefined) child.send(event);
  else spawn(snapshot, { type: 'pool.spawn', id, input, begin: event }, deps);
}

/** Stops a child without waiting for its own end: the last resort of a shutdown. */
function drop<Child extends AnyActorLogic>(
  snapshot: PoolSnapshot<Child>,
  id: string,
  { name, scope }: StepDeps<Child>,
): void {
  const actor = childOf(snapshot, id);
  if (actor === undefined) return;
  mapOf(snapshot).delete(id);
  scope.stopChild(actor);
  scope.emit({ type: 'pool.dropped', id });
  announce(snapshot, name);
}

function dropAll<Child extends AnyActorLogic>(
  snapshot: PoolSnapshot<Child>,
  deps: StepDeps<Child>,
): void {
  for (const id of [...snapshot.actors.keys()]) drop(snapshot, id, deps);
}

function reap<Child extends AnyActorLogic>(
  snapshot: PoolSnapshot<Child>,
  event: DoneActorEvent | ErrorActorEvent,
  { name, scope }: StepDeps<Child>,
): void {
  const id = event.actorId;
  if (!mapOf(snapshot).delete(id)) return;
  if ('error' in event) scope.emit({ type: 'pool.crashed', id, error: event.error });
  else scope.emit({ type: 'pool.ended', id, output: event.output });
  announce(snapshot, name);
}

function announce<Child extends AnyActorLogic>(snapshot: PoolSnapshot<Child>, pool: string): void {
  const changed: PoolChanged = { type: 'pool.changed', pool, live: snapshot.actors.size };
  snapshot.parent?.send(changed);
}

const stopped = <Child extends AnyActorLogic>(
  snapshot: PoolSnapshot<Child>,
): PoolSnapshot<Child> => ({
  status: 'stopped',
  output: undefined,
  error: undefined,
  actors: snapshot.actors,
  parent: snapshot.parent,
});

/** The map is the pool's own; only this file writes it. */
const mapOf = <Child extends AnyActorLogic>(snapshot: PoolSnapshot<Child>) =>
  snapshot.actors as Map<string, ActorRefFrom<Child>>;

const childOf = <Child extends AnyActorLogic>(
  snapshot: PoolSnapshot<Child>,
  id: string,
): AnyActorRef | undefined => snapshot.actors.get(id);
