import {
  type AnyActor,
  type AnyActorRef,
  type AnyEventObject,
  type AnyMachineSnapshot,
  createActor,
  type InspectionEvent,
} from 'xstate';
import { labelOfType } from '../labels.ts';
import { pathOf, type PortCall, type Ports } from '../ports.ts';
import { followTimers, type TimerSource } from '../timer-sources.ts';
import { createVirtualClock, type PendingTimer } from '../virtual-clock.ts';
import { type Assembly, isChart } from './assembly.ts';
import type { ChildAct, CompositionTimer, CompositionView, Happening } from './contract.ts';

/** Something that can be done to a running composition. */
export type Act =
  | { readonly send: AnyEventObject }
  | { readonly child: string; readonly does: ChildAct }
  | { readonly fire: { readonly path: string; readonly type: string } };

/** A composition that runs under its own clock. It is driven by hand and from one place only. */
export class RunningComposition {
  /** What ended the outermost chart with an error, if something did. */
  error: unknown;
  readonly #root: AnyActor;
  readonly #ports: Ports;
  readonly #clock = createVirtualClock();
  readonly #timers: ReadonlyMap<PendingTimer, TimerSource>;
  readonly #charts: AnyActorRef[] = [];
  readonly #history: Happening[] = [];
  #step = 0;

  constructor(assembly: Assembly, input: unknown) {
    this.#ports = assembly.nextPorts();
    const inspect = (event: InspectionEvent) => {
      if (event.type === '@xstate.actor') this.#meet(event.actorRef as AnyActorRef);
      assembly.inspect(event);
    };
    const options = { clock: this.#clock, input, inspect };
    this.#root = createActor(assembly.machine, options as never) as AnyActor;
    this.#timers = followTimers(this.#root.system, this.#clock);
    this.#root.subscribe({ error: (error: unknown) => (this.error = error) });
    this.#root.start();
  }

  get view(): CompositionView {
    return {
      parent: this.#root.getSnapshot() as AnyMachineSnapshot,
      charts: this.#charts.map((ref) => {
        const snapshot = ref.getSnapshot() as AnyMachineSnapshot;
        return { path: pathOf(ref), id: snapshot.machine.id, snapshot };
      }),
      fakes: this.#ports.calls,
      timers: this.#clock.pending.map((timer) => this.#timerOf(timer)),
      history: this.#history,
    };
  }

  /** Throws when the child does not run or the timer is not armed. */
  apply(act: Act): void {
    this.#step++;
    if ('send' in act) this.#send(act.send);
    else if ('fire' in act) this.#clock.fire(this.#armed(act.fire));
    else this.#play(act.child, act.does);
  }

  /** Fires the timer that is due first and says which; undefined when none is pending. */
  fireNext(): string | undefined {
    const [next] = [...this.#clock.pending].sort((a, b) => a.dueAt - b.dueAt);
    if (next === undefined) return undefined;
    const { path, type } = this.#timerOf(next);
    this.#step++;
    this.#clock.fire(next);
    return path === '' ? labelOfType(type) : `${labelOfType(type)} of ${path}`;
  }

  stop(): void {
    this.#root.stop();
  }

  #send(event: AnyEventObject): void {
    this.#history.push({ kind: 'sent', step: this.#step, event });
    this.#root.send(event);
  }

  #play(path: string, does: ChildAct): void {
    const call = this.#live(path);
    this.#history.push({ kind: 'acted', step: this.#step, path, does });
    if ('done' in does) call.resolve(does.done);
    else if ('error' in does) call.reject(does.error);
    else if ('show' in does) call.show(does.show);
    else call.tell(does.tell);
  }

  /** Heard when an actor is made and before it starts, so that no fact of its first entry is lost. */
  #meet(ref: AnyActorRef): void {
    const path = pathOf(ref);
    const src = typeof ref.src === 'string' ? ref.src : '';
    if (path !== '') this.#history.push({ kind: 'started', step: this.#step, path, src });
    if (!isChart((ref as AnyActor).logic)) return;
    this.#charts.push(ref);
    ref.on('*', (fact: AnyEventObject) =>
      this.#history.push({ kind: 'told', step: this.#step, path, fact }),
    );
  }

  #timerOf(timer: PendingTimer): CompositionTimer {
    const known = this.#timers.get(timer);
    const path = known === undefined ? '?' : pathOf(known.source);
    return { path, type: known?.type ?? '?', delayMs: timer.delayMs };
  }

  #armed({ path, type }: { path: string; type: string }): PendingTimer {
    const timer = this.#clock.pending.find((one) => {
      const known = this.#timerOf(one);
      return known.path === path && known.type === type;
    });
    if (timer === undefined) throw new Error(`No chart at "${path}" has a timer for "${type}".`);
    return timer;
  }

  #live(path: string): PortCall {
    const call = this.#ports.calls.find((one) => one.path === path && one.state === 'running');
    if (call === undefined) throw new Error(`No fake child runs at "${path}".`);
    return call;
  }
}
