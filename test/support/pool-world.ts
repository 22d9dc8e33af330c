import { type AnyActorRef, createActor, type EventObject, fromCallback, setup } from 'xstate';
import { type PoolChanged, type PoolEmitted, type PoolEvent, poolOf } from '../../machines/pool.ts';

type ChildEvent =
  | { type: 'child.begin' }
  | { type: 'child.note'; note: string }
  | { type: 'child.finish' }
  | { type: 'child.crash' }
  /** Asks the pool for something while the pool is handling what made it ask. */
  | { type: 'child.pass'; to: EventObject };

interface ChildInput {
  readonly name: string;
  /** Told to the world's log, so that a test sees what each child hears. */
  readonly log: (line: string) => void;
  /** Ends before it can be told to begin. */
  readonly stillborn?: boolean;
}

/** A child that logs its life. The callback inside it lives as long as it does. */
function childMachine() {
  return setup({
    types: {
      context: {} as ChildInput,
      input: {} as ChildInput,
      events: {} as ChildEvent,
      output: {} as string,
    },
    actors: {
      life: fromCallback<{ type: 'none' }, ChildInput>(({ input }) => {
        input.log(`${input.name} lives`);
        return () => input.log(`${input.name} is gone`);
      }),
    },
    actions: {
      log: ({ context }, params: { what: string }) => context.log(`${context.name} ${params.what}`),
      crash: () => {
        throw new Error('a planted crash');
      },
      pass: ({ self }, params: { to: EventObject }) => {
        self._parent?.send(params.to);
      },
    },
    guards: { isStillborn: ({ context }) => context.stillborn === true },
  }).createMachine({
    context: ({ input }) => input,
    initial: 'born',
    invoke: { src: 'life', input: ({ context }) => context },
    on: {
      'child.note': {
        actions: { type: 'log', params: ({ event }) => ({ what: `hears ${event.note}` }) },
      },
      'child.pass': { actions: { type: 'pass', params: ({ event }) => event } },
      'child.finish': { target: '.over' },
      'child.crash': { actions: 'crash' },
    },
    states: {
      born: {
        always: { guard: 'isStillborn', target: 'over' },
        on: { 'child.begin': { actions: { type: 'log', params: { what: 'begins' } } } },
      },
      over: { type: 'final' },
    },
    output: ({ context }) => `${context.name} is done`,
  });
}

type Child = ReturnType<typeof childMachine>;
type ChildPoolEvent = PoolEvent<Child>;

/** A root machine that owns one pool, as the supervisor does, and logs what it hears of it. */
function rootMachine(log: (line: string) => void) {
  return setup({
    types: { events: {} as PoolChanged | { type: 'root.end' } },
    actors: { pool: poolOf('kids', childMachine()) },
    actions: {
      hear: (_, params: PoolChanged) => log(`parent: ${params.live} live in ${params.pool}`),
    },
  }).createMachine({
    initial: 'open',
    states: {
      open: {
        invoke: { id: 'kids', src: 'pool', input: ({ self }) => ({ parent: self }) },
        on: {
          'pool.changed': { actions: { type: 'hear', params: ({ event }) => event } },
          'root.end': 'closed',
        },
      },
      closed: {},
    },
  });
}

/** A pool inside a real actor system. `log` has what everybody did and heard, in order. */
export class PoolWorld {
  readonly log: string[] = [];
  readonly facts: PoolEmitted[] = [];
  readonly pool: AnyActorRef;
  readonly #root;

  constructor() {
    const root = createActor(rootMachine((line) => this.log.push(line)));
    this.#root = root.start();
    const pool: AnyActorRef | undefined = root.getSnapshot().children['kids'];
    if (pool === undefined) throw new Error('the root has no pool');
    this.pool = pool;
    pool.on('*', (fact: PoolEmitted) => this.#hear(fact));
  }

  /** Ids of the live children, in the order they came. */
  get ids(): string[] {
    return [...this.pool.getSnapshot().actors.keys()];
  }

  get rootStatus(): string {
    return this.#root.getSnapshot().status;
  }

  child(id: string): AnyActorRef | undefined {
    return this.pool.getSnapshot().actors.get(id);
  }

  spawn(id: string, options: { readonly name?: string; readonly stillborn?: boolean } = {}): void {
    this.send(this.spawning(id, options));
  }

  spawning(
    id: string,
    { name = id, stillborn = false }: { readonly name?: string; readonly stillborn?: boolean } = {},
  ): ChildPoolEvent {
    const input: ChildInput = { name, stillborn, log: (line) => this.log.push(line) };
    return { type: 'pool.spawn', id, input, begin: { type: 'child.begin' } };
  }

  send(event: ChildPoolEvent): void {
    this.pool.send(event);
  }

  tell(id: string, event: ChildEvent): void {
    this.send({ type: 'pool.tell', id, event });
  }

  /** The log since the last call. */
  news(): string[] {
    return this.log.splice(0);
  }

  /** The state that owns the pool is left. */
  leave(): void {
    this.#root.send({ type: 'root.end' });
  }

  /** The root itself is stopped. */
  stop(): void {
    this.#root.stop();
  }

  #hear(fact: PoolEmitted): void {
    this.facts.push(fact);
    this.log.push(`${fact.type} ${fact.id}`);
  }
}
