import { SupervisorError } from '../errors.ts';

/**
 * What the product keeps outside the process, in small contracts: the journal, the index of runs,
 * the leases, and a bus of wake-ups. An engine may answer at once or with a promise; callers treat
 * both alike. One contract suite runs against every engine.
 */

/** Engines in the process answer at once, remote ones later. */
export type Awaitable<T> = T | Promise<T>;

/**
 * A process's right to write a session. `generation` grows by at least one at every acquisition of
 * the key, so that whoever was held up learns that it is no longer the writer.
 */
export interface Lease {
  /** For a journal: the session's id. */
  readonly key: string;
  readonly owner: string;
  readonly generation: number;
}

/** The entry that settles a run; its `seq` follows the last of the part's other entries. */
export interface TerminalLine {
  readonly runId: string;
  readonly line: string;
  /** The run's record from then on, stored in the same transaction; without it the old one stays. */
  readonly record?: string;
}

/** A run's record while it lives. */
export interface RunLine {
  readonly runId: string;
  readonly record: string;
}

/** Consecutive entries of one session. A group of parts is one transaction. */
export interface AppendPart {
  /** Its key is the session; checked in the same transaction. */
  readonly lease: Lease;
  readonly firstSeq: number;
  /** How many lines `body` has; 0 with an empty body when there is only a terminal. */
  readonly count: number;
  /** The envelopes' JSON joined by line feeds, which JSON itself never contains. */
  readonly body: string;
  readonly terminal?: TerminalLine;
  /** Replaced in the same transaction whenever the lines are written; before a terminal's record. */
  readonly records?: readonly RunLine[];
}

/**
 * What became of one part. Parts of one group do not touch each other: one may be written while
 * another is refused.
 *
 * - `written`: every line, the terminal included.
 * - `lost`: the run had been settled before by the entry `settledSeq`; the terminal and its record
 *   were not written, the other lines were.
 * - `fenced`: the lease is no longer current; nothing was written.
 * - `conflict`: `firstSeq` does not follow the session's `head`; nothing was written.
 */
export type AppendOutcome =
  | { readonly status: 'written' }
  | { readonly status: 'lost'; readonly settledSeq: number }
  | { readonly status: 'fenced' }
  | { readonly status: 'conflict'; readonly head: number };

export interface PageLimits {
  readonly entriesMax: number;
  /** Characters of JSON; one entry is given however long it is. */
  readonly bytesMax: number;
}

/** Consecutive entries from `firstSeq` on; fewer than asked for only at the head or at a limit. */
export interface JournalPage {
  readonly firstSeq: number;
  readonly lines: readonly string[];
  /** Entries up to here are gone; 0 when none are. */
  readonly floor: number;
  /** False when a limit ended the page and the store has more. */
  readonly complete: boolean;
}

/** All but `append` are safe to call for a session that does not exist. */
export interface JournalStore {
  /** One transaction for all parts, one outcome a part. Rejects when nothing was written. */
  append(parts: readonly AppendPart[]): Awaitable<readonly AppendOutcome[]>;
  read(sessionId: string, from: number, limits: PageLimits): Awaitable<JournalPage>;
  /** Newest `seq` ever written, trimmed or not; 0 when there is none. */
  head(sessionId: string): Awaitable<number>;
  /**
   * Lets entries up to `through` go and answers the new floor. The floor may stay below `through`:
   * entries that were stored together go together.
   */
  trim(sessionId: string, through: number): Awaitable<number>;
}

/** A run as the index keeps it. `record` is opaque here. */
export interface StoredRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly record: string;
  /** The entry that settled it; undefined while it lives. */
  readonly settledSeq: number | undefined;
}

export interface RunQuery {
  readonly sessionId?: string;
  /** Only runs without a terminal entry: what a start after a crash has to settle. */
  readonly unsettled?: true;
  /** Only runs whose id is smaller, which is the cursor of a next page. */
  readonly before?: string;
  readonly limit: number;
}

export interface RunStore {
  /**
   * Replaces a run's record. False, and nothing written, when the lease is not current; without a
   * lease, when somebody holds one for the session.
   */
  putRecord(run: Omit<StoredRun, 'settledSeq'>, lease: Lease | undefined): Awaitable<boolean>;
  getRecord(runId: string): Awaitable<StoredRun | undefined>;
  /** Greatest run id first, which for UUID v7 is newest first. */
  listRecords(query: RunQuery): Awaitable<readonly StoredRun[]>;
}

export interface AcquireRequest {
  readonly key: string;
  /** Unique to the process and its start. */
  readonly owner: string;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly ttlMs: number;
}

export type AcquireOutcome =
  | { readonly acquired: true; readonly lease: Lease }
  | { readonly acquired: false; readonly owner: string; readonly expiresAt: number };

export interface LeaseStore {
  /**
   * Succeeds when the key is free, expired, already the owner's, or that of an owner which the engine
   * knows to be gone; each success is a generation.
   */
  acquire(request: AcquireRequest): Awaitable<AcquireOutcome>;
  /**
   * Moves the expiry of each lease to `expiresAt`, false where the token is stale. A lease that has
   * expired and that nobody took is renewed: fencing decides, not timing.
   */
  renew(leases: readonly Lease[], expiresAt: number): Awaitable<readonly boolean[]>;
  /** Frees each lease whose token is current, and tells which were. */
  release(leases: readonly Lease[]): Awaitable<readonly boolean[]>;
}

/** Hints that a session has grown. One may be lost or doubled; the store is the truth. */
export interface Bus {
  publish(sessionId: string, head: number): void;
  /** Answers the way to stop listening. */
  subscribe(sessionId: string, onGrown: (head: number) => void): () => void;
}

export interface Store extends JournalStore, RunStore, LeaseStore {
  /** `memory`, `sqlite`, … as `/health` names it. */
  readonly backend: string;
  readonly bus: Bus;
  /**
   * Shows that `owner` lives, from now until `close`, and answers how many others use the store that
   * are not of this process. An engine that cannot tell has none.
   */
  join?(owner: string, now: number): Awaitable<number>;
  /** Rejects when the store cannot be reached. */
  ping(): Awaitable<void>;
  /** After it every call fails. A second one does nothing. */
  close(): Awaitable<void>;
}

/** What went wrong in an engine, as a sentence that says what to do about it. */
export class StoreError extends SupervisorError {
  override readonly name = 'StoreError';
  /** The message for those who may not know where the store is: it names no path. */
  readonly reason: string | undefined;

  constructor(message: string, options: { cause?: unknown; reason?: string } = {}) {
    super('store_unavailable', message, options);
    this.reason = options.reason;
  }
}

export const WRITTEN: AppendOutcome = Object.freeze({ status: 'written' });
export const FENCED: AppendOutcome = Object.freeze({ status: 'fenced' });

/** The last `seq` of a part if its terminal is written too. */
export const lastSeqOf = (part: AppendPart): number =>
  part.firstSeq + part.count - (part.terminal === undefined ? 1 : 0);
