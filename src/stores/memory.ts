import { createLocalBus } from './bus.ts';
import { type Group, groupOf, pageOf, sizeOf } from './groups.ts';
import { MemoryIndex } from './memory-index.ts';
import { MemoryLeases } from './memory-leases.ts';
import { RealmSizes } from './realms.ts';
import {
  type AcquireOutcome,
  type AcquireRequest,
  type AppendOutcome,
  type AppendPart,
  type ApprovalQuery,
  type DecideOutcome,
  type EndedApproval,
  type EndedApprovalQuery,
  FENCED,
  type Grant,
  type JournalPage,
  type Lease,
  type PageLimits,
  type RunInStore,
  type RunQuery,
  type SessionQuery,
  type Store,
  type StoredApproval,
  type StoredRun,
  type StoredSession,
  StoreError,
  WRITTEN,
} from './store.ts';

/** What bounds a store that never writes to disk. */
export interface MemoryLimits {
  /** Characters of JSON over all sessions; beyond it the oldest of the session idle longest go. */
  readonly journalBytesMax: number;
  /**
   * Records of settled runs; beyond it the one settled first is forgotten, and one that waits for a
   * resume only when there is no other.
   */
  readonly settledRunsMax: number;
}

export const MEMORY_LIMITS: MemoryLimits = Object.freeze({
  journalBytesMax: 268_435_456,
  settledRunsMax: 10_000,
});

/** Makes an empty store that lives as long as the process. It answers every call at once. */
export function createMemoryStore(limits: Partial<MemoryLimits> = {}): Store {
  return new MemoryStore({ ...MEMORY_LIMITS, ...limits });
}

interface SessionRow {
  readonly sessionId: string;
  groups: Group[];
  head: number;
  floor: number;
  bytes: number;
}

class MemoryStore implements Store {
  readonly backend = 'memory';
  readonly bus = createLocalBus();
  readonly #limits: MemoryLimits;
  readonly #sessions = new Map<string, SessionRow>();
  readonly #leases = new MemoryLeases();
  readonly #index: MemoryIndex;
  /** Sessions that have entries, the one written least recently first. */
  readonly #filled = new Set<SessionRow>();
  /** Characters of entries. */
  readonly #sizes = new RealmSizes();
  #closed = false;

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
    const hasEntries = (id: string) => (this.#sessions.get(id)?.groups.length ?? 0) > 0;
    this.#index = new MemoryIndex({ settledRunsMax: limits.settledRunsMax, hasEntries });
  }

