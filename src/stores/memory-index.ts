import { MemoryApprovals } from './memory-approvals.ts';
import { MemoryEnded } from './memory-ended.ts';
import { MemoryGrants } from './memory-grants.ts';
import { MemorySessions } from './memory-sessions.ts';
import { firstOf } from './ordered-keys.ts';
import { RealmKeys, realmOf } from './realms.ts';
import type {
  AppendOutcome,
  AppendPart,
  Grant,
  RunInStore,
  RunLine,
  RunQuery,
  StoredApproval,
  StoredRun,
  TerminalLine,
} from './store.ts';

type Start = { readonly runId: string; readonly digest: string };

export interface MemoryIndexOptions {
  /** Records of settled runs; beyond it one is forgotten. */
  readonly settledRunsMax: number;
  /** Whether a session is to stay without runs. */
  readonly hasEntries: (sessionId: string) => boolean;
}

/** What is kept beside the entries: runs, and what belongs to a run or to all runs of a session. */
export class MemoryIndex {
  readonly sessions = new MemorySessions();
  readonly approvals = new MemoryApprovals();
  readonly ended = new MemoryEnded();
  readonly grants = new MemoryGrants();
  readonly checkpoints = new Map<string, string>();
  readonly logs = new Map<string, string>();
  readonly starts = new Map<string, Start>();
  readonly #options: MemoryIndexOptions;
  readonly #runs = new Map<string, StoredRun>();
  readonly #runIds = new RealmKeys();
  readonly #startsOf = new Map<string, string[]>();
  /** Settled runs, the one settled first at the front; those that wait for a resume apart. */
  readonly #settled = new Set<string>();
  readonly #resumable = new Set<string>();

  constructor(options: MemoryIndexOptions) {
    this.#options = options;
  }

  getRun(runId: string): StoredRun | undefined {
    return this.#runs.get(runId);
  }

  putRun({ runId, sessionId, record }: RunInStore): StoredRun {
    const known = this.#runs.get(runId);
    const run = known === undefined ? newRun({ runId, sessionId, record }) : { ...known, record };
    this.#runs.set(runId, run);
    if (known === undefined) {
      this.#runIds.add(sessionId, runId);
      this.sessions.addRun(sessionId, runId);
    }
    return run;
  }

