import type { Clock, TimerHandle } from '../../clock.ts';
import type { SupervisorHandle } from '../../handle.ts';
import { hasEnded } from '../run-feed.ts';

/** How often a run that tells nothing is asked about. */
const CHECK_EVERY_MS = 15_000;

export interface EndWatchOptions {
  readonly handle: Pick<SupervisorHandle, 'record'>;
  readonly clock: Clock;
  readonly runId: string;
  /** The run is over and its last entry will not come. Called once. */
  readonly onLost: () => void;
}

/**
 * Notices a run whose end is not in the journal: a store that is down takes no terminal entry, and
 * a reader of the journal alone would wait for ever. The record must say so at two checks with no
 * entry between them, so that an end on its way to the reader is not taken for a lost one.
 */
export class EndWatch {
  readonly #options: EndWatchOptions;
  #timer: TimerHandle | undefined;
  #suspected = false;
  #stopped = true;

  constructor(options: EndWatchOptions) {
    this.#options = options;
    this.start();
  }

  /** An entry came. */
  touch(): void {
    this.#suspected = false;
  }

  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#suspected = false;
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#options.clock.clearTimeout(this.#timer);
  }

  #arm(): void {
    this.#timer = this.#options.clock.setTimeout(() => void this.#check(), CHECK_EVERY_MS);
  }

  async #check(): Promise<void> {
    const suspectedBefore = this.#suspected;
    this.#suspected = true;
    const live = await this.#isLive();
    if (this.#stopped) return;
    // An entry that came meanwhile has taken the suspicion back.
    if (live) this.#suspected = false;
    if (this.#suspected && suspectedBefore) {
      this.stop();
      this.#options.onLost();
    } else {
      this.#arm();
    }
  }

  /** A record that cannot be read is one of a run that has ended: a live run needs no store. */
  async #isLive(): Promise<boolean> {
    try {
      const record = await this.#options.handle.record(this.#options.runId);
      return record !== undefined && !hasEnded(record);
    } catch {
      return false;
    }
  }
}
