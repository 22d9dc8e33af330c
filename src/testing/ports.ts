import type {
  ActorScope,
  AnyActorLogic,
  AnyActorRef,
  AnyEventObject,
  EventObject,
  Snapshot,
} from 'xstate';

/** A child that a chart invoked or spawned, in the hands of the test. */
export interface PortCall {
  readonly id: string;
  /** Its id behind those of the charts it runs under, the outermost left out: `tool.a/executeTool`. */
  readonly path: string;
  /** The name under which the chart knows the child's logic. */
  readonly src: string;
  readonly input: unknown;
  /** What the chart sent it, in order. */
  readonly received: readonly EventObject[];
  /** `stopped` when the chart let go of it before it had ended by itself. */
  readonly state: 'running' | 'resolved' | 'rejected' | 'stopped';
  /** Ends the child: its chart hears `xstate.done.actor.<id>`. */
  resolve(output?: unknown): void;
  /** Ends the child: its chart hears `xstate.error.actor.<id>`. */
  reject(error: unknown): void;
  /** Sends an event to the chart, as a callback port does. */
  tell(event: EventObject): void;
  /** Gives the child a new snapshot with these fields; heard by a chart that asked for snapshots. */
  show(fields: Record<string, unknown>): void;
}

export interface Ports {
  /** Every child that was started, oldest first, the ended ones included. */
  readonly calls: readonly PortCall[];
  /** The running child of that id. */
  live(id: string): PortCall | undefined;
  /** For `machine.provide({ actors })`. */
  readonly actors: Record<string, AnyActorLogic>;
}

type PortSnapshot = Snapshot<unknown> & { readonly input: unknown };

/** The test's own events to a fake child. The prefix is reserved for the kit. */
type Control =
  | { type: 'testing.resolve'; output: unknown }
  | { type: 'testing.reject'; error: unknown }
  | { type: 'testing.show'; fields: Record<string, unknown> };

type PortScope = ActorScope<PortSnapshot, AnyEventObject>;

/** By a child's name, what its first snapshot has beside the usual; a chart may read it at once. */
export type FirstSnapshots = Readonly<Record<string, (input: never) => Record<string, unknown>>>;

/**
 * Fakes for the children named in `sources`, whether the chart expects a promise, a callback, a
 * pool or another chart. A fake does nothing until the test ends it or lets it speak.
 */
export function createPorts(sources: readonly string[], first: FirstSnapshots = {}): Ports {
  const byRef = new Map<AnyActorRef, Call>();
  const logics = sources.map((src) => [src, fakeOf(src, byRef, first[src])] as const);
  return {
    get calls() {
      return [...byRef.values()];
    },
    live: (id) => [...byRef.values()].find((call) => call.id === id && call.state === 'running'),
    actors: Object.fromEntries(logics),
  };
}

function fakeOf(
  src: string,
  byRef: Map<AnyActorRef, Call>,
  first: FirstSnapshots[string] = () => ({}),
): AnyActorLogic {
  return {
    getInitialSnapshot: (_scope: PortScope, input: unknown): PortSnapshot => ({
      status: 'active',
      output: undefined,
      error: undefined,
      input,
      // The chart gives the child the input that the test's function is written for.
      ...first(input as never),
    }),
    start: (snapshot: PortSnapshot, scope: PortScope) => {
      byRef.set(scope.self, new Call(src, snapshot.input, scope.self));
    },
    transition: (snapshot: PortSnapshot, event: AnyEventObject, scope: PortScope) =>
      step(snapshot, event, byRef.get(scope.self)),
    getPersistedSnapshot: (snapshot: PortSnapshot) => snapshot,
  };
}

function step(snapshot: PortSnapshot, event: AnyEventObject, call: Call | undefined): PortSnapshot {
  const control = event as unknown as Control | { type: 'xstate.stop' };
  switch (control.type) {
    case 'testing.resolve':
      if (call) call.state = 'resolved';
      return ended(snapshot, { status: 'done', output: control.output });
    case 'testing.reject':
      if (call) call.state = 'rejected';
      return ended(snapshot, { status: 'error', error: control.error });
    case 'testing.show':
      return { ...snapshot, ...control.fields };
    case 'xstate.stop':
      if (call?.state === 'running') call.state = 'stopped';
      return ended(snapshot, { status: 'stopped' });
    default:
      call?.received.push(event);
      return snapshot;
  }
}

/** A snapshot's type is a union by status; the fields given belong to the status given. */
const ended = (
  snapshot: PortSnapshot,
  end: { status: string; output?: unknown; error?: unknown },
): PortSnapshot => ({ ...snapshot, ...end }) as PortSnapshot;

/** The ids from below the outermost actor down to `ref`; empty for the outermost itself. */
export function pathOf(ref: AnyActorRef): string {
  const parent = ref._parent;
  if (parent === undefined) return '';
  const above = pathOf(parent);
  return above === '' ? ref.id : `${above}/${ref.id}`;
}

class Call implements PortCall {
  readonly id: string;
  readonly path: string;
  readonly src: string;
  readonly input: unknown;
  readonly received: EventObject[] = [];
  state: PortCall['state'] = 'running';
  readonly #ref: AnyActorRef;

  constructor(src: string, input: unknown, ref: AnyActorRef) {
    this.id = ref.id;
    this.path = pathOf(ref);
    this.src = src;
    this.input = input;
    this.#ref = ref;
  }

  resolve(output?: unknown): void {
    this.#control({ type: 'testing.resolve', output });
  }

  reject(error: unknown): void {
    this.#control({ type: 'testing.reject', error });
  }

  tell(event: EventObject): void {
    this.#assertRunning();
    this.#ref._parent?.send(event);
  }

  show(fields: Record<string, unknown>): void {
    this.#control({ type: 'testing.show', fields });
  }

  #control(control: Control): void {
    this.#assertRunning();
    this.#ref.send(control);
  }

  #assertRunning(): void {
    if (this.state !== 'running')
      throw new Error(`The child "${this.id}" is ${this.state} already.`);
  }
}
