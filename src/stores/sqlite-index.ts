import { SqliteApprovals } from './sqlite-approvals.ts';
import { SqliteEnded } from './sqlite-ended.ts';
import type { SqliteFile } from './sqlite-file.ts';
import { SqliteGrants } from './sqlite-grants.ts';
import { SqliteRunTexts } from './sqlite-run-texts.ts';
import { SqliteRuns } from './sqlite-runs.ts';
import { SqliteSessions } from './sqlite-sessions.ts';
import type { AppendOutcome, AppendPart, RunInStore, TerminalLine } from './store.ts';

/** What is kept beside the entries: runs, and what belongs to a run or to all runs of a session. */
export class SqliteIndex {
  readonly runs: SqliteRuns;
  readonly texts: SqliteRunTexts;
  readonly sessions: SqliteSessions;
  readonly approvals: SqliteApprovals;
  readonly ended: SqliteEnded;
  readonly grants: SqliteGrants;

  constructor(file: SqliteFile) {
    this.runs = new SqliteRuns(file);
    this.texts = new SqliteRunTexts(file);
    this.sessions = new SqliteSessions(file);
    this.approvals = new SqliteApprovals(file);
    this.ended = new SqliteEnded(file);
    this.grants = new SqliteGrants(file);
  }

  putRun(run: RunInStore): void {
    if (this.runs.put(run)) this.sessions.addRun(run.sessionId, run.runId);
  }

  /** Inside a transaction: all of a part but its entries and its terminal; or why none of it. */
  put(part: AppendPart): AppendOutcome | undefined {
    const { lease, records, checkpoints, continues, endedApprovals } = part;
    const taken = continues && this.runs.continue(continues.runId, continues.by);
    if (taken !== undefined) return taken;
    // They are asked for in the run that goes on; nobody decides them here any more.
    if (continues !== undefined) this.approvals.forgetUndecided(continues.runId);
    for (const { runId, record, startKey } of records ?? []) {
      this.putRun({ runId, sessionId: lease.key, record });
      if (startKey !== undefined) this.texts.addStart(runId, startKey);
    }
    for (const { runId, checkpoint } of checkpoints ?? []) {
      if (this.runs.get(runId)?.settledSeq !== undefined) continue;
      this.texts.setCheckpoint(runId, checkpoint);
      // The run that is gone on with needs none once the run that goes on with it has its own.
      if (runId === continues?.by) this.texts.dropCheckpoint(continues.runId);
    }
    for (const line of endedApprovals ?? []) this.ended.put(lease.key, line);
    return undefined;
  }

  /** Inside a transaction. Undefined when this settled the run, else the entry that had. */
  settle(terminal: TerminalLine, sessionId: string, seq: number): number | undefined {
    const settling = this.runs.settle(terminal, sessionId, seq);
    if (typeof settling !== 'string') return settling.settledSeq;
    const { runId, transcript, log, parked } = terminal;
    if (settling === 'first') this.sessions.addRun(sessionId, runId);
    if (transcript !== undefined) this.sessions.setTranscript(sessionId, transcript);
    if (log !== undefined) this.texts.setLog(runId, log);
    if (parked === undefined) this.texts.dropCheckpoint(runId);
    else this.#park(runId, sessionId, parked);
    return undefined;
  }

  /** Inside a transaction. False when the run is not parked, or another one goes on with it. */
  discard(runId: string, outcome?: string): boolean {
    if (!this.runs.discard(runId)) return false;
    if (outcome !== undefined) this.ended.putUndecided(runId, outcome);
    this.texts.dropCheckpoint(runId);
    this.approvals.forgetUndecided(runId);
    return true;
  }

  /** Inside a transaction. `hasEntries` says whether a session is to stay without runs. */
  forget(
    { before, limit }: { before: string; limit: number },
    hasEntries: (sessionId: string) => boolean,
  ): number {
    const runs = this.runs.forget(before, limit);
    for (const { runId } of runs) {
      this.texts.forget(runId);
      this.approvals.forget(runId);
      this.ended.forget(runId);
    }
    for (const sessionId of new Set(runs.map((run) => run.sessionId))) {
      if (!hasEntries(sessionId)) this.#forgetEmpty(sessionId);
    }
    return runs.length;
  }

  /** Inside a transaction: the last entry of a session has gone. */
  emptied(sessionId: string): void {
    this.grants.forget(sessionId);
    this.#forgetEmpty(sessionId);
  }

  #forgetEmpty(sessionId: string): void {
    if (this.sessions.forgetEmpty(sessionId)) this.grants.forget(sessionId);
  }

  #park(runId: string, sessionId: string, parked: NonNullable<TerminalLine['parked']>): void {
    this.texts.setCheckpoint(runId, parked.checkpoint);
    for (const approval of parked.approvals) this.approvals.put({ runId, sessionId }, approval);
  }
}
