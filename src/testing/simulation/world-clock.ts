import type { Clock, TimerHandle } from '../../clock.ts';
import { createVirtualClock, type PendingTimer, type VirtualClock } from '../virtual-clock.ts';

/** When a simulated world begins, in epoch milliseconds. */
const START_MS = 1_800_000_000_000;

/**
 * The time of a simulated world. What passes is the same for all in it; what a machine shows may be set.
 *
 * WC1. Setting the clock fires nothing and delays nothing: only what passes does.
 */
export class WorldClock {
  readonly #time: VirtualClock = createVirtualClock(START_MS);
  #setBy = 0;

  /** Epoch milliseconds, as the machine shows them. */
  now(): number {
    return this.#time.now() + this.#setBy;
  }

  /** What has really passed, from any start. */
  steady(): number {
    return this.#time.now();
  }

  set(byMs: number): void {
    this.#setBy += byMs;
  }

  /** How far it was set in all. */
  get setBy(): number {
    return this.#setBy;
  }

  advance(ms: number): Promise<void> {
    return this.#time.advance(ms);
  }

  settle(): Promise<void> {
    return this.#time.settle();
  }

  /** Of the world itself: a disk that takes its time, a tool, a model. */
  after(ms: number, fn: () => void): TimerHandle {
    return this.#time.setTimeout(fn, ms);
  }

  get pending(): readonly PendingTimer[] {
    return this.#time.pending;
  }

  /** A process's view of it, which ends with the process. */
  process(): ProcessClock {
    return new ProcessClock(this);
  }
}

/** The time of one process. When the process is gone nothing that it waited for happens. */
export class ProcessClock implements Clock {
  readonly #world: WorldClock;
  readonly #armed = new Set<TimerHandle>();
  #dead = false;

  constructor(world: WorldClock) {
    this.#world = world;
  }

  now(): number {
    return this.#world.now();
  }

  steady(): number {
    return this.#world.steady();
  }

  setTimeout(fn: () => void, ms: number): TimerHandle {
    if (this.#dead || ms === Number.POSITIVE_INFINITY) return NEVER;
    const timer = this.#world.after(ms, () => {
      this.#armed.delete(handle);
      fn();
    });
    const handle: TimerHandle = {
      cancel: () => {
        this.#armed.delete(handle);
        timer.cancel();
      },
    };
    this.#armed.add(handle);
    return handle;
  }

  clearTimeout(handle: TimerHandle | undefined): void {
    handle?.cancel();
  }

  /** Timers that are armed. */
  get armed(): number {
    return this.#armed.size;
  }

  kill(): void {
    this.#dead = true;
    for (const timer of this.#armed) timer.cancel();
  }
}

const NEVER: TimerHandle = { cancel: () => {} };
