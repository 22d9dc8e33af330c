import type { Clock, TimerHandle } from '../clock.ts';
import type { Follower, Gap, JournalReader, StoredEntry } from '../journal/reader.ts';
import type { HttpLog } from './config.ts';

/** A store that fails is asked again after this, doubled each time up to the second number. */
const RETRY_MS_FIRST = 250;
const RETRY_MS_MAX = 5_000;

export interface SteadyFollowerOptions {
  readonly journal: JournalReader;
  readonly clock: Clock;
  readonly log: HttpLog;
  readonly sessionId: string;
  /** Only this run's entries; without it all of the session's. */
  readonly runId?: string;
  /** The first `seq` wanted. */
  readonly from: number;
  /** Says in the log whose stream it is. */
  readonly about: object;
}

export interface SteadySink {
  /** False pauses until `resume`. Never called with an empty batch. */
  entries(batch: readonly StoredEntry[]): boolean;
  gap(gap: Gap): void;
}

/**
 * Follows a journal whose store may fail: it goes on after a while behind the last entry it gave,
 * because the reader is still there, and what it claims must not be lost to a failure of the
 * delivery. It ends when it is closed.
 */
export class SteadyFollower {
  readonly #options: SteadyFollowerOptions;
  readonly #sink: SteadySink;
  #next: number;
  #follower: Follower | undefined;
  #closed = false;
  #retry: TimerHandle | undefined;
  #retryMs = RETRY_MS_FIRST;

  /** The first entries may be given before it returns. */
  constructor(options: SteadyFollowerOptions, sink: SteadySink) {
    this.#options = options;
    this.#sink = sink;
    this.#next = options.from;
    this.#follow();
  }

  /** The `seq` behind all that was given. */
  get next(): number {
    return this.#next;
  }

  /** The sink has room again. */
  resume(): void {
    this.#follower?.resume();
  }

  /**
   * Looks into the store anew: another process may have written there, and nobody here hears of
   * that. Does nothing while it waits for a store that failed.
   */
  again(): void {
    if (this.#closed || this.#follower === undefined) return;
    this.#follower.close();
    this.#follow();
  }

  close(): void {
    this.#closed = true;
    this.#options.clock.clearTimeout(this.#retry);
    this.#follower?.close();
    this.#follower = undefined;
  }

  #follow(): void {
    const { journal, sessionId, runId } = this.#options;
    this.#follower = journal.follow(
      { sessionId, from: this.#next, ...(runId !== undefined && { runId }) },
      {
        entries: (batch) => this.#pass(batch),
        gap: (gap) => this.#skip(gap),
        failed: (error) => this.#failed(error),
      },
    );
    // The sink may have closed it before there was a follower to close.
    if (this.#closed) this.close();
  }

  #pass(batch: readonly StoredEntry[]): boolean {
    const last = batch.at(-1);
    if (this.#closed || last === undefined) return true;
    this.#next = last.seq + 1;
    this.#retryMs = RETRY_MS_FIRST;
    return this.#sink.entries(batch);
  }

  #skip(gap: Gap): void {
    if (this.#closed) return;
    this.#next = gap.to + 1;
    this.#sink.gap(gap);
  }

  #failed(error: Error): void {
    if (this.#closed) return;
    const { clock, log, about } = this.#options;
    log.warn({ ...about, error: error.message }, 'The journal could not be read; trying again.');
    this.#follower = undefined;
    this.#retry = clock.setTimeout(() => this.#follow(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }
}
