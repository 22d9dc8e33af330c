import type { SqliteArchive } from './sqlite-archive.ts';
import type { SqliteTail } from './sqlite-tail.ts';

/** When the tail is moved to the archive, and how much of it at a time. */
export interface MoveLimits {
  /** Characters in the tail that start a move; what memory holds and a start reads is near it. */
  readonly tailBytesMax: number;
  /** Sessions moved with one append, so that no append waits long. */
  readonly sessionsPerStep: number;
}

export const MOVE_LIMITS: MoveLimits = Object.freeze({
  tailBytesMax: 2_097_152,
  sessionsPerStep: 8,
});

interface Move {
  /** Every row up to here is read; all of it is moved when no session is left. */
  readonly upTo: number;
  readonly sessionIds: readonly string[];
  next: number;
}

/**
 * Moves the tail to the archive, a few sessions with each append. A crash in between leaves
 * entries in both, which counts as once.
 */
export class SqliteMover {
  readonly #tail: SqliteTail;
  readonly #archive: SqliteArchive;
  readonly #limits: MoveLimits;
  #move: Move | undefined;

  constructor(tail: SqliteTail, archive: SqliteArchive, limits: MoveLimits) {
    this.#tail = tail;
    this.#archive = archive;
    this.#limits = limits;
  }

  /** Inside a transaction. Answers what to do once that is committed, if anything was moved. */
  step(): (() => void) | undefined {
    const { tailBytesMax, sessionsPerStep } = this.#limits;
    if (this.#move === undefined && this.#tail.bytes < tailBytesMax) return undefined;
    const move = (this.#move ??= this.#begin());
    return this.#advance(move, Math.min(move.next + sessionsPerStep, move.sessionIds.length));
  }

  #begin(): Move {
    return { upTo: this.#tail.lastId, sessionIds: this.#tail.sessionIds(), next: 0 };
  }

  #advance(move: Move, end: number): () => void {
    const sessionIds = move.sessionIds.slice(move.next, end);
    const done = end === move.sessionIds.length;
    for (const id of sessionIds) this.#archive.put(id, this.#tail.groups(id));
    if (done) this.#tail.drop(move.upTo);
    return () => {
      for (const id of sessionIds) this.#tail.forget(id);
      move.next = end;
      if (!done) return;
      this.#tail.dropped(move.upTo);
      this.#move = undefined;
    };
  }
}
