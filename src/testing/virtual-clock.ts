import type { Clock, TimerHandle } from '../clock.ts';

/** A timer that is armed and has neither fired nor been cleared. Times are milliseconds. */
export interface PendingTimer {
  readonly armedAt: number;
  readonly delayMs: number;
  readonly dueAt: number;
}

/**
 * Time that passes only when a test says so. It is a {@link Clock}, and XState takes it as its
 * `clock` option.
 */
export interface VirtualClock extends Clock {
  /** Armed timers, oldest first. A delay of `Infinity` is none: it never fires. */
  readonly pending: readonly PendingTimer[];
  /**
   * Lets `ms` pass. Timers fire in the order they are due, `now` stands at the due time of each,
   * and what they set off is drained before the next one, so timers armed meanwhile take part.
   * Throws what a timer throws.
   */
  advance(ms: number): Promise<void>;
  /** Drains microtasks and a few turns of the event loop without letting time pass. */
  settle(): Promise<void>;
  /**
   * Fires one pending timer at once, whatever else is due; `now` moves on to its due time. It
   * shows what happens when that timer wins, also where another would be due earlier.
   */
  fire(timer: PendingTimer): void;
}

/** One advance that fires more than this is taken for a timer that re-arms itself without delay. */
const FIRINGS_MAX = 20_000;

/** Enough for a promise that is settled from another promise's `setImmediate`. */
const TURNS_PER_SETTLE = 3;

/** Bound when the module loads, so that a runner's fake timers do not replace it. */
const nextTurn = setImmediate;

/** Makes a clock that stands at `startMs`. */
export function createVirtualClock(startMs = 0): VirtualClock {
  return new Virtual(startMs);
}

class VirtualTimer implements PendingTimer, TimerHandle {
  readonly armedAt: number;
  readonly delayMs: number;
  readonly dueAt: number;
  readonly fn: () => void;
  readonly #forget: (timer: VirtualTimer) => void;

  constructor(spec: { fn: () => void; armedAt: number; delayMs: number }, forget: Forget) {
    this.fn = spec.fn;
    this.armedAt = spec.armedAt;
    this.delayMs = spec.delayMs;
    this.dueAt = spec.armedAt + Math.max(0, spec.delayMs);
    this.#forget = forget;
  }

  cancel(): void {
    this.#forget(this);
  }
}

type Forget = (timer: VirtualTimer) => void;

class Virtual implements VirtualClock {
  #now: number;
  /** A set keeps the order of arming, which decides between timers due at the same time. */
  readonly #timers = new Set<VirtualTimer>();

  constructor(startMs: number) {
    this.#now = startMs;
  }

  get pending(): readonly PendingTimer[] {
    return [...this.#timers].filter((timer) => timer.dueAt !== Number.POSITIVE_INFINITY);
  }

  now(): number {
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number): TimerHandle {
    if (typeof ms !== 'number' || Number.isNaN(ms)) {
      throw new TypeError(`A delay is a number of milliseconds, not ${String(ms)}.`);
    }
    const spec = { fn, armedAt: this.#now, delayMs: ms };
    const timer = new VirtualTimer(spec, (ended) => this.#timers.delete(ended));
    this.#timers.add(timer);
    return timer;
  }

  clearTimeout(handle: TimerHandle | undefined): void {
    handle?.cancel();
  }

  async advance(ms: number): Promise<void> {
    if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`Time passes by a finite number of milliseconds, not by ${ms}.`);
    }
    const until = this.#now + ms;
    await this.settle();
    for (let fired = 0; ; fired++) {
      const next = this.#nextDue(until);
      if (next === undefined) break;
      if (fired === FIRINGS_MAX)
        throw new Error(`More than ${FIRINGS_MAX} timers fired in ${ms} ms.`);
      this.fire(next);
      await this.settle();
    }
    this.#now = until;
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS_PER_SETTLE; turn++) {
      await new Promise<void>((resolve) => nextTurn(resolve));
    }
  }

  fire(timer: PendingTimer): void {
    if (!(timer instanceof VirtualTimer) || !this.#timers.delete(timer)) {
      throw new Error('Only a pending timer of this clock can be fired.');
    }
    this.#now = Math.max(this.#now, timer.dueAt);
    timer.fn();
  }

  #nextDue(until: number): VirtualTimer | undefined {
    let next: VirtualTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt <= until && (next === undefined || timer.dueAt < next.dueAt)) next = timer;
    }
    return next;
  }
}
