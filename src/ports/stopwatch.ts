import type { DeadlineWhich } from '../../machines/vocabulary.ts';
import { type Clock, steadyNow, type TimerHandle } from '../clock.ts';

export interface StopwatchOptions {
  readonly which: DeadlineWhich;
  readonly ms: number;
  readonly clock: Clock;
  /** Activity since then, by {@link steadyNow}, starts the time anew; only the silence deadline has it. */
  readonly lastActivityAt?: () => number;
  readonly onReached: (afterMs: number) => void;
}

/**
 * A deadline that can be suspended and shown as a countdown.
 *
 * Activity does not touch the timer: when it fires, the rest of the window is waited for. A stream
 * of a thousand chunks a second costs the deadline nothing. It goes by time that has really passed: a
 * machine's clock that is set neither brings it forward nor puts it off.
 */
export class Stopwatch {
  readonly which: DeadlineWhich;
  readonly #options: StopwatchOptions;
  readonly #startedAt: number;
  #remainingMs: number;
  #armedAt: number;
  #timer: TimerHandle | undefined;
  #suspended = false;

  constructor(options: StopwatchOptions) {
    this.which = options.which;
    this.#options = options;
    this.#remainingMs = options.ms;
    this.#startedAt = steadyNow(options.clock);
    this.#armedAt = this.#startedAt;
    this.#arm();
  }

  get suspended(): boolean {
    return this.#suspended;
  }

  get remainingMs(): number {
    if (this.#suspended) return this.#remainingMs;
    const { clock, lastActivityAt, ms } = this.#options;
    const armedFor = this.#armedAt + this.#remainingMs;
    const endsAt = lastActivityAt ? Math.max(armedFor, lastActivityAt() + ms) : armedFor;
    return Math.max(0, endsAt - steadyNow(clock));
  }

  /** When it will fire, in epoch milliseconds; null while it is suspended. */
  get at(): number | null {
    return this.#suspended ? null : this.#options.clock.now() + this.remainingMs;
  }

  pause(): void {
    if (this.#suspended) return;
    this.#remainingMs = this.remainingMs;
    this.#suspended = true;
    this.stop();
  }

  resume(): void {
    if (!this.#suspended) return;
    this.#suspended = false;
    this.#arm();
  }

  stop(): void {
    this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    this.#armedAt = steadyNow(this.#options.clock);
    this.#timer = this.#options.clock.setTimeout(() => this.#fire(), this.#remainingMs);
  }

  #fire(): void {
    const { lastActivityAt, clock, ms, onReached } = this.#options;
    const restMs = lastActivityAt === undefined ? 0 : lastActivityAt() + ms - steadyNow(clock);
    if (restMs > 0) {
      this.#remainingMs = restMs;
      this.#arm();
      return;
    }
    this.#remainingMs = 0;
    onReached(steadyNow(clock) - this.#startedAt);
  }
}
