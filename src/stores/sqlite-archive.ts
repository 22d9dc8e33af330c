import type { StatementSync } from 'node:sqlite';
import { type Group, sizeOf } from './groups.ts';
import type { SqliteFile } from './sqlite-file.ts';
import { REALM } from './sqlite-schema.ts';
import type { Realm } from './store.ts';

/** Rows are bounded, so that a page reads little more than it gives. */
const ROW_BYTES_MAX = 65_536;

/** Rows that one call deletes; about 8 MB, which takes some milliseconds. */
const TRIM_ROWS_MAX = 128;

/**
 * Entries at rest: many of one session in one row, found by session and `seq`.
 *
 * AR1. `sizes` changes with the rows in one transaction, so that a total is read and not counted.
 */
export class SqliteArchive {
  readonly #insert: StatementSync;
  readonly #from: StatementSync;
  readonly #last: StatementSync;
  readonly #floor: StatementSync;
  readonly #setFloor: StatementSync;
  readonly #through: StatementSync;
  readonly #delete: StatementSync;
  readonly #grow: StatementSync;
  readonly #bytes: StatementSync;
  readonly #total: StatementSync;
  readonly #realmTotal: StatementSync;

  constructor(file: SqliteFile) {
    this.#insert = file.prepare('INSERT INTO journal VALUES (?, ?, ?, ?, ?)');
    this.#from = file.prepare(
      `SELECT first_seq AS firstSeq, last_seq AS lastSeq, body FROM journal
       WHERE session_id = ?1 AND first_seq >= coalesce(
         (SELECT max(first_seq) FROM journal WHERE session_id = ?1 AND first_seq <= ?2), ?2)
       ORDER BY first_seq`,
    );
    this.#last = file.prepare(
      `SELECT last_seq AS lastSeq FROM journal WHERE session_id = ?
       ORDER BY first_seq DESC LIMIT 1`,
    );
    this.#floor = file.prepare('SELECT floor FROM floors WHERE session_id = ?');
    this.#setFloor = file.prepare(
      `INSERT INTO floors VALUES (?, ?)
       ON CONFLICT (session_id) DO UPDATE SET floor = max(floor, excluded.floor)`,
    );
    this.#through = file.prepare(
      `SELECT max(last_seq) AS lastSeq, sum(bytes) AS bytes FROM (
         SELECT last_seq, bytes FROM journal WHERE session_id = ? AND last_seq <= ?
         ORDER BY first_seq LIMIT ${TRIM_ROWS_MAX})`,
    );
    this.#delete = file.prepare('DELETE FROM journal WHERE session_id = ? AND last_seq <= ?');
    this.#grow = file.prepare(
      `INSERT INTO sizes SELECT ${REALM}, ?2 FROM (SELECT ?1 AS session_id) WHERE true
       ON CONFLICT (realm) DO UPDATE SET bytes = bytes + excluded.bytes`,
    );
    const sum = 'SELECT coalesce(sum(bytes), 0) AS bytes';
    this.#bytes = file.prepare(`${sum} FROM journal WHERE session_id = ?`);
    this.#total = file.prepare(`${sum} FROM sizes`);
    this.#realmTotal = file.prepare(`${sum} FROM sizes WHERE realm = ?`);
  }

  /** The newest `seq` that the archive has or had. */
  head(sessionId: string): number {
    const row = this.#last.get(sessionId) as { lastSeq: number } | undefined;
    return row?.lastSeq ?? this.floor(sessionId);
  }

  floor(sessionId: string): number {
    return (this.#floor.get(sessionId) as { floor: number } | undefined)?.floor ?? 0;
  }

  /** Groups from the one that holds `from` on, fetched as they are asked for. */
  groups(sessionId: string, from: number): Iterable<Group> {
    return this.#from.iterate(sessionId, from) as unknown as Iterable<Group>;
  }

  hasRows(sessionId: string): boolean {
    return this.#last.get(sessionId) !== undefined;
  }

  /** Characters of JSON of a session. */
  bytes(sessionId: string): number {
    return (this.#bytes.get(sessionId) as { bytes: number }).bytes;
  }

  /** The same for all sessions, or for those of a realm. */
  totalBytes(realm: Realm | undefined): number {
    const row = realm === undefined ? this.#total.get() : this.#realmTotal.get(realm);
    return (row as { bytes: number }).bytes;
  }

  /** Inside a transaction. Groups that are here already are passed over. */
  put(sessionId: string, groups: readonly Group[]): void {
    const head = this.head(sessionId);
    let bytes = 0;
    for (const group of merged(groups.filter(({ lastSeq }) => lastSeq > head))) {
      const size = sizeOf(group);
      this.#insert.run(sessionId, group.firstSeq, group.lastSeq, size, group.body);
      bytes += size;
    }
    if (bytes > 0) this.#grow.run(sessionId, bytes);
  }

  /** Inside a transaction. Deletes whole rows up to `through`, not all at once, and sets the floor. */
  trim(sessionId: string, through: number): number {
    const found = this.#through.get(sessionId, through) as { lastSeq: number; bytes: number };
    if (found.lastSeq === null) return this.floor(sessionId);
    this.#delete.run(sessionId, found.lastSeq);
    this.#grow.run(sessionId, -found.bytes);
    return this.raiseFloor(sessionId, found.lastSeq);
  }

  /** Inside a transaction: nothing of the session up to `floor` is here, or will be put. */
  raiseFloor(sessionId: string, floor: number): number {
    this.#setFloor.run(sessionId, floor);
    return floor;
  }
}

/** Neighbours joined up to the size of a row. */
function* merged(groups: readonly Group[]): Iterable<Group> {
  let firstSeq = 0;
  let lastSeq = 0;
  let bodies: string[] = [];
  let bytes = 0;
  for (const group of groups) {
    if (bodies.length > 0 && bytes + group.body.length > ROW_BYTES_MAX) {
      yield { firstSeq, lastSeq, body: bodies.join('\n') };
      bodies = [];
      bytes = 0;
    }
    if (bodies.length === 0) firstSeq = group.firstSeq;
    lastSeq = group.lastSeq;
    bodies.push(group.body);
    bytes += group.body.length;
  }
  if (bodies.length > 0) yield { firstSeq, lastSeq, body: bodies.join('\n') };
}
