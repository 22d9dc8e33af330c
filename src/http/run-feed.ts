import type { Clock } from '../clock.ts';
import type { RunRecord, SupervisorHandle } from '../handle.ts';
import { TERMINAL_TYPES } from '../journal/events.ts';
import type { Gap, StoredEntry } from '../journal/reader.ts';
import type { HttpLog } from './config.ts';
import { EndWatch, hasEnded } from './end-watch.ts';
import { SteadyFollower } from './steady-follower.ts';

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
 * soon as what the store has of it is given. A store that fails does not end it.
 */
export class RunFeed {
  readonly #options: RunFeedOptions;
  readonly #sink: RunFeedSink;
  readonly #watch: EndWatch;
  readonly #follower: SteadyFollower | undefined;
  #closed = false;
  #lost = false;
  #looking = false;
  /** The sink has no room, so that what is left stays in the store. */
  #full = false;

  constructor(options: RunFeedOptions, sink: RunFeedSink) {
    this.#options = options;
    this.#sink = sink;
    const { handle, runId, ...rest } = options;
    this.#watch = new EndWatch({
      handle,
      clock: rest.clock,
      runId,
      onLost: () => this.#lose(),
      onOver: () => void this.#endIfRead(),
    });
    this.#follower = new SteadyFollower(
      { ...rest, runId, journal: handle.journal, about: { run_id: runId } },
      { entries: (batch) => this.#pass(batch), gap: (gap) => this.#skip(gap) },
    );
    // The terminal entry may have come before there was anything to close.
    if (this.#closed) this.#follower.close();
  }

  /** The sink has room again. */
  resume(): void {
    this.#full = false;
    this.#follower?.resume();
    if (this.#lost) void this.#endIfRead();
  }

  close(): void {
    this.#closed = true;
    this.#watch.stop();
    this.#follower?.close();
  }

  get #next(): number {
    return this.#follower?.next ?? this.#options.from;
  }

  #pass(batch: readonly StoredEntry[]): boolean {
    if (this.#closed) return true;
    const ended = TERMINAL_TYPES.has(batch.at(-1)?.type ?? '');
    if (ended) this.close();
    const roomy = this.#sink.entries(batch, ended);
    this.#full = !roomy;
    if (this.#lost) void this.#endIfRead();
    return roomy;
  }

  #skip(gap: Gap): void {
    if (this.#closed) return;
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
    if (this.#closed) return;
    if (isLeft) {
      // Written by the process that took the session, and so told to nobody here.
      if (!this.#full) this.#follower?.again();
      return;
    }
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
}
