import {
  type Actor,
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventFromLogic,
  type EventObject,
  type InputFrom,
} from 'xstate';
import type { Coverage } from './coverage.ts';
import { createPorts, type FirstSnapshots, type Ports } from './ports.ts';
import { followTimers, type TimerSource } from './timer-sources.ts';
import { createVirtualClock, type PendingTimer, type VirtualClock } from './virtual-clock.ts';

/** A chart that runs alone: its clock, its children and what it tells are the test's. */
export interface Drive<Machine extends AnyStateMachine> {
  readonly actor: Actor<Machine>;
  readonly clock: VirtualClock;
  readonly ports: Ports;
  /** The facts it emitted, those of its first entry included. */
  readonly emitted: readonly EventObject[];
  /** What ended the chart with an error, if something did. */
  readonly error: unknown;
  /** The chart's own delayed events that are still to come, oldest first. */
  readonly timers: readonly ChartTimer[];
  /** The transitions of each step so far, by name and in order; empty without a coverage. */
  readonly steps: readonly (readonly string[])[];
  /**
   * Makes an event happen the way it would in earnest: a timer fires, a child ends or shows a
   * snapshot, and everything else is sent. Throws when the timer is not armed or no such child runs.
   */
  apply(event: EventObject): void;
  /** Sends a command. Passed over once the chart has ended, as whoever owns a chart must do. */
  send(event: EventFromLogic<Machine>): void;
  /** Stops the chart. Its timers are then gone and its children stopped. */
  stop(): void;
}

export interface ChartTimer {
  readonly type: string;
  readonly delayMs: number;
  readonly timer: PendingTimer;
}

export interface DriveOptions<Machine extends AnyStateMachine> {
  readonly input: InputFrom<Machine>;
  readonly clock?: VirtualClock;
  /** Names of children that run for real; every other one is a fake. */
  readonly real?: readonly string[];
  /** What the first snapshot of a fake child has, by the child's name. */
  readonly shows?: FirstSnapshots;
  /** Told of every transition, state and guard of the run. */
  readonly coverage?: Coverage;
}

/** Starts a chart under a virtual clock with fakes for its children. */
export function startDrive<Machine extends AnyStateMachine>(
  machine: Machine,
  options: DriveOptions<Machine>,
): Drive<Machine> {
  return new Driven(machine, options);
}

/** The names of the children a chart may have that are to be faked. */
export function fakeSources(machine: AnyStateMachine, real: readonly string[] = []): string[] {
  return Object.keys(machine.implementations.actors).filter((name) => !real.includes(name));
}

class Driven<Machine extends AnyStateMachine> implements Drive<Machine> {
  readonly actor: Actor<Machine>;
  readonly clock: VirtualClock;
  readonly ports: Ports;
  readonly emitted: EventObject[] = [];
  readonly steps: readonly (readonly string[])[];
  error: unknown;
  readonly #scheduled: ReadonlyMap<PendingTimer, TimerSource>;

  constructor(machine: Machine, options: DriveOptions<Machine>) {
    this.clock = options.clock ?? createVirtualClock();
    this.ports = createPorts(fakeSources(machine, options.real), options.shows);
    const provided = machine.provide({ actors: this.ports.actors } as never);
    const unwatched = { machine: provided, inspect: undefined, steps: [] };
    const watched = options.coverage?.watch(provided) ?? unwatched;
    this.steps = watched.steps;
    // `provide` gives a machine of the same type; its declared type has lost the name.
    this.actor = createActor(
      watched.machine as Machine,
      {
        clock: this.clock,
        input: options.input,
        ...(watched.inspect && { inspect: watched.inspect }),
      } as never,
    );
    this.#scheduled = followTimers(this.actor.system, this.clock);
    this.actor.on('*' as never, (fact: EventObject) => this.emitted.push(fact));
    this.actor.subscribe({ error: (error) => (this.error = error) });
    this.actor.start();
  }

  get timers(): readonly ChartTimer[] {
    return this.clock.pending.flatMap((timer) => {
      const scheduled = this.#scheduled.get(timer);
      if (scheduled?.source !== (this.actor as AnyActorRef)) return [];
      return [{ type: scheduled.type, delayMs: timer.delayMs, timer }];
    });
  }

  apply(event: EventObject): void {
    const [kind, id] = splitSystemEvent(event.type);
    if (kind === 'after') this.#fire(event.type);
    else if (kind === 'done') this.#child(id).resolve((event as { output?: unknown }).output);
    else if (kind === 'error') this.#child(id).reject((event as { error?: unknown }).error);
    else if (kind === 'snapshot') {
      this.#child(id).show((event as { snapshot?: object }).snapshot as Record<string, unknown>);
    } else this.actor.send(event as never);
  }

  send(event: EventFromLogic<Machine>): void {
    // A machine's snapshot has a status, which the type of any machine does not show.
    const { status } = this.actor.getSnapshot() as AnyMachineSnapshot;
    if (status === 'active') this.actor.send(event);
  }

  stop(): void {
    this.actor.stop();
  }

  #fire(type: string): void {
    const armed = this.timers.find((timer) => timer.type === type);
    if (armed === undefined) throw new Error(`The chart has no timer for "${type}".`);
    this.clock.fire(armed.timer);
  }

  #child(id: string) {
    const call = this.ports.live(id);
    if (call === undefined) throw new Error(`The chart has no running child "${id}".`);
    return call;
  }
}

/** What kind of event of XState's own a type names, and the child it is about. */
export function splitSystemEvent(
  type: string,
): ['after' | 'done' | 'error' | 'snapshot' | 'sent', string] {
  if (type.startsWith('xstate.after.')) return ['after', ''];
  const ended = /^xstate\.(done|error)\.actor\.(.+)$/s.exec(type);
  if (ended) return [ended[1] as 'done' | 'error', ended[2] as string];
  const shown = /^xstate\.snapshot\.(.+)$/s.exec(type);
  return shown ? ['snapshot', shown[1] as string] : ['sent', ''];
}
