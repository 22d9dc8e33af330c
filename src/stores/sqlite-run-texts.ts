import type { StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import type { RunLine } from './store.ts';

/** What else is kept of a run: what it can be resumed from, its log, the key it was started under. */
export class SqliteRunTexts {
  readonly #checkpoint: StatementSync;
  readonly #setCheckpoint: StatementSync;
  readonly #deleteCheckpoint: StatementSync;
  readonly #log: StatementSync;
  readonly #setLog: StatementSync;
  readonly #deleteLog: StatementSync;
  readonly #start: StatementSync;
  readonly #addStart: StatementSync;
  readonly #deleteStarts: StatementSync;

  constructor(file: SqliteFile) {
    this.#checkpoint = file.prepare('SELECT checkpoint FROM checkpoints WHERE run_id = ?');
    this.#setCheckpoint = file.prepare(
      `INSERT INTO checkpoints VALUES (?, ?)
       ON CONFLICT (run_id) DO UPDATE SET checkpoint = excluded.checkpoint`,
    );
    this.#deleteCheckpoint = file.prepare('DELETE FROM checkpoints WHERE run_id = ?');
    this.#log = file.prepare('SELECT log FROM logs WHERE run_id = ?');
    this.#setLog = file.prepare(
      'INSERT INTO logs VALUES (?, ?) ON CONFLICT (run_id) DO UPDATE SET log = excluded.log',
    );
    this.#deleteLog = file.prepare('DELETE FROM logs WHERE run_id = ?');
    this.#start = file.prepare('SELECT run_id AS runId, digest FROM starts WHERE key = ?');
    this.#addStart = file.prepare('INSERT INTO starts VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
    this.#deleteStarts = file.prepare('DELETE FROM starts WHERE run_id = ?');
  }

  checkpoint(runId: string): string | undefined {
    return (this.#checkpoint.get(runId) as { checkpoint: string } | undefined)?.checkpoint;
  }

  setCheckpoint(runId: string, checkpoint: string): void {
    this.#setCheckpoint.run(runId, checkpoint);
  }

  dropCheckpoint(runId: string): void {
    this.#deleteCheckpoint.run(runId);
  }

  log(runId: string): string | undefined {
    return (this.#log.get(runId) as { log: string } | undefined)?.log;
  }

  setLog(runId: string, log: string): void {
    this.#setLog.run(runId, log);
  }

  start(key: string): { readonly runId: string; readonly digest: string } | undefined {
    return this.#start.get(key) as { runId: string; digest: string } | undefined;
  }

  /** The first run under a key keeps it. */
  addStart(runId: string, { key, digest }: NonNullable<RunLine['startKey']>): void {
    this.#addStart.run(key, runId, digest);
  }

  /** Inside a transaction: all of it. */
  forget(runId: string): void {
    this.#deleteCheckpoint.run(runId);
    this.#deleteLog.run(runId);
    this.#deleteStarts.run(runId);
  }
}
