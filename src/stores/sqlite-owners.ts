import { createHash } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Long after the leases of an owner that was gone before have expired. */
const SWEEP_AFTER_MS = 60_000;

/**
 * Tells whether the owner of a lease is gone, so that nobody waits for a dead one's to expire.
 *
 * An owner keeps an empty file beside the database locked. The system gives the lock up when the
 * process ends, in whatever way, and not before: it holds across containers that share the
 * directory, and needs no process ids. The lock is SQLite's, so it is worth what the database's are.
 *
 * OW1. An owner's file is locked before its first lease is taken, and for as long as it may write.
 * OW2. Without its file nothing is known of an owner: its leases expire by time.
 */
export class SqliteOwners {
  readonly #prefix: string;
  readonly #held = new Map<string, DatabaseSync | undefined>();
  #sweepAt: number | undefined;

  constructor(databasePath: string) {
    this.#prefix = `${databasePath}-owner-`;
  }

  /** Shows that `owner` is alive, from its first call until {@link close}. `now` is in milliseconds. */
  hold(owner: string, now: number): void {
    if (!this.#held.has(owner)) this.#held.set(owner, lock(this.#fileOf(owner)));
    this.#sweepAt ??= now + SWEEP_AFTER_MS;
    if (now >= this.#sweepAt) this.#sweep();
  }

  isGone(owner: string): boolean {
    return isUnlocked(this.#fileOf(owner));
  }

  /** How many owners live that are not held here. */
  others(): number {
    const own = new Set([...this.#held.keys()].map((owner) => this.#fileOf(owner)));
    return this.#files().filter((file) => !own.has(file) && isLocked(file)).length;
  }

  close(): void {
    for (const [owner, db] of this.#held) {
      if (db?.isOpen !== true) continue;
      rmSync(this.#fileOf(owner), { force: true });
      db.close();
    }
    this.#held.clear();
  }

  /** Once: the files of those that were killed. One that cannot be removed does no harm. */
  #sweep(): void {
    this.#sweepAt = Number.POSITIVE_INFINITY;
    for (const file of this.#files()) {
      if (!isUnlocked(file)) continue;
      try {
        rmSync(file, { force: true });
      } catch {
        return;
      }
    }
  }

  /** Nothing where the directory cannot be read: then nothing is known of others. */
  #files(): readonly string[] {
    const directory = dirname(this.#prefix);
    const prefix = basename(this.#prefix);
    try {
      return readdirSync(directory)
        .filter((file) => file.startsWith(prefix))
        .map((file) => join(directory, file));
    } catch {
      return [];
    }
  }

  /** An owner may be named by any text. */
  #fileOf(owner: string): string {
    return this.#prefix + createHash('sha256').update(owner).digest('hex').slice(0, 32);
  }
}

/** Undefined when there can be no file; then the owner's leases end by time alone. */
function lock(file: string): DatabaseSync | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    // Nothing is ever written, so nothing has to be rolled back from a file.
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch {
    db?.close();
    return undefined;
  }
}

/** One that goes at this moment is not locked. */
const isLocked = (file: string): boolean => !isUnlocked(file) && existsSync(file);

function isUnlocked(file: string): boolean {
  if (!existsSync(file)) return false;
  try {
    const db = new DatabaseSync(file, { timeout: 0, readOnly: true });
    try {
      // To read is enough: those who look do not shut each other out.
      db.prepare('SELECT count(*) FROM sqlite_schema').get();
      return true;
    } finally {
      db.close();
    }
  } catch {
    return false;
  }
}
