import type { StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import type { Grant } from './store.ts';

/** Grants by their sessions. */
export class SqliteGrants {
  readonly #put: StatementSync;
  readonly #list: StatementSync;
  readonly #forget: StatementSync;

  constructor(file: SqliteFile) {
    this.#put = file.prepare(
      `INSERT INTO grants SELECT ?1, ?2, ?3, ?4, ?5, ?6
       WHERE EXISTS (SELECT 1 FROM sessions WHERE session_id = ?1)
       ON CONFLICT DO NOTHING`,
    );
    this.#list = file.prepare(
      `SELECT session_id AS sessionId, agent, tool_name AS toolName,
         matched_pattern AS matchedPattern, decision_id AS decisionId, at
       FROM grants WHERE session_id = ?`,
    );
    this.#forget = file.prepare('DELETE FROM grants WHERE session_id = ?');
  }

  /** The first one for the same stays. One for a session that is not known is passed over. */
  put({ sessionId, agent, toolName, matchedPattern, decisionId, at }: Grant): void {
    this.#put.run(sessionId, agent, toolName, matchedPattern, decisionId, at);
  }

  list(sessionId: string): readonly Grant[] {
    // The columns are those of the interface.
    return this.#list.all(sessionId) as unknown as Grant[];
  }

  forget(sessionId: string): void {
    this.#forget.run(sessionId);
  }
}