  /** All of a part but its entries and its terminal; or why none of it. */
  put(part: AppendPart): AppendOutcome | undefined {
    const { lease, records, checkpoints, continues, endedApprovals } = part;
    if (continues !== undefined && !this.#continue(continues)) {
      return { status: 'taken', by: this.#runs.get(continues.runId)?.continuedBy };
    }
    for (const { runId, record, startKey } of records ?? []) {
      this.putRun({ runId, sessionId: lease.key, record });
      if (startKey !== undefined) this.#addStart(runId, startKey);
    }
    for (const { runId, checkpoint } of checkpoints ?? []) {
      if (this.#runs.get(runId)?.settledSeq !== undefined) continue;
      this.checkpoints.set(runId, checkpoint);
      // The run that is gone on with needs none once the run that goes on with it has its own.
      if (runId === continues?.by) this.checkpoints.delete(continues.runId);
    }
    for (const line of endedApprovals ?? []) this.ended.put({ ...line, sessionId: lease.key });
    return undefined;
  }

  /** Settles a run that nothing has settled yet. */
  settle(terminal: TerminalLine, sessionId: string, settledSeq: number): void {
    const { runId, transcript, log, parked } = terminal;
    const record = terminal.record ?? this.#runs.get(runId)?.record ?? '{}';
    const run = this.putRun({ runId, sessionId, record });
    const flags = { parked: parked !== undefined, automatic: parked?.automatic ?? false };
    this.#runs.set(runId, { ...run, ...flags, settledSeq });
    if (transcript !== undefined) this.sessions.setTranscript(sessionId, transcript);
    if (log !== undefined) this.logs.set(runId, log);
    if (parked === undefined) {
      this.checkpoints.delete(runId);
      this.#settled.add(runId);
    } else {
      this.checkpoints.set(runId, parked.checkpoint);
      for (const approval of parked.approvals) this.approvals.put({ runId, sessionId }, approval);
      this.#resumable.add(runId);
    }
    this.#keepBound();
  }

  /** False when the run is not parked, or another one goes on with it. */
  discard(runId: string, outcome?: string): boolean {
    const run = this.#runs.get(runId);
    if (run === undefined || !this.#resumable.delete(runId)) return false;
    this.#runs.set(runId, { ...run, parked: false, automatic: false });
    this.#settled.add(runId);
    this.checkpoints.delete(runId);
    for (const approval of this.approvals.forgetUndecided(runId)) {
      if (outcome !== undefined) this.ended.put({ ...approval, outcome });
    }
    return true;
  }

  listExpiring(limit: number): readonly StoredApproval[] {
    return this.approvals.listExpiring(limit, (runId) => this.#resumable.has(runId));
  }

  /** True when this call closed one that has expired and waited for a decision. */
  expireApproval(decisionId: string, outcome: string, now: number): boolean {
    const { runId } = this.approvals.get(decisionId) ?? {};
    if (runId === undefined || !this.#resumable.has(runId)) return false;
    return this.approvals.expire(decisionId, outcome, now);
  }

  /** One for a session that is not known is passed over. */
  putGrant(grant: Grant): void {
    if (this.sessions.get(grant.sessionId) !== undefined) this.grants.put(grant);
  }

  /** The last entry of a session has gone. */
  emptied(sessionId: string): void {
    this.grants.forget(sessionId);
    this.#forgetEmpty(sessionId);
  }

  /** Answers how many runs went. */
  forget(before: string, limit: number): number {
    const runIds = firstOf(this.#runIds.of().ascending('', before), limit, (runId) =>
      this.#settled.has(runId) ? runId : undefined,
    );
    for (const runId of runIds) this.#forgetRun(runId);
    return runIds.length;
  }

  list({ sessionId, realm, unsettled, resumable, before, limit }: RunQuery): StoredRun[] {
    const ids = sessionId === undefined ? this.#runIds.of(realm) : this.sessions.runs(sessionId);
    if (sessionId !== undefined && realm !== undefined && realmOf(sessionId) !== realm) return [];
    return firstOf(ids.descending(before), limit, (runId) => {
      const run = this.#runs.get(runId);
      if (run === undefined) return undefined;
      if (unsettled === true && run.settledSeq !== undefined) return undefined;
      return resumable === true && !this.#resumable.has(runId) ? undefined : run;
    });
  }

  #continue({ runId, by }: NonNullable<AppendPart['continues']>): boolean {
    const run = this.#runs.get(runId);
    if (run === undefined || !this.#resumable.delete(runId)) return false;
    this.#runs.set(runId, { ...run, continuedBy: by });
    this.#settled.add(runId);
    // They are asked for in the run that goes on; nobody decides them here any more.
    this.approvals.forgetUndecided(runId);
    return true;
  }

  /** The first run under a key keeps it. */
  #addStart(runId: string, { key, digest }: NonNullable<RunLine['startKey']>): void {
    if (this.starts.has(key)) return;
    this.starts.set(key, { runId, digest });
    const keys = this.#startsOf.get(runId) ?? [];
    this.#startsOf.set(runId, [...keys, key]);
  }

  /** Memory is bounded, so in the end those go too that wait for a resume. */
  #keepBound(): void {
    if (this.#settled.size + this.#resumable.size <= this.#options.settledRunsMax) return;
    const [oldest] = this.#settled.size > 0 ? this.#settled : this.#resumable;
    if (oldest !== undefined) this.#forgetRun(oldest);
  }

  #forgetRun(runId: string): void {
    const sessionId = this.#runs.get(runId)?.sessionId ?? '';
    for (const rows of [this.#runs, this.#settled, this.#resumable]) rows.delete(runId);
    for (const texts of [this.checkpoints, this.logs]) texts.delete(runId);
    for (const key of this.#startsOf.get(runId) ?? []) this.starts.delete(key);
    this.#startsOf.delete(runId);
    this.#runIds.delete(sessionId, runId);
    this.approvals.forget(runId);
    this.ended.forget(runId);
    this.sessions.removeRun(sessionId, runId);
    if (!this.#options.hasEntries(sessionId)) this.#forgetEmpty(sessionId);
  }

  #forgetEmpty(sessionId: string): void {
    if (this.sessions.forgetEmpty(sessionId)) this.grants.forget(sessionId);
  }
}

const newRun = (run: RunInStore): StoredRun => ({
  ...run,
  settledSeq: undefined,
  parked: false,
  automatic: false,
  continuedBy: undefined,
});