  append(parts: readonly AppendPart[]): readonly AppendOutcome[] {
    this.ping();
    const outcomes = parts.map((part) => this.#appendPart(part));
    this.#evict();
    return outcomes;
  }

  read(sessionId: string, from: number, limits: PageLimits): JournalPage {
    this.ping();
    const row = this.#sessions.get(sessionId);
    if (row === undefined) return { firstSeq: from, lines: [], floor: 0, complete: true };
    return pageOf(groupsFrom(row.groups, from), from, { limits, floor: row.floor });
  }

  head(sessionId: string): number {
    this.ping();
    return this.#sessions.get(sessionId)?.head ?? 0;
  }

  trim(sessionId: string, through: number): number {
    this.ping();
    const row = this.#sessions.get(sessionId);
    if (row === undefined) return 0;
    while (row.groups[0] !== undefined && row.groups[0].lastSeq <= through) this.#dropOldest(row);
    return row.floor;
  }

  bytes(sessionId: string): number {
    this.ping();
    return this.#sessions.get(sessionId)?.bytes ?? 0;
  }

  totalBytes(realm?: string): number {
    this.ping();
    return this.#sizes.total(realm);
  }

  putRecord(run: RunInStore, lease: Lease | undefined): boolean {
    this.ping();
    const refused =
      lease === undefined ? this.#leases.isHeld(run.sessionId) : !this.#leases.isCurrent(lease);
    if (!refused) this.#index.putRun(run);
    return !refused;
  }

  getRecord(runId: string): StoredRun | undefined {
    this.ping();
    return this.#index.getRun(runId);
  }

  listRecords(query: RunQuery): readonly StoredRun[] {
    this.ping();
    return this.#index.list(query);
  }

  getStart(key: string): { readonly runId: string; readonly digest: string } | undefined {
    this.ping();
    return this.#index.starts.get(key);
  }

  getCheckpoint(runId: string): string | undefined {
    this.ping();
    return this.#index.checkpoints.get(runId);
  }

  getLog(runId: string): string | undefined {
    this.ping();
    return this.#index.logs.get(runId);
  }

  discard(runId: string, outcome?: string): boolean {
    this.ping();
    return this.#index.discard(runId, outcome);
  }

  forgetRuns(before: string, limit: number): number {
    this.ping();
    return this.#index.forget(before, limit);
  }

  listSessions(query: SessionQuery): readonly StoredSession[] {
    this.ping();
    return this.#index.sessions.list(query);
  }

  getSession(sessionId: string): StoredSession | undefined {
    this.ping();
    return this.#index.sessions.get(sessionId);
  }

  getTranscript(sessionId: string): string | undefined {
    this.ping();
    return this.#index.sessions.transcript(sessionId);
  }

  decideApproval(decisionId: string, outcome: string, now: number): DecideOutcome {
    this.ping();
    return this.#index.approvals.decide(decisionId, outcome, now);
  }

  getApproval(decisionId: string): StoredApproval | undefined {
    this.ping();
    return this.#index.approvals.get(decisionId);
  }

  listApprovals(query: ApprovalQuery): readonly StoredApproval[] {
    this.ping();
    return this.#index.approvals.list(query);
  }

  listExpiring(limit: number): readonly StoredApproval[] {
    this.ping();
    return this.#index.listExpiring(limit);
  }

  expireApproval(decisionId: string, outcome: string, now: number): boolean {
    this.ping();
    return this.#index.expireApproval(decisionId, outcome, now);
  }

  getEnded(decisionId: string): EndedApproval | undefined {
    this.ping();
    return this.#index.ended.get(decisionId);
  }

  listEnded(query: EndedApprovalQuery): readonly EndedApproval[] {
    this.ping();
    return this.#index.ended.list(query);
  }

  putGrant(grant: Grant): void {
    this.ping();
    this.#index.putGrant(grant);
  }

  listGrants(sessionId: string): readonly Grant[] {
    this.ping();
    return this.#index.grants.list(sessionId);
  }

  acquire(request: AcquireRequest): AcquireOutcome {
    this.ping();
    return this.#leases.acquire(request);
  }

  renew(leases: readonly Lease[], expiresAt: number): readonly boolean[] {
    this.ping();
    return this.#leases.renew(leases, expiresAt);
  }

  release(leases: readonly Lease[]): readonly boolean[] {
    this.ping();
    return this.#leases.release(leases);
  }

  ping(): void {
    if (this.#closed) throw new StoreError('The memory store is closed.');
  }

  close(): void {
    this.#closed = true;
  }

  #appendPart(part: AppendPart): AppendOutcome {
    if (!this.#leases.isCurrent(part.lease)) return FENCED;
    const row = this.#sessions.get(part.lease.key) ?? newRow(part.lease.key);
    if (row.head !== part.firstSeq - 1) return { status: 'conflict', head: row.head };
    const refusal = this.#index.put(part);
    if (refusal !== undefined) return refusal;
    this.#sessions.set(part.lease.key, row);
    const settledSeq = part.terminal && this.#index.getRun(part.terminal.runId)?.settledSeq;
    this.#push(row, groupOf(part, { settles: settledSeq === undefined }));
    if (settledSeq !== undefined) return { status: 'lost', settledSeq };
    if (part.terminal !== undefined) this.#index.settle(part.terminal, part.lease.key, row.head);
    return WRITTEN;
  }

  #push(row: SessionRow, group: Group): void {
    if (group.lastSeq < group.firstSeq) return;
    row.groups.push(group);
    row.head = group.lastSeq;
    this.#filled.delete(row);
    this.#filled.add(row);
    this.#grow(row, sizeOf(group));
  }

  /** The session written last keeps its entries: somebody is reading them. */
  #evict(): void {
    while (this.#sizes.total() > this.#limits.journalBytesMax && this.#filled.size > 1) {
      const [oldest] = this.#filled;
      if (oldest !== undefined) this.#dropOldest(oldest);
    }
  }

  #dropOldest(row: SessionRow): void {
    const group = row.groups.shift();
    if (group === undefined) return;
    row.floor = group.lastSeq;
    this.#grow(row, -sizeOf(group));
    if (row.groups.length > 0) return;
    this.#filled.delete(row);
    this.#index.emptied(row.sessionId);
  }

  #grow(row: SessionRow, bytes: number): void {
    row.bytes += bytes;
    this.#sizes.add(row.sessionId, bytes);
  }
}

const newRow = (sessionId: string): SessionRow => ({
  sessionId,
  groups: [],
  head: 0,
  floor: 0,
  bytes: 0,
});

/** The groups from the one that holds `from` on, found by halving. */
function* groupsFrom(groups: readonly Group[], from: number): Iterable<Group> {
  let low = 0;
  let high = groups.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((groups[middle]?.lastSeq ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < groups.length; i += 1) yield groups[i] as Group;
}
