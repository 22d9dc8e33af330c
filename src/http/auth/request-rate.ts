import type { Clock } from '../../clock.ts';

const SECOND_MS = 1_000;

/** The present second and the sixty before it: two requests of one minute are always both in it. */
const SECONDS = 61;

/**
 * Counts the requests of one tenant.
 *
 * R1. In no minute, wherever it begins, are more than `perMinuteMax` requests let through. To know
 *     that from one number a second, a request counts for up to a second longer than a minute.
 * R2. A request that is refused does not count.
 * R3. A clock that is set back does not keep a tenant out: that time counts as standing still.
 */
export class RequestRate {
  readonly #max: number;
  readonly #clock: Pick<Clock, 'now'>;
  /** Requests by second, modulo {@link SECONDS}. */
  readonly #counts = Array.from({ length: SECONDS }, () => 0);
  #total = 0;
  #seenMs: number;
  #elapsedMs = 0;
  #second = 0;

  /** `perMinuteMax` of 0 is no limit. */
  constructor(perMinuteMax: number, clock: Pick<Clock, 'now'>) {
    this.#max = perMinuteMax;
    this.#clock = clock;
    this.#seenMs = clock.now();
  }

  /** Lets one request through and gives 0; or gives the whole seconds, 1 or more, to wait. */
  admit(): number {
    if (this.#max === 0) return 0;
    this.#advance();
    if (this.#total >= this.#max) return this.#secondsToWait();
    this.#counts[this.#second % SECONDS] = this.#count(this.#second) + 1;
    this.#total += 1;
    return 0;
  }

  #advance(): void {
    const now = this.#clock.now();
    this.#elapsedMs += Math.max(0, now - this.#seenMs);
    this.#seenMs = now;
    const present = Math.floor(this.#elapsedMs / SECOND_MS);
    // After a long silence everything is forgotten, in one round.
    const steps = Math.min(present - this.#second, SECONDS);
    for (let step = 0; step < steps; step += 1) this.#forget(present - step);
    this.#second = present;
  }

  #forget(second: number): void {
    this.#total -= this.#count(second);
    this.#counts[second % SECONDS] = 0;
  }

  /** Until the oldest second in which a request was let through is forgotten. */
  #secondsToWait(): number {
    let oldest = this.#second - SECONDS + 1;
    while (oldest < this.#second && this.#count(oldest) === 0) oldest += 1;
    const forgottenAtMs = (oldest + SECONDS) * SECOND_MS;
    return Math.ceil((forgottenAtMs - this.#elapsedMs) / SECOND_MS);
  }

  #count(second: number): number {
    // The remainder of a negative number is negative; seconds before the first have no requests.
    return second < 0 ? 0 : (this.#counts[second % SECONDS] ?? 0);
  }
}
