import type {
  AppendOutcome,
  AppendPart,
  DecideOutcome,
  EndedApproval,
  Grant,
  Store,
  StoredApproval,
  StoredRun,
  StoredSession,
} from '../../src/stores/store.ts';

const descending = (a: string, b: string): number => (a < b ? 1 : -1);

const byKey = <T>(map: ReadonlyMap<string, T>, keys: readonly string[]): Record<string, T | null> =>
  Object.fromEntries(keys.map((key) => [key, map.get(key) ?? null]));

/** What a store of any engine must answer, as plain as can be: no index and no transaction. */
export class StoreModel {
  readonly #lines = new Map<string, string[]>();
  readonly #trimmed = new Map<string, number>();
  readonly #runs = new Map<string, StoredRun>();
  readonly #sessions = new Map<string, StoredSession>();
  readonly #approvals = new Map<string, StoredApproval>();
  readonly #ended = new Map<string, EndedApproval>();
  readonly #checkpoints = new Map<string, string>();
  readonly #logs = new Map<string, string>();
  readonly #transcripts = new Map<string, string>();
  #grants: readonly Grant[] = [];
  readonly #starts = new Map<string, { runId: string; digest: string }>();

  head(sessionId: string): number {
    return this.#lines.get(sessionId)?.length ?? 0;
  }

