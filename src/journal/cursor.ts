import { StoreUnavailableError } from '../errors.ts';
import type { JournalStore } from '../stores/store.ts';
import { storedEntry } from './envelope.ts';
import type { JournalLimits } from './limits.ts';
import type { JournalLog } from './log.ts';
import type { Follower, FollowOptions, JournalSink, StoredEntry } from './reader.ts';

export interface CursorDeps {
  readonly store: JournalStore;
  readonly limits: JournalLimits;
  readonly log: JournalLog;
  /** Runs the function in a later turn, so that a long replay leaves room for others. */
  readonly later: (fn: () => void) => void;
}

/**
 * One reader's place in a session.
 *
 * F1. Every `seq` from the first wanted on is given once, in order, or lies in a gap that was told.
 * F2. Nothing is kept for a reader that is full or still replaying: what it misses is in the store,
 *     because only entries that the store has are pushed.
 * F3. A reader is given at most a page at a time, however much was stored together.
 * F4. It goes live only when the store has given all it has and nothing was heard of meanwhile.
 */
export class Cursor implements Follower {
  readonly #deps: CursorDeps;
  readonly #sessionId: string;
  readonly #runId: string | undefined;
  readonly #sink: JournalSink;
  readonly #onClose: () => void;
  #state: 'live' | 'replaying' | 'full' | 'closed' = 'replaying';
  /** The first `seq` not yet given. */
  #next: number;
  /** The newest `seq` heard of. */
  #newest = 0;
  #reading = false;
  /** Whether it became full with nothing left in the store but what `#newest` tells. */
  #caughtUp = false;
  /** Whether the reader made room while it was being given something. */
  #madeRoom = false;

  constructor(deps: CursorDeps, options: FollowOptions, sink: JournalSink, onClose: () => void) {
    this.#deps = deps;
    this.#sessionId = options.sessionId;
    this.#runId = options.runId;
    this.#next = Math.max(1, options.from);
    this.#sink = sink;
    this.#onClose = onClose;
  }

  /** `durable` spares the replay when the store is known to have nothing from here on. */
  start(durable: number | undefined): void {
    this.#newest = durable ?? 0;
    if (durable !== undefined && durable < this.#next) this.#state = 'live';
    else this.#replay();
  }

  /** Entries that were stored just now; dense, in order, never empty. */
  push(entries: readonly StoredEntry[]): void {
    const first = entries[0]?.seq ?? 0;
    const last = first + entries.length - 1;
    this.#newest = Math.max(this.#newest, last);
    if (this.#state !== 'live') return;
    if (first > this.#next) this.#replay();
    else this.#give(first === this.#next ? entries : entries.slice(this.#next - first));
  }

  /** The store has entries up to `head`, perhaps of another writer. */
  grown(head: number): void {
    this.#newest = Math.max(this.#newest, head);
    if (this.#state === 'live' && head >= this.#next) this.#replay();
  }

  resume(): void {
    this.#madeRoom = true;
    if (this.#state !== 'full') return;
    if (this.#caughtUp && this.#newest < this.#next) this.#state = 'live';
    else this.#replay();
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#onClose();
  }

  /** What a reader that becomes full has not been given yet, it reads from the store later. */
  #give(entries: readonly StoredEntry[]): void {
    const { pageBytesMax } = this.#deps.limits;
    const state = this.#state;
    for (let from = 0; from < entries.length && this.#state === state; ) {
      const to = pageEnd(entries, from, pageBytesMax);
      this.#givePage(from === 0 && to === entries.length ? entries : entries.slice(from, to));
      from = to;
    }
  }

  #givePage(entries: readonly StoredEntry[]): void {
    this.#next += entries.length;
    const wanted = this.#wanted(entries);
    if (wanted.length === 0) return;
    this.#madeRoom = false;
    const roomy = this.#tell(() => this.#sink.entries(wanted));
    if (roomy !== false || this.#madeRoom || this.#state === 'closed') return;
    this.#caughtUp = this.#state === 'live';
    this.#state = 'full';
  }

  /** Mostly all of them: a session seldom has several live runs. */
  #wanted(entries: readonly StoredEntry[]): readonly StoredEntry[] {
    const runId = this.#runId;
    const isWanted = (entry: StoredEntry) => runId === undefined || entry.runId === runId;
    return entries.every(isWanted) ? entries : entries.filter(isWanted);
  }

  /** Starts replaying unless that is under way. */
  #replay(): void {
    this.#state = 'replaying';
    if (this.#reading) return;
    this.#reading = true;
    queueMicrotask(() => void this.#read());
  }

  async #read(): Promise<void> {
    try {
      while (this.#state === 'replaying' && (await this.#readPage())) {
        await new Promise<void>((resolve) => this.#deps.later(resolve));
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#reading = false;
    }
    // The reader may have made room between the last page and here.
    if (this.#state === 'replaying') this.#replay();
  }

  /** Gives one page. Answers whether there is reason to read on. */
  async #readPage(): Promise<boolean> {
    const { pageEntriesMax: entriesMax, pageBytesMax: bytesMax } = this.#deps.limits;
    const heard = this.#newest;
    const read = this.#deps.store.read(this.#sessionId, this.#next, { entriesMax, bytesMax });
    const page = read instanceof Promise ? await read : read;
    if (this.#state !== 'replaying') return false;
    if (page.floor >= this.#next) this.#skip(page.floor);
    if (page.lines.length > 0 && page.firstSeq > this.#next) this.#skip(page.firstSeq - 1);
    const entries = page.lines.map((line, i) =>
      storedEntry(this.#sessionId, page.firstSeq + i, line),
    );
    this.#give(entries.slice(Math.max(0, this.#next - page.firstSeq)));
    if (this.#state !== 'replaying') return false;
    if (!page.complete || this.#newest > Math.max(heard, this.#next - 1)) return true;
    this.#state = 'live';
    return false;
  }

  #skip(to: number): void {
    const from = this.#next;
    this.#next = to + 1;
    this.#tell(() => this.#sink.gap({ from, to }));
  }

  #fail(cause: unknown): void {
    if (this.#state === 'closed') return;
    this.close();
    const error = cause instanceof StoreUnavailableError ? cause : new StoreUnavailableError(cause);
    this.#tell(() => this.#sink.failed(error));
  }

  /** A reader that throws is closed and harms nobody else. */
  #tell<T>(call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      this.close();
      this.#deps.log.error({ err: error }, 'A journal reader threw and was closed.');
      return undefined;
    }
  }
}

/** Where the page that begins at `from` ends; it has one entry at least. */
function pageEnd(entries: readonly StoredEntry[], from: number, bytesMax: number): number {
  let bytes = 0;
  for (let at = from; at < entries.length; at += 1) {
    bytes += entries[at]?.json.length ?? 0;
    if (bytes > bytesMax && at > from) return at;
  }
  return entries.length;
}
