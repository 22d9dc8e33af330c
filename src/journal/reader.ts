import type { JournalEvent } from './events.ts';

/** An entry as it was stored: `json` is the whole envelope, byte for byte. */
export interface StoredEntry {
  readonly sessionId: string;
  readonly runId: string | undefined;
  readonly seq: number;
  readonly at: number;
  readonly kind: 'agent' | 'lifecycle';
  readonly type: string;
  /** Parsed when first asked for; live entries have it already. */
  readonly event: JournalEvent;
  readonly json: string;
}

/** Entries the store no longer has: `from` to `to`, both included. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** Where a follower puts what it reads. Both calls are synchronous and must not throw. */
export interface JournalSink {
  /** False says the reader is full: nothing more comes until {@link Follower.resume}. */
  entries(batch: readonly StoredEntry[]): boolean;
  gap(gap: Gap): void;
  /** The store failed while replaying; the follower is closed. */
  failed(error: Error): void;
}

export interface Follower {
  /** There is room again: catch up from the store, then go on live. */
  resume(): void;
  close(): void;
}

export interface FollowOptions {
  readonly sessionId: string;
  /** Only this run's entries; `seq` stays the session's. */
  readonly runId?: string;
  /** The first `seq` wanted. */
  readonly from: number;
}

export interface JournalReader {
  /**
   * Joins live first, then replays from the store, and drops what it already has by `seq`: no gap,
   * no duplicate, at any position. A reader that is full falls back to the store and never slows
   * the run or another reader.
   */
  follow(options: FollowOptions, sink: JournalSink): Follower;
  /** Newest `seq` of a session; 0 when there is none. */
  head(sessionId: string): Promise<number>;
  /** Stored entries from `from` on, at most `limit`. */
  read(sessionId: string, from: number, limit: number): Promise<readonly StoredEntry[]>;
}
