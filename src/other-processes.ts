import type { Clock, TimerHandle } from './clock.ts';
import type { Log } from './log.ts';
import type { Store } from './stores/store.ts';

/** How often others are looked for. A run of one that died waits for it at most so long, and its lease. */
export const LOOK_EVERY_MS = 30_000;

export interface OthersDeps {
  readonly store: Pick<Store, 'join'>;
  /** Names this process in the store. */
  readonly ownerId: string;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Others use the store, or did when it was last looked. */
  readonly onChange: () => void;
}

/**
 * Shows the store that this process lives and looks who else does. Each works, but what lives in one is
 * not reached through the other; what one leaves when it dies is another's to look after. An engine
 * that cannot tell has no others.
 */
export function watchOthers(deps: OthersDeps): { stop(): void } {
  const watch = new OthersWatch(deps);
  void watch.look();
  return watch;
}

class OthersWatch {
  readonly #deps: OthersDeps;
  #others = 0;
  #timer: TimerHandle | undefined;
  #stopped = false;

  constructor(deps: OthersDeps) {
    this.#deps = deps;
  }

  async look(): Promise<void> {
    const { store, ownerId, clock, log, onChange } = this.#deps;
    if (store.join === undefined) return;
    try {
      const before = this.#others;
      this.#others = await store.join(ownerId, clock.now());
      if (before === 0 && this.#others > 0) log.warn({ others: this.#others }, WARNING);
      if (before + this.#others > 0 && !this.#stopped) onChange();
    } catch (error) {
      log.warn({ err: error }, 'Whether another process uses the store is not known');
    }
    if (!this.#stopped) this.#timer = clock.setTimeout(() => void this.look(), LOOK_EVERY_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#deps.clock.clearTimeout(this.#timer);
  }
}

const WARNING =
  'Another live process uses the same data directory. Runs and approvals of one are not reached ' +
  'through the other; stop it, or give each a directory of its own';
