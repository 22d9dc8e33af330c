import type { Clock, TimerHandle } from '../clock.ts';
import type { SupervisorHandle } from '../handle.ts';

/** Short beside any grace, and long enough to cost nothing. */
const LOOK_EVERY_MS = 500;

/**
 * Tells streams without an end of their own that the server is shutting down: they would hold it up
 * for its whole grace. One timer for all of them, and none while there are none.
 */
export class GateWatch {
  readonly #handle: Pick<SupervisorHandle, 'accepting'>;
  readonly #clock: Clock;
  readonly #watchers = new Set<() => void>();
  #timer: TimerHandle | undefined;

  constructor({ handle, clock }: { handle: Pick<SupervisorHandle, 'accepting'>; clock: Clock }) {
    this.#handle = handle;
    this.#clock = clock;
  }

  /**
   * Calls `fn` again and again from the first shutdown signal on. Gives how to stop, which may be
   * called more than once.
   */
  watch(fn: () => void): () => void {
    const watcher = (): void => fn();
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#arm();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#clock.clearTimeout(this.#timer);
    };
  }

  #arm(): void {
    this.#timer = this.#clock.setTimeout(() => this.#look(), LOOK_EVERY_MS);
  }

  #look(): void {
    this.#arm();
    if (this.#handle.accepting) return;
    for (const watcher of [...this.#watchers]) watcher();
  }
}
