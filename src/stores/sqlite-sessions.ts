import type { StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import { inRealm, SqliteSelect, when } from './sqlite-select.ts';
import type { SessionQuery, StoredSession } from './store.ts';

const SELECT = `SELECT session_id AS sessionId, first_run_id AS firstRunId,
  last_run_id AS lastRunId, runs FROM sessions`;

/** Sessions by their runs, and the transcripts that those left. */
export class SqliteSessions {
  readonly #begin: StatementSync;
  readonly #get: StatementSync;
  readonly #delete: StatementSync;
  readonly #transcript: StatementSync;
  readonly #setTranscript: StatementSync;
  readonly #deleteTranscript: StatementSync;
  readonly #select: SqliteSelect;

  constructor(file: SqliteFile) {
    this.#begin = file.prepare(
      `INSERT INTO sessions VALUES (?1, ?2, ?2, 1)
       ON CONFLICT (session_id) DO UPDATE SET
         first_run_id = min(first_run_id, ?2), last_run_id = max(last_run_id, ?2), runs = runs + 1`,
    );
    this.#get = file.prepare(`${SELECT} WHERE session_id = ?`);
    this.#delete = file.prepare(
      `DELETE FROM sessions WHERE session_id = ?1
       AND NOT EXISTS (SELECT 1 FROM runs WHERE session_id = ?1)`,
    );
    this.#transcript = file.prepare('SELECT transcript FROM transcripts WHERE session_id = ?');
    this.#setTranscript = file.prepare(
      `INSERT INTO transcripts VALUES (?, ?)
       ON CONFLICT (session_id) DO UPDATE SET transcript = excluded.transcript`,
    );
    this.#deleteTranscript = file.prepare('DELETE FROM transcripts WHERE session_id = ?');
    this.#select = new SqliteSelect(file, SELECT);
  }

  /** Inside a transaction, once a run: the session has it from now on. */
  addRun(sessionId: string, runId: string): void {
    this.#begin.run(sessionId, runId);
  }

  /**
   * Inside a transaction, for a session without entries: without runs it is forgotten. True when this
   * call did so.
   */
  forgetEmpty(sessionId: string): boolean {
    if (this.#delete.run(sessionId).changes === 0) return false;
    this.#deleteTranscript.run(sessionId);
    return true;
  }

  get(sessionId: string): StoredSession | undefined {
    // The columns are those of the interface.
    return this.#get.get(sessionId) as unknown as StoredSession | undefined;
  }

  list({ realm, before, after, limit }: SessionQuery): readonly StoredSession[] {
    const rows = this.#select.all({
      conditions: [inRealm(realm), when('last_run_id < ?', before), when('last_run_id > ?', after)],
      orderBy: after === undefined ? 'last_run_id DESC' : 'last_run_id',
      limit,
    });
    return rows as unknown as StoredSession[];
  }

  transcript(sessionId: string): string | undefined {
    const row = this.#transcript.get(sessionId) as { transcript: string } | undefined;
    return row?.transcript;
  }

  setTranscript(sessionId: string, transcript: string): void {
    this.#setTranscript.run(sessionId, transcript);
  }
}