  append(part: AppendPart, isStale: boolean): AppendOutcome {
    const sessionId = part.lease.key;
    const head = this.head(sessionId);
    if (isStale) return { status: 'fenced' };
    if (part.firstSeq !== head + 1) return { status: 'conflict', head };
    const taken = this.#taken(part);
    if (taken !== undefined) return taken;
    const lines = [...(this.#lines.get(sessionId) ?? [])];
    if (part.count > 0) lines.push(...part.body.split('\n'));
    const settledSeq = part.terminal && this.#runs.get(part.terminal.runId)?.settledSeq;
    if (part.terminal !== undefined && settledSeq === undefined) {
      lines.push(part.terminal.line);
      this.#settle(part.terminal, sessionId, lines.length);
    }
    this.#lines.set(sessionId, lines);
    return settledSeq === undefined ? { status: 'written' } : { status: 'lost', settledSeq };
  }

  decide(decisionId: string, outcome: string, now: number): DecideOutcome {
    const approval = this.#approvals.get(decisionId);
    if (approval === undefined) return undefined;
    if (approval.outcome !== undefined || now >= approval.expiresAt) {
      return { won: false, approval };
    }
    const decided = { ...approval, outcome };
    this.#approvals.set(decisionId, decided);
    return { won: true, approval: decided };
  }

  expire(decisionId: string, outcome: string, now: number): boolean {
    const approval = this.#expiring().find((row) => row.decisionId === decisionId);
    if (approval === undefined || now < approval.expiresAt) return false;
    this.#approvals.set(decisionId, { ...approval, outcome });
    return true;
  }

  putGrant(grant: Grant): void {
    const isKnown = this.#grants.some(
      ({ sessionId, agent, toolName, matchedPattern }) =>
        sessionId === grant.sessionId &&
        agent === grant.agent &&
        toolName === grant.toolName &&
        matchedPattern === grant.matchedPattern,
    );
    if (!isKnown && this.#sessions.has(grant.sessionId)) this.#grants = [...this.#grants, grant];
  }

  trimAll(sessionId: string): void {
    if (this.#bytes(sessionId) === 0) return;
    this.#trimmed.set(sessionId, this.head(sessionId));
    this.#grants = this.#grants.filter((grant) => grant.sessionId !== sessionId);
    this.#forgetEmpty();
  }

  discard(runId: string, outcome: string | undefined): boolean {
    const run = this.#runs.get(runId);
    if (run === undefined || !waits(run)) return false;
    this.#runs.set(runId, { ...run, parked: false, automatic: false });
    this.#checkpoints.delete(runId);
    for (const approval of this.#forgetUndecided(runId)) {
      if (outcome !== undefined) this.#end({ ...approval, outcome });
    }
    return true;
  }

  forget(before: string, limit: number): number {
    const gone = [...this.#runs.values()]
      .filter((run) => run.settledSeq !== undefined && run.runId < before && !waits(run))
      .map(({ runId }) => runId)
      .sort()
      .slice(0, limit);
    for (const runId of gone) {
      for (const rows of [this.#runs, this.#checkpoints, this.#logs]) rows.delete(runId);
      for (const [key, start] of this.#starts) if (start.runId === runId) this.#starts.delete(key);
      for (const [id, { runId: of }] of this.#approvals) {
        if (of === runId) this.#approvals.delete(id);
      }
      for (const [id, { runId: of }] of this.#ended) if (of === runId) this.#ended.delete(id);
    }
    this.#forgetEmpty();
    return gone.length;
  }

  observe({ keys, now }: Observed): Observation {
    const runs = [...this.#runs.values()].sort((a, b) => descending(a.runId, b.runId));
    const sessions = [...this.#sessions.values()].sort((a, b) =>
      descending(a.lastRunId, b.lastRunId),
    );
    const approvals = [...this.#approvals.values()].sort((a, b) =>
      descending(a.decisionId, b.decisionId),
    );
    const ended = [...this.#ended.values()].sort((a, b) => descending(a.decisionId, b.decisionId));
    const byRealm = <T>(ask: (isInside: (row: { sessionId: string }) => boolean) => T) =>
      Object.fromEntries(REALMS.map((realm) => [realm, ask((row) => realmOf(row) === realm)]));
    const bytes = Object.fromEntries(keys.sessions.map((id) => [id, this.#bytes(id)]));
    return {
      runs,
      unsettled: runs.filter(({ settledSeq }) => settledSeq === undefined),
      resumable: runs.filter(waits),
      runsInside: byRealm((isInside) => runs.filter(isInside)),
      unsettledInside: byRealm((isInside) =>
        runs.filter((run) => isInside(run) && run.settledSeq === undefined),
      ),
      sessions,
      sessionsInside: byRealm((isInside) => sessions.filter(isInside).toReversed()),
      approvals,
      pendingInside: byRealm((isInside) =>
        approvals.filter(
          (approval) =>
            isInside(approval) && approval.outcome === undefined && now < approval.expiresAt,
        ),
      ),
      ended,
      endedInside: byRealm((isInside) => ended.filter(isInside)),
      endedOf: Object.fromEntries(
        keys.runs.map((runId) => [runId, ended.filter((of) => of.runId === runId)]),
      ),
      expiring: this.#expiring(),
      firstExpiring: this.#expiring().slice(0, 1),
      grants: Object.fromEntries(
        keys.sessions.map((id) => [id, sorted(this.#grants.filter((of) => of.sessionId === id))]),
      ),
      checkpoints: byKey(this.#checkpoints, keys.runs),
      logs: byKey(this.#logs, keys.runs),
      starts: byKey(this.#starts, keys.starts),
      transcripts: byKey(this.#transcripts, keys.sessions),
      bytes,
      total: Object.values(bytes).reduce((sum, size) => sum + size, 0),
      totalInside: byRealm((isInside) =>
        keys.sessions
          .filter((sessionId) => isInside({ sessionId }))
          .reduce((sum, id) => sum + this.#bytes(id), 0),
      ),
    };
  }

  /** Everything of a part but its entries and its terminal; or why none of it. */
  #taken(part: AppendPart): AppendOutcome | undefined {
    const { lease, records, checkpoints, continues, endedApprovals } = part;
    const parked = continues && this.#runs.get(continues.runId);
    if (continues !== undefined) {
      if (parked === undefined || !waits(parked)) {
        return { status: 'taken', by: parked?.continuedBy };
      }
      this.#runs.set(parked.runId, { ...parked, continuedBy: continues.by });
      this.#forgetUndecided(parked.runId);
    }
    for (const { runId, record, startKey } of records ?? []) {
      this.#putRun(runId, lease.key, record);
      if (startKey !== undefined && !this.#starts.has(startKey.key)) {
        this.#starts.set(startKey.key, { runId, digest: startKey.digest });
      }
    }
    for (const { runId, checkpoint } of checkpoints ?? []) {
      if (this.#runs.get(runId)?.settledSeq !== undefined) continue;
      this.#checkpoints.set(runId, checkpoint);
      if (continues?.by === runId) this.#checkpoints.delete(continues.runId);
    }
    for (const line of endedApprovals ?? []) this.#end({ ...line, sessionId: lease.key });
    return undefined;
  }

  #end(ended: EndedApproval): void {
    if (!this.#ended.has(ended.decisionId)) this.#ended.set(ended.decisionId, ended);
  }

  #forgetUndecided(runId: string): StoredApproval[] {
    const undecided = [...this.#approvals.values()].filter(
      (approval) => approval.runId === runId && approval.outcome === undefined,
    );
    for (const { decisionId } of undecided) this.#approvals.delete(decisionId);
    return undecided;
  }

  #settle(
    { runId, record, transcript, log, parked }: NonNullable<AppendPart['terminal']>,
    sessionId: string,
    settledSeq: number,
  ): void {
    this.#putRun(runId, sessionId, record ?? this.#runs.get(runId)?.record ?? '{}');
    const run = this.#runs.get(runId) as StoredRun;
    const automatic = parked?.automatic ?? false;
    this.#runs.set(runId, { ...run, settledSeq, parked: parked !== undefined, automatic });
    if (transcript !== undefined) this.#transcripts.set(sessionId, transcript);
    if (log !== undefined) this.#logs.set(runId, log);
    this.#checkpoints.delete(runId);
    if (parked === undefined) return;
    this.#checkpoints.set(runId, parked.checkpoint);
    for (const line of parked.approvals) {
      const outcome = this.#approvals.get(line.decisionId)?.outcome;
      this.#approvals.set(line.decisionId, { ...line, runId, sessionId, outcome });
    }
  }

  #putRun(runId: string, sessionId: string, record: string): void {
    const known = this.#runs.get(runId);
    const fresh = { settledSeq: undefined, parked: false, automatic: false };
    this.#runs.set(runId, {
      ...(known ?? { runId, sessionId, ...fresh, continuedBy: undefined }),
      record,
    });
    if (known !== undefined) return;
    const session = this.#sessions.get(sessionId);
    const ids = [runId, session?.firstRunId ?? runId, session?.lastRunId ?? runId].sort();
    this.#sessions.set(sessionId, {
      sessionId,
      firstRunId: ids[0] as string,
      lastRunId: ids[2] as string,
      runs: (session?.runs ?? 0) + 1,
    });
  }

  #bytes(sessionId: string): number {
    const kept = (this.#lines.get(sessionId) ?? []).slice(this.#trimmed.get(sessionId) ?? 0);
    return kept.join('').length;
  }

  #expiring(): StoredApproval[] {
    return [...this.#approvals.values()]
      .filter(({ outcome, runId }) => {
        const run = this.#runs.get(runId);
        return outcome === undefined && run !== undefined && waits(run);
      })
      .sort((a, b) => a.expiresAt - b.expiresAt || descending(b.decisionId, a.decisionId));
  }

  #forgetEmpty(): void {
    const full = new Set([...this.#runs.values()].map(({ sessionId }) => sessionId));
    for (const sessionId of this.#sessions.keys()) {
      if (full.has(sessionId) || this.#bytes(sessionId) > 0) continue;
      this.#sessions.delete(sessionId);
      this.#transcripts.delete(sessionId);
      this.#grants = this.#grants.filter((grant) => grant.sessionId !== sessionId);
    }
  }
}

/** Two that are there, one that only begins alike, and one that nobody has. */
const REALMS = ['', 'acme\u001f', 'acme', 'nobody\u001f'];

/** Everything up to the separator, that included. */
const realmOf = ({ sessionId }: { readonly sessionId: string }): string =>
  sessionId.includes('\u001f') ? `${sessionId.split('\u001f')[0]}\u001f` : '';

/** A store lists grants in no order. */
const sorted = (grants: readonly Grant[]): string[] =>
  grants
    .map((grant) => JSON.stringify(Object.entries(grant).sort(([a], [b]) => descending(b, a))))
    .sort();

const waits = (run: StoredRun): boolean => run.parked && run.continuedBy === undefined;

export interface Observed {
  readonly keys: { readonly [K in 'sessions' | 'runs' | 'starts']: readonly string[] };
  readonly now: number;
}

export type Observation = Readonly<Record<string, unknown>>;

/** The same questions, put to a store. */
export async function observe(store: Store, { keys, now }: Observed): Promise<Observation> {
  const limit = 1_000;
  const each = async (ids: readonly string[], get: (id: string) => unknown) =>
    Object.fromEntries(
      await Promise.all(ids.map(async (id) => [id, (await get(id)) ?? null] as const)),
    );
  const byRealm = (ask: (realm: string) => unknown) => each(REALMS, ask);
  return {
    runs: await store.listRecords({ limit }),
    unsettled: await store.listRecords({ limit, unsettled: true }),
    resumable: await store.listRecords({ limit, resumable: true }),
    runsInside: await byRealm((realm) => store.listRecords({ limit, realm })),
    unsettledInside: await byRealm((realm) => store.listRecords({ limit, realm, unsettled: true })),
    sessions: await store.listSessions({ limit }),
    sessionsInside: await byRealm((realm) => store.listSessions({ limit, realm, after: '' })),
    approvals: await store.listApprovals({ limit }),
    pendingInside: await byRealm((realm) => store.listApprovals({ limit, realm, pendingAt: now })),
    ended: await store.listEnded({ limit }),
    endedInside: await byRealm((realm) => store.listEnded({ limit, realm })),
    endedOf: await each(keys.runs, (runId) => store.listEnded({ limit, runId })),
    expiring: await store.listExpiring(limit),
    firstExpiring: await store.listExpiring(1),
    grants: await each(keys.sessions, async (id) => sorted(await store.listGrants(id))),
    checkpoints: await each(keys.runs, (id) => store.getCheckpoint(id)),
    logs: await each(keys.runs, (id) => store.getLog(id)),
    starts: await each(keys.starts, (key) => store.getStart(key)),
    transcripts: await each(keys.sessions, (id) => store.getTranscript(id)),
    bytes: await each(keys.sessions, (id) => store.bytes(id)),
    total: await store.totalBytes(),
    totalInside: await byRealm((realm) => store.totalBytes(realm)),
  };
}
