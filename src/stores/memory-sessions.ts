import { firstOf, OrderedKeys } from './ordered-keys.ts';
import { RealmKeys } from './realms.ts';
import type { SessionQuery, StoredSession } from './store.ts';

interface SessionRow {
  readonly session: StoredSession;
  /** Ids of the runs that are not forgotten. */
  readonly runs: OrderedKeys;
  readonly transcript: string | undefined;
}

/** Sessions by their runs, and the transcripts that those left. */
export class MemorySessions {
  readonly #rows = new Map<string, SessionRow>();
  /** Each session's newest run, and whose it is. */
  readonly #lastRuns = new RealmKeys();
  readonly #sessionOf = new Map<string, string>();

  /** Once a run: the session has it from now on. */
  addRun(sessionId: string, runId: string): void {
    const row = this.#rows.get(sessionId);
    const first = { sessionId, firstRunId: runId, lastRunId: runId, runs: 1 };
    const session = row === undefined ? first : withRun(row.session, runId);
    const runs = row?.runs ?? new OrderedKeys();
    runs.add(runId);
    this.#rows.set(sessionId, { session, runs, transcript: row?.transcript });
    if (row !== undefined) this.#unlist(row.session);
    this.#lastRuns.add(sessionId, session.lastRunId);
    this.#sessionOf.set(session.lastRunId, sessionId);
  }

  removeRun(sessionId: string, runId: string): void {
    this.#rows.get(sessionId)?.runs.delete(runId);
  }

  /** For a session without entries: without runs it is forgotten. True when this call did so. */
  forgetEmpty(sessionId: string): boolean {
    const row = this.#rows.get(sessionId);
    if (row === undefined || row.runs.size > 0) return false;
    this.#unlist(row.session);
    return this.#rows.delete(sessionId);
  }

  get(sessionId: string): StoredSession | undefined {
    return this.#rows.get(sessionId)?.session;
  }

  /** Ids of the runs that the session still has. */
  runs(sessionId: string): OrderedKeys {
    return this.#rows.get(sessionId)?.runs ?? new OrderedKeys();
  }

  list({ realm, before, after, limit }: SessionQuery): readonly StoredSession[] {
    const lastRuns = this.#lastRuns.of(realm);
    const ids =
      after === undefined ? lastRuns.descending(before) : lastRuns.ascending(after, before);
    return firstOf(ids, limit, (runId) => this.get(this.#sessionOf.get(runId) ?? ''));
  }

  transcript(sessionId: string): string | undefined {
    return this.#rows.get(sessionId)?.transcript;
  }

  setTranscript(sessionId: string, transcript: string): void {
    const row = this.#rows.get(sessionId);
    if (row !== undefined) this.#rows.set(sessionId, { ...row, transcript });
  }

  #unlist({ sessionId, lastRunId }: StoredSession): void {
    this.#lastRuns.delete(sessionId, lastRunId);
    this.#sessionOf.delete(lastRunId);
  }
}

const withRun = (session: StoredSession, runId: string): StoredSession => ({
  ...session,
  firstRunId: runId < session.firstRunId ? runId : session.firstRunId,
  lastRunId: runId > session.lastRunId ? runId : session.lastRunId,
  runs: session.runs + 1,
});
