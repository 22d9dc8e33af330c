import type { Clock, TimerHandle } from '../clock.ts';
import type { RunRecord, SupervisorHandle } from '../handle.ts';
import { TERMINAL_TYPES } from '../journal/events.ts';
import type { Follower, Gap, StoredEntry } from '../journal/reader.ts';
import type { HttpLog } from './config.ts';
import { EndWatch, hasEnded } from './end-watch.ts';

/** A store that fails is asked again after this, doubled each time up to the second number. */
const RETRY_MS_FIRST = 250;
const RETRY_MS_MAX = 5_000;

/** Entries looked at in one read for what is left of a run that is over. */
const LEFT_ENTRIES_MAX = 512;

export interface RunFeedOptions {
  readonly handle: SupervisorHandle;
  readonly clock: Clock;
  readonly log: HttpLog;
  readonly sessionId: string;
  readonly runId: string;
  /** The first `seq` wanted. */
  readonly from: number;
}

export interface RunFeedSink {
  /**
   * Entries of the run in order; `ended` says that no more will come. The batch is empty when the
   * terminal entry itself is no longer stored. False pauses until `resume`.
   */
  entries(batch: readonly StoredEntry[], ended: boolean): boolean;
  gap(gap: Gap): void;
  /** The run is over and its end is not stored: what is there was given, and nothing follows. */
  lost(): void;
}

/**
 * Follows one run up to its terminal entry, then lets go. A run that ends without one is lost as
 * soon as what the store has of it is given.
 *
 * A store that fails does not end it: the reader is still there, and what it claims must not be
 * lost to a failure of the delivery. It goes on after a while behind the last entry it gave.
 */
export class RunFeed {
  readonly #options: RunFeedOptions;
  readonly #sink: RunFeedSink;
  readonly #watch: EndWatch;
  #next: number;
  #follower: Follower | undefined;
  #closed = false;
  #lost = false;
  #looking = false;
  #retry: TimerHandle | undefined;
  #retryMs = RETRY_MS_FIRST;

  constructor(options: RunFeedOptions, sink: RunFeedSink) {
    this.#options = options;
    this.#sink = sink;
    this.#next = options.from;
    const { handle, clock, runId } = options;
    this.#watch = new EndWatch({
      handle,
      clock,
      runId,
      onLost: () => this.#lose(),
      onOver: () => void this.#endIfRead(),
    });
    this.#follow();
  }

  /** The sink has room again. */
  resume(): void {
    this.#follower?.resume();
  }

  close(): void {
    this.#closed = true;
    this.#watch.stop();
    this.#options.clock.clearTimeout(this.#retry);
    this.#follower?.close();
    this.#follower = undefined;
  }

  #follow(): void {
    const { handle, sessionId, runId } = this.#options;
    this.#follower = handle.journal.follow(
      { sessionId, runId, from: this.#next },
      {
        entries: (batch) => this.#pass(batch),
        gap: (gap) => this.#skip(gap),
        failed: (error) => this.#failed(error),
      },
    );
    // The terminal entry may have come before there was anything to close.
    if (this.#closed) this.close();
  }

  #pass(batch: readonly StoredEntry[]): boolean {
    const last = batch.at(-1);
    if (this.#closed || last === undefined) return true;
    this.#next = last.seq + 1;
    this.#retryMs = RETRY_MS_FIRST;
    const ended = TERMINAL_TYPES.has(last.type);
    if (ended) this.close();
    const roomy = this.#sink.entries(batch, ended);
    if (this.#lost) void this.#endIfRead();
    return roomy;
  }

  #skip(gap: Gap): void {
    if (this.#closed) return;
    this.#next = gap.to + 1;
    this.#sink.gap(gap);
    void this.#endIfOver(gap.to);
  }

  /** A gap may have swallowed the terminal entry, and nothing follows that. */
  async #endIfOver(seq: number): Promise<void> {
    const record = await this.#record();
    if (this.#closed || record === 'unreadable') return;
    if (record !== undefined && !(hasEnded(record) && record.last_seq <= seq)) return;
    this.close();
    this.#sink.entries([], true);
  }

  #lose(): void {
    this.#lost = true;
    void this.#endIfRead();
  }

  /** The run is over: a reader that is behind is given the rest first, and then told. */
  async #endIfRead(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    let next: number;
    let isLeft: boolean;
    do {
      next = this.#next;
      // A store that fails may give the rest later, unless the run has failed by it too.
      isLeft = await this.#isLeft(next).catch(() => !this.#lost);
    } while (next !== this.#next && !this.#closed);
    this.#looking = false;
    if (isLeft || this.#closed) return;
    this.close();
    this.#sink.lost();
  }

  /** Whether the store has entries of the run from `next` on; rejects when it cannot be read. */
  async #isLeft(next: number): Promise<boolean> {
    const { handle, sessionId, runId } = this.#options;
    for (let from = next; ; ) {
      const page = await handle.journal.read(sessionId, from, LEFT_ENTRIES_MAX);
      const last = page.at(-1);
      if (last === undefined) return false;
      if (page.some((entry) => entry.runId === runId)) return true;
      from = last.seq + 1;
    }
  }

  async #record(): Promise<RunRecord | undefined | 'unreadable'> {
    try {
      return await this.#options.handle.record(this.#options.runId);
    } catch {
      return 'unreadable';
    }
  }

  #failed(error: Error): void {
    if (this.#closed) return;
    const { clock, log, runId } = this.#options;
    log.warn(
      { run_id: runId, error: error.message },
      'The journal could not be read; trying again.',
    );
    this.#follower = undefined;
    this.#retry = clock.setTimeout(() => this.#follow(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }
}
