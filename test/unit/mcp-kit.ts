import type { Clock, TimerHandle } from '../../src/clock.ts';

/** Time that stands still until it is advanced. */
export class VirtualClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Map<object, { at: number; fn: () => void }>();

  get timers(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number): TimerHandle {
    const handle = { cancel: () => void this.#timers.delete(handle) };
    this.#timers.set(handle, { at: this.#now + ms, fn });
    return handle;
  }

  clearTimeout(handle: TimerHandle | undefined): void {
    handle?.cancel();
  }

  /** Fires what is due, in order of time, with a turn of the event loop after each. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await turn();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      const [handle, timer] = next;
      this.#timers.delete(handle);
      this.#now = timer.at;
      timer.fn();
      await turn();
    }
    this.#now = until;
  }

  #next(until: number) {
    return [...this.#timers]
      .filter(([, { at }]) => at <= until)
      .sort(([, a], [, b]) => a.at - b.at)[0];
  }
}

/** Lets everything that is ready run. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
