import type { StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import { FORGETTABLE, RESUMABLE } from './sqlite-schema.ts';
import { amongRealm, inRealm, SqliteSelect, when } from './sqlite-select.ts';
import type { AppendOutcome, RunInStore, RunQuery, StoredRun, TerminalLine } from './store.ts';

interface RunRow {
  readonly runId: string;
  readonly sessionId: string;
  readonly record: string;
  readonly settledSeq: number | null;
  readonly parked: number;
  readonly automatic: number;
  readonly continuedBy: string | null;
}

/** What became of a run that was to be settled. */
export type Settling = 'first' | 'settled' | { readonly settledSeq: number };

const SELECT = `SELECT run_id AS runId, session_id AS sessionId, record,
  settled_seq AS settledSeq, parked, automatic, continued_by AS continuedBy FROM runs`;

/** The index of runs; `settled_seq` and `continued_by` are set once and never again. */
export class SqliteRuns {
  readonly #insert: StatementSync;
  readonly #replace: StatementSync;
  readonly #get: StatementSync;
  readonly #settle: StatementSync;
  readonly #continue: StatementSync;
  readonly #discard: StatementSync;
  readonly #forget: StatementSync;
  readonly #select: SqliteSelect;

  constructor(file: SqliteFile) {
    this.#insert = file.prepare('INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, NULL)');
    this.#replace = file.prepare('UPDATE runs SET record = ?2 WHERE run_id = ?1');
    this.#get = file.prepare(`${SELECT} WHERE run_id = ?`);
    this.#settle = file.prepare(
      `UPDATE runs SET settled_seq = ?2, record = coalesce(?3, record), parked = ?4, automatic = ?5
       WHERE run_id = ?1 AND settled_seq IS NULL`,
    );
    this.#continue = file.prepare(
      `UPDATE runs SET continued_by = ?2 WHERE run_id = ?1 AND ${RESUMABLE}`,
    );
    this.#discard = file.prepare(
      `UPDATE runs SET parked = 0, automatic = 0 WHERE run_id = ? AND ${RESUMABLE}`,
    );
    this.#forget = file.prepare(
      `DELETE FROM runs WHERE run_id IN (
         SELECT run_id FROM runs WHERE ${FORGETTABLE} AND run_id < ? ORDER BY run_id LIMIT ?)
       RETURNING run_id AS runId, session_id AS sessionId`,
    );
    this.#select = new SqliteSelect(file, SELECT);
  }

  /** Inside a transaction. True when the run is new here. */
  put({ runId, sessionId, record }: RunInStore): boolean {
    if (this.#replace.run(runId, record).changes === 1) return false;
    this.#insert.run(runId, sessionId, null, record, 0, 0);
    return true;
  }

  get(runId: string): StoredRun | undefined {
    const row = this.#get.get(runId) as RunRow | undefined;
    return row && toRun(row);
  }

  /** Inside a transaction. `first` when the run is new here, or else the entry that had settled it. */
  settle({ runId, record, parked }: TerminalLine, sessionId: string, seq: number): Settling {
    const flags = [parked === undefined ? 0 : 1, parked?.automatic === true ? 1 : 0] as const;
    if (this.#settle.run(runId, seq, record ?? null, ...flags).changes === 1) return 'settled';
    const known = this.get(runId);
    if (known !== undefined) return { settledSeq: known.settledSeq ?? 0 };
    this.#insert.run(runId, sessionId, seq, record ?? '{}', ...flags);
    return 'first';
  }

  /** Inside a transaction. Undefined when `by` goes on with the run from now on. */
  continue(runId: string, by: string): (AppendOutcome & { status: 'taken' }) | undefined {
    if (this.#continue.run(runId, by).changes === 1) return undefined;
    return { status: 'taken', by: this.get(runId)?.continuedBy };
  }

  /** Inside a transaction. True when this call took the run out of those that may be resumed. */
  discard(runId: string): boolean {
    return this.#discard.run(runId).changes === 1;
  }

  /** Inside a transaction. Answers what it deleted. */
  forget(before: string, limit: number): readonly { runId: string; sessionId: string }[] {
    return this.#forget.all(before, limit) as { runId: string; sessionId: string }[];
  }

  list({ sessionId, realm, unsettled, resumable, before, limit }: RunQuery): StoredRun[] {
    const narrowed = sessionId !== undefined || unsettled === true || resumable === true;
    const rows = this.#select.all({
      conditions: [
        narrowed ? amongRealm(realm) : inRealm(realm),
        when('session_id = ?', sessionId),
        unsettled && ['settled_seq IS NULL'],
        resumable && [RESUMABLE],
        when('run_id < ?', before),
      ],
      orderBy: 'run_id DESC',
      limit,
    });
    return (rows as unknown as RunRow[]).map(toRun);
  }
}

const toRun = ({ settledSeq, parked, automatic, continuedBy, ...run }: RunRow): StoredRun => ({
  ...run,
  settledSeq: settledSeq ?? undefined,
  parked: parked === 1,
  automatic: automatic === 1,
  continuedBy: continuedBy ?? undefined,
});
