/**
 * The one source of time. XState gets it as its clock, adapters get it for deadlines, tests
 * replace it by a virtual one.
 */
export interface Clock {
  /** Epoch milliseconds: what is stored and shown. It jumps when the machine's clock is set. */
  now(): number;
  /**
   * Milliseconds from any start that pass evenly, whatever becomes of `now`: what a time that is kept
   * in this process is measured by. Ask {@link steadyNow}; a clock without it never jumps.
   */
  steady?(): number;
  /** A delay of `Infinity` never fires; one above {@link TIMER_MS_MAX} is waited for in parts. */
  setTimeout(fn: () => void, ms: number): TimerHandle;
  clearTimeout(handle: TimerHandle | undefined): void;
}

/** Opaque: hand it back to the clock that made it. */
export type TimerHandle = { readonly cancel: () => void };

/** Node fires a longer delay after one millisecond, so longer ones are waited for in parts. */
export const TIMER_MS_MAX = 2_147_483_647;

/** For differences only: between two of them lies what has really passed. */
export const steadyNow = (clock: Pick<Clock, 'now' | 'steady'>): number =>
  clock.steady?.() ?? clock.now();

const NEVER: TimerHandle = { cancel: () => {} };

class SystemTimer implements TimerHandle {
  #timer: NodeJS.Timeout | undefined;

  constructor(fn: () => void, ms: number) {
    this.#arm(fn, ms);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }

  #arm(fn: () => void, ms: number): void {
    const part = Math.min(ms, TIMER_MS_MAX);
    this.#timer = setTimeout(() => {
      if (ms > part) this.#arm(fn, ms - part);
      else fn();
    }, part);
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  setTimeout: (fn, ms) => (ms === Number.POSITIVE_INFINITY ? NEVER : new SystemTimer(fn, ms)),
  clearTimeout: (handle) => handle?.cancel(),
};
