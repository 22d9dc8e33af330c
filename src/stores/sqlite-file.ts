import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makeDirectory } from '../directories.ts';
import { migrate, SCHEMA_VERSION, versionOf } from './sqlite-schema.ts';
import { StoreError } from './store.ts';

/** What survives what: `process` a killed process, `power` a lost machine too, at an fsync a group. */
export type Durability = 'process' | 'power';

export interface SqliteOptions {
  /** The database file; its directory is made. */
  readonly path: string;
  readonly durability: Durability;
  /** How long a write waits for another process that is writing. The event loop waits with it. */
  readonly busyMs: number;
}

/** Pages that stay in memory; a move from the tail touches one for each of its sessions. */
const CACHE_KIB = 16_384;

/** One open database file: statements, transactions, and errors a person can act on. */
export class SqliteFile {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #identity: string | undefined;

  /** Throws {@link StoreError} when the file cannot be used as it is. */
  constructor({ path, durability, busyMs }: SqliteOptions) {
    this.path = resolve(path);
    try {
      makeDirectory(dirname(this.path));
      this.#db = new DatabaseSync(this.path, { timeout: busyMs });
    } catch (error) {
      throw openError(this.path, error);
    }
    try {
      prepareFile(this.#db, this.path, durability);
      this.#begin = this.#db.prepare('BEGIN IMMEDIATE');
      this.#commit = this.#db.prepare('COMMIT');
      this.#identity = identityOf(this.path);
    } catch (error) {
      this.#db.close();
      throw error instanceof StoreError ? error : openError(this.path, error);
    }
  }

  prepare(sql: string): StatementSync {
    return this.#db.prepare(sql);
  }

  /** Runs `work` in one write transaction, or answers with an error and no trace of it. */
  write<T>(work: () => T): T {
    return this.guard(() => {
      this.#begin.run();
      try {
        const result = work();
        this.#commit.run();
        return result;
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        throw error;
      }
    });
  }

  /** Maps what the engine throws. */
  guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw error instanceof StoreError ? error : this.#mapped(error);
    }
  }

  /**
   * Throws `StoreError` when the file is no longer the one that was opened. SQLite goes on with a
   * file that was deleted or replaced as if nothing had happened, and all of it is lost at the end.
   */
  checkInPlace(): void {
    if (identityOf(this.path) === this.#identity) return;
    const reason =
      'its file was deleted or replaced while it was in use, and what is written now is lost. ' +
      'Stop the server, put the file back if you have it, and start again.';
    throw new StoreError(`The database ${this.path}: ${reason}`, { reason });
  }

  /** Lets SQLite checkpoint by itself at a commit that leaves so many pages in the log; 0 never. */
  checkpointAfter(pages: number): void {
    this.#db.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #mapped(error: unknown): StoreError {
    if (!this.#db.isOpen) return new StoreError('The SQLite store is closed.', { cause: error });
    const remedy = remedyOf(error);
    const reason = isKnown(error) ? remedy : 'the database reports an error; the log has it.';
    return new StoreError(`The database ${this.path}: ${remedy}`, { cause: error, reason });
  }
}

function prepareFile(db: DatabaseSync, path: string, durability: Durability): void {
  const version = versionOf(db);
  if (version > SCHEMA_VERSION) {
    throw new StoreError(
      `The database ${path} was written by a newer version (schema ${version}; this one knows ` +
        `${SCHEMA_VERSION}). Use the newer version, or another data directory.`,
    );
  }
  db.exec('PRAGMA journal_mode = WAL');
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
  db.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`);
  if (version < SCHEMA_VERSION) migrate(db, path);
}

/** Which file stands at `path`; undefined when there is none. */
function identityOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

function openError(path: string, cause: unknown): StoreError {
  return new StoreError(`The database ${path} cannot be opened: ${remedyOf(cause)}`, { cause });
}

/** SQLite's primary result codes that a person can do something about. */
const REMEDIES: Readonly<Record<number, string>> = {
  5: 'another process keeps it locked. Stop that process, or give this one its own directory.',
  8: 'it cannot be written. Give the process the right to write the file and its directory.',
  10: 'the disk reports an input or output error. Check the disk.',
  11: 'it is damaged. Restore it from a copy, or name another data directory.',
  13: 'the disk is full. Make room on it.',
  14: 'the file cannot be opened. Check that its directory exists and may be read and written.',
  26: 'the file is not a SQLite database. Name another data directory, or move the file away.',
};

const FILE_REMEDIES: Readonly<Record<string, string>> = {
  EACCES: 'no right to make its directory. Give the process that right, or name another directory.',
  EEXIST: 'a file stands where its directory should be. Name another data directory.',
  ENOENT: 'its directory cannot be made there. Name another data directory.',
  ENOSPC: 'the disk is full. Make room on it.',
  ENOTDIR: 'a file stands where its directory should be. Name another data directory.',
  EPERM: 'no right to make its directory. Give the process that right, or name another directory.',
  EROFS: 'the file system is read-only. Name another data directory.',
};

function remedyOf(error: unknown): string {
  return knownRemedy(error) ?? (error instanceof Error ? error.message : String(error));
}

const isKnown = (error: unknown): boolean => knownRemedy(error) !== undefined;

function knownRemedy(error: unknown): string | undefined {
  const { errcode, code } = (error ?? {}) as { errcode?: number; code?: string };
  return errcode === undefined ? FILE_REMEDIES[code ?? ''] : REMEDIES[errcode & 0xff];
}
