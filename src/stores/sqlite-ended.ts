import type { StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import { amongRealm, inRealm, SqliteSelect, when } from './sqlite-select.ts';
import type { EndedApproval, EndedApprovalLine, EndedApprovalQuery } from './store.ts';

const SELECT = `SELECT decision_id AS decisionId, run_id AS runId, session_id AS sessionId, record,
  expires_at AS expiresAt, outcome FROM ended_approvals`;

/** Approvals that have ended; none ever changes. */
export class SqliteEnded {
  readonly #put: StatementSync;
  readonly #putUndecided: StatementSync;
  readonly #get: StatementSync;
  readonly #forget: StatementSync;
  readonly #select: SqliteSelect;

  constructor(file: SqliteFile) {
    const insert = 'INSERT INTO ended_approvals';
    this.#put = file.prepare(`${insert} VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
    this.#putUndecided = file.prepare(
      `${insert} SELECT decision_id, run_id, session_id, record, expires_at, ?2 FROM approvals
       WHERE run_id = ?1 AND outcome IS NULL
       ON CONFLICT DO NOTHING`,
    );
    this.#get = file.prepare(`${SELECT} WHERE decision_id = ?`);
    this.#forget = file.prepare('DELETE FROM ended_approvals WHERE run_id = ?');
    this.#select = new SqliteSelect(file, SELECT);
  }

  /** Inside a transaction. The first one for a decision id stays. */
  put(
    sessionId: string,
    { decisionId, runId, record, expiresAt, outcome }: EndedApprovalLine,
  ): void {
    this.#put.run(decisionId, runId, sessionId, record, expiresAt, outcome);
  }

  /** Inside a transaction: what nobody has decided of a parked run ends so. */
  putUndecided(runId: string, outcome: string): void {
    this.#putUndecided.run(runId, outcome);
  }

  get(decisionId: string): EndedApproval | undefined {
    // The columns are those of the interface.
    return this.#get.get(decisionId) as EndedApproval | undefined;
  }

  list({ realm, runId, before, limit }: EndedApprovalQuery): readonly EndedApproval[] {
    const rows = this.#select.all({
      conditions: [
        runId === undefined ? inRealm(realm) : amongRealm(realm),
        when('run_id = ?', runId),
        when('decision_id < ?', before),
      ],
      orderBy: 'decision_id DESC',
      limit,
    });
    return rows as unknown as EndedApproval[];
  }

  /** Inside a transaction: those of a run. */
  forget(runId: string): void {
    this.#forget.run(runId);
  }
}
