import type { Clock, TimerHandle } from '../clock.ts';
import type { RunRecord, SupervisorHandle } from '../handle.ts';

/** How often a run that tells nothing is asked about. */
const CHECK_EVERY_MS = 15_000;

const ENDED: ReadonlySet<string> = new Set(['finished', 'cancelled', 'failed', 'parked']);

/** Whether a record will not change any more. */
export const hasEnded = (record: RunRecord): boolean => ENDED.has(record.state);

export interface EndWatchOptions {
  readonly handle: Pick<SupervisorHandle, 'record' | 'onLost'>;
  readonly clock: Clock;
  readonly runId: string;
  /** The run has let go, and the store did not take its end. Called once, the moment it does. */
  readonly onLost: () => void;
  /** The record says that the run is over. Called at each check that finds it so. */
  readonly onOver: () => void;
}

/**
 * Notices a run that is over, for readers of a journal that may not have its end: a store that is
 * down takes no terminal entry, and they would wait for ever. A run of this process says so itself;
 * the record tells of any other.
 */
export class EndWatch {
  readonly #options: EndWatchOptions;
  readonly #unsubscribe: () => void;
  #timer: TimerHandle | undefined;
  #stopped = false;

  constructor(options: EndWatchOptions) {
    this.#options = options;
    this.#unsubscribe = options.handle.onLost(options.runId, options.onLost);
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe();
    this.#options.clock.clearTimeout(this.#timer);
  }

  #arm(): void {
    this.#timer = this.#options.clock.setTimeout(() => void this.#check(), CHECK_EVERY_MS);
  }

  async #check(): Promise<void> {
    const isOver = await this.#isOver();
    if (this.#stopped) return;
    this.#arm();
    if (isOver) this.#options.onOver();
  }

  /** A record that cannot be read now says nothing of its run. */
  async #isOver(): Promise<boolean> {
    try {
      const record = await this.#options.handle.record(this.#options.runId);
      return record === undefined || hasEnded(record);
    } catch {
      return false;
    }
  }
}
