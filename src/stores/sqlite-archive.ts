import type { StatementSync } from 'node:sqlite';
import type { Group } from './groups.ts';
import type { SqliteFile } from './sqlite-file.ts';

/** Rows are bounded, so that a page reads little more than it gives. */
const ROW_BYTES_MAX = 65_536;

/** Entries at rest: many of one session in one row, found by session and `seq`. */
export class SqliteArchive {
  readonly #insert: StatementSync;
  readonly #from: StatementSync;
  readonly #last: StatementSync;
  readonly #floor: StatementSync;
  readonly #setFloor: StatementSync;
  readonly #through: StatementSync;
  readonly #delete: StatementSync;

  constructor(file: SqliteFile) {
    this.#insert = file.prepare('INSERT INTO journal VALUES (?, ?, ?, ?)');
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
      'SELECT max(last_seq) AS lastSeq FROM journal WHERE session_id = ? AND last_seq <= ?',
    );
    this.#delete = file.prepare('DELETE FROM journal WHERE session_id = ? AND last_seq <= ?');
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

  /** Inside a transaction. Groups that are here already are passed over. */
  put(sessionId: string, groups: readonly Group[]): void {
    const head = this.head(sessionId);
    for (const { firstSeq, lastSeq, body } of merged(groups.filter((g) => g.lastSeq > head))) {
      this.#insert.run(sessionId, firstSeq, lastSeq, body);
    }
  }

  /** Inside a transaction. Deletes whole rows up to `through` and answers the floor. */
  trim(sessionId: string, through: number): number {
    const { lastSeq } = this.#through.get(sessionId, through) as { lastSeq: number | null };
    if (lastSeq === null) return this.floor(sessionId);
    this.#setFloor.run(sessionId, lastSeq);
    this.#delete.run(sessionId, lastSeq);
    return lastSeq;
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
