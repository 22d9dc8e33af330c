import type { StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import { RESUMABLE } from './sqlite-schema.ts';
import { amongRealm, inRealm, SqliteSelect, when } from './sqlite-select.ts';
import type { ApprovalLine, ApprovalQuery, StoredApproval } from './store.ts';

interface ApprovalRow extends Omit<StoredApproval, 'outcome'> {
  readonly outcome: string | null;
}

const SELECT = `SELECT decision_id AS decisionId, run_id AS runId, session_id AS sessionId, record,
  expires_at AS expiresAt, outcome FROM approvals`;

/** Of an approval: its run waits for a resume. */
const OF_RESUMABLE = `EXISTS (
  SELECT 1 FROM runs WHERE runs.run_id = approvals.run_id AND ${RESUMABLE})`;

/** Approvals of parked runs; `outcome` is set once and never again. */
export class SqliteApprovals {
  readonly #put: StatementSync;
  readonly #get: StatementSync;
  readonly #decide: StatementSync;
  readonly #expire: StatementSync;
  readonly #forget: StatementSync;
  readonly #forgetUndecided: StatementSync;
  readonly #select: SqliteSelect;
  readonly #selectInbox: SqliteSelect;
  readonly #selectExpiring: SqliteSelect;

  constructor(file: SqliteFile) {
    this.#put = file.prepare(
      `INSERT INTO approvals VALUES (?, ?, ?, ?, ?, NULL)
       ON CONFLICT (decision_id) DO UPDATE SET run_id = excluded.run_id,
         session_id = excluded.session_id, record = excluded.record,
         expires_at = excluded.expires_at`,
    );
    this.#get = file.prepare(`${SELECT} WHERE decision_id = ?`);
    this.#decide = file.prepare(
      `UPDATE approvals SET outcome = ?2
       WHERE decision_id = ?1 AND outcome IS NULL AND expires_at > ?3`,
    );
    this.#expire = file.prepare(
      `UPDATE approvals SET outcome = ?2
       WHERE decision_id = ?1 AND outcome IS NULL AND expires_at <= ?3 AND ${OF_RESUMABLE}`,
    );
    this.#forget = file.prepare('DELETE FROM approvals WHERE run_id = ?');
    this.#forgetUndecided = file.prepare(
      'DELETE FROM approvals WHERE run_id = ? AND outcome IS NULL',
    );
    this.#select = new SqliteSelect(file, SELECT);
    // The engine would go by the index of all approvals, and look at each that was decided.
    this.#selectInbox = new SqliteSelect(file, `${SELECT} INDEXED BY approvals_pending`);
    this.#selectExpiring = new SqliteSelect(file, `${SELECT} INDEXED BY approvals_expiring`);
  }

  /** Inside a transaction. One that is here already goes on with the new run, as it was decided. */
  put(run: { runId: string; sessionId: string }, line: ApprovalLine): void {
    const { decisionId, record, expiresAt } = line;
    this.#put.run(decisionId, run.runId, run.sessionId, record, expiresAt);
  }

  get(decisionId: string): StoredApproval | undefined {
    const row = this.#get.get(decisionId) as ApprovalRow | undefined;
    return row && toApproval(row);
  }

  /** True when this call decided it. */
  decide(decisionId: string, outcome: string, now: number): boolean {
    return this.#decide.run(decisionId, outcome, now).changes === 1;
  }

  /** True when this call closed one that has expired and waited for a decision. */
  expire(decisionId: string, outcome: string, now: number): boolean {
    return this.#expire.run(decisionId, outcome, now).changes === 1;
  }

  listExpiring(limit: number): readonly StoredApproval[] {
    const rows = this.#selectExpiring.all({
      conditions: [['outcome IS NULL'], [OF_RESUMABLE]],
      orderBy: 'expires_at, decision_id',
      limit,
    });
    return (rows as unknown as ApprovalRow[]).map(toApproval);
  }

  /** Inside a transaction: those of a run. */
  forget(runId: string): void {
    this.#forget.run(runId);
  }

  /** Inside a transaction: those of a run that nobody has decided, expired or not. */
  forgetUndecided(runId: string): void {
    this.#forgetUndecided.run(runId);
  }

  list({ realm, runId, pendingAt, before, limit }: ApprovalQuery): readonly StoredApproval[] {
    const isInbox = realm !== undefined && pendingAt !== undefined && runId === undefined;
    const rows = (isInbox ? this.#selectInbox : this.#select).all({
      conditions: [
        runId === undefined ? inRealm(realm) : amongRealm(realm),
        when('run_id = ?', runId),
        when('outcome IS NULL AND expires_at > ?', pendingAt),
        when('decision_id < ?', before),
      ],
      orderBy: 'decision_id DESC',
      limit,
    });
    return (rows as unknown as ApprovalRow[]).map(toApproval);
  }
}

const toApproval = (row: ApprovalRow): StoredApproval => ({
  ...row,
  outcome: row.outcome ?? undefined,
});
