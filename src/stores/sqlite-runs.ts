import type { StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import type { RunQuery, StoredRun, TerminalLine } from './store.ts';

interface RunRow extends Omit<StoredRun, 'settledSeq'> {
  readonly settledSeq: number | null;
}

const COLUMNS =
  'run_id AS runId, session_id AS sessionId, settled_seq AS settledSeq, record FROM runs';

/** The index of runs; `settled_seq` is set once and never again. */
export class SqliteRuns {
  readonly #put: StatementSync;
  readonly #get: StatementSync;
  readonly #settle: StatementSync;
  readonly #list: StatementSync;
  readonly #listSession: StatementSync;
  readonly #listUnsettled: StatementSync;

  constructor(file: SqliteFile) {
    this.#put = file.prepare(
      `INSERT INTO runs VALUES (?, ?, NULL, ?)
       ON CONFLICT (run_id) DO UPDATE SET record = excluded.record`,
    );
    this.#get = file.prepare(`SELECT ${COLUMNS} WHERE run_id = ?`);
    this.#settle = file.prepare(
      `INSERT INTO runs VALUES (?1, ?2, ?3, coalesce(?4, '{}'))
       ON CONFLICT (run_id) DO UPDATE SET settled_seq = ?3, record = coalesce(?4, record)
       WHERE settled_seq IS NULL`,
    );
    const page = 'AND (?1 IS NULL OR run_id < ?1) ORDER BY run_id DESC LIMIT ?2';
    this.#list = file.prepare(`SELECT ${COLUMNS} WHERE true ${page}`);
    this.#listUnsettled = file.prepare(`SELECT ${COLUMNS} WHERE settled_seq IS NULL ${page}`);
    this.#listSession = file.prepare(
      `SELECT ${COLUMNS} WHERE session_id = ?3 AND (?4 OR settled_seq IS NULL) ${page}`,
    );
  }

  put({ runId, sessionId, record }: Omit<StoredRun, 'settledSeq'>): void {
    this.#put.run(runId, sessionId, record);
  }

  get(runId: string): StoredRun | undefined {
    const row = this.#get.get(runId) as RunRow | undefined;
    return row && toRun(row);
  }

  /** Inside a transaction. Undefined when this settled the run, else the entry that had. */
  settle({ runId, record }: TerminalLine, sessionId: string, seq: number): number | undefined {
    const { changes } = this.#settle.run(runId, sessionId, seq, record ?? null);
    return changes === 1 ? undefined : (this.get(runId)?.settledSeq ?? 0);
  }

  list({ sessionId, unsettled, before, limit }: RunQuery): readonly StoredRun[] {
    const rows =
      sessionId === undefined
        ? (unsettled ? this.#listUnsettled : this.#list).all(before ?? null, limit)
        : this.#listSession.all(before ?? null, limit, sessionId, unsettled ? 0 : 1);
    return (rows as unknown as RunRow[]).map(toRun);
  }
}

const toRun = ({ runId, sessionId, record, settledSeq }: RunRow): StoredRun => ({
  runId,
  sessionId,
  record,
  settledSeq: settledSeq ?? undefined,
});
