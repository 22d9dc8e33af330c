import { createLocalBus } from './bus.ts';
import { type Group, groupOf, pageOf } from './groups.ts';
import {
  type AcquireOutcome,
  type AcquireRequest,
  type AppendOutcome,
  type AppendPart,
  FENCED,
  type JournalPage,
  type Lease,
  type PageLimits,
  type RunQuery,
  type Store,
  type StoredRun,
  StoreError,
  WRITTEN,
} from './store.ts';

/** What bounds a store that never writes to disk. */
export interface MemoryLimits {
  /** Characters of JSON over all sessions; beyond it the oldest of the session idle longest go. */
  readonly journalBytesMax: number;
  /** Records of settled runs; beyond it the one settled first is forgotten. */
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
  groups: Group[];
  head: number;
  floor: number;
}

interface LeaseRow {
  owner: string;
  generation: number;
  expiresAt: number;
}

class MemoryStore implements Store {
  readonly backend = 'memory';
  readonly bus = createLocalBus();
  readonly #limits: MemoryLimits;
  readonly #sessions = new Map<string, SessionRow>();
  readonly #leases = new Map<string, LeaseRow>();
  readonly #runs = new Map<string, StoredRun>();
  /** Sessions that have entries, the one written least recently first. */
  readonly #filled = new Set<SessionRow>();
  readonly #settled: string[] = [];
  #bytes = 0;
  #closed = false;

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
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

  putRecord(run: Omit<StoredRun, 'settledSeq'>, lease: Lease | undefined): boolean {
    this.ping();
    const held = (this.#leases.get(run.sessionId)?.owner ?? '') !== '';
    if (lease === undefined ? held : !this.#isCurrent(lease)) return false;
    this.#putRun(run);
    return true;
  }

  getRecord(runId: string): StoredRun | undefined {
    this.ping();
    return this.#runs.get(runId);
  }

  listRecords({ sessionId, unsettled, before, limit }: RunQuery): readonly StoredRun[] {
    this.ping();
    return [...this.#runs.values()]
      .filter(
        (run) =>
          (sessionId === undefined || run.sessionId === sessionId) &&
          (unsettled === undefined || run.settledSeq === undefined) &&
          (before === undefined || run.runId < before),
      )
      .sort((a, b) => (a.runId < b.runId ? 1 : -1))
      .slice(0, limit);
  }

  acquire({ key, owner, now, ttlMs }: AcquireRequest): AcquireOutcome {
    this.ping();
    const row = this.#leases.get(key);
    const free = row === undefined || row.owner === '' || row.expiresAt <= now;
    if (!free && row.owner !== owner) {
      return { acquired: false, owner: row.owner, expiresAt: row.expiresAt };
    }
    const generation = (row?.generation ?? 0) + 1;
    this.#leases.set(key, { owner, generation, expiresAt: now + ttlMs });
    return { acquired: true, lease: { key, owner, generation } };
  }

  renew(leases: readonly Lease[], expiresAt: number): readonly boolean[] {
    this.ping();
    return leases.map((lease) => this.#change(lease, { owner: lease.owner, expiresAt }));
  }

  release(leases: readonly Lease[]): readonly boolean[] {
    this.ping();
    return leases.map((lease) => this.#change(lease, { owner: '', expiresAt: 0 }));
  }

  ping(): void {
    if (this.#closed) throw new StoreError('The memory store is closed.');
  }

  close(): void {
    this.#closed = true;
  }

  #appendPart(part: AppendPart): AppendOutcome {
    if (!this.#isCurrent(part.lease)) return FENCED;
    const row = this.#sessions.get(part.lease.key) ?? { groups: [], head: 0, floor: 0 };
    if (row.head !== part.firstSeq - 1) return { status: 'conflict', head: row.head };
    this.#sessions.set(part.lease.key, row);
    for (const { runId, record } of part.records ?? []) {
      this.#putRun({ runId, sessionId: part.lease.key, record });
    }
    const settledSeq = part.terminal && this.#runs.get(part.terminal.runId)?.settledSeq;
    const settles = part.terminal !== undefined && settledSeq === undefined;
    this.#push(row, groupOf(part, { settles }));
    if (settles) this.#settle(part, row.head);
    return settledSeq === undefined ? WRITTEN : { status: 'lost', settledSeq };
  }

  #putRun(run: Omit<StoredRun, 'settledSeq'>): void {
    this.#runs.set(run.runId, { ...run, settledSeq: this.#runs.get(run.runId)?.settledSeq });
  }

  #push(row: SessionRow, group: Group): void {
    if (group.lastSeq < group.firstSeq) return;
    row.groups.push(group);
    row.head = group.lastSeq;
    this.#filled.delete(row);
    this.#filled.add(row);
    this.#bytes += group.body.length;
  }

  #settle({ terminal, lease }: AppendPart, settledSeq: number): void {
    if (terminal === undefined) return;
    const { runId } = terminal;
    const record = terminal.record ?? this.#runs.get(runId)?.record ?? '{}';
    this.#runs.set(runId, { runId, sessionId: lease.key, record, settledSeq });
    this.#settled.push(runId);
    if (this.#settled.length <= this.#limits.settledRunsMax) return;
    const oldest = this.#settled.shift();
    if (oldest !== undefined) this.#runs.delete(oldest);
  }

  /** The session written last keeps its entries: somebody is reading them. */
  #evict(): void {
    while (this.#bytes > this.#limits.journalBytesMax && this.#filled.size > 1) {
      const [oldest] = this.#filled;
      if (oldest !== undefined) this.#dropOldest(oldest);
    }
  }

  #dropOldest(row: SessionRow): void {
    const group = row.groups.shift();
    if (group === undefined) return;
    row.floor = group.lastSeq;
    this.#bytes -= group.body.length;
    if (row.groups.length === 0) this.#filled.delete(row);
  }

  #isCurrent({ key, owner, generation }: Lease): boolean {
    const row = this.#leases.get(key);
    return row !== undefined && row.owner === owner && row.generation === generation;
  }

  #change(lease: Lease, change: Omit<LeaseRow, 'generation'>): boolean {
    if (!this.#isCurrent(lease)) return false;
    this.#leases.set(lease.key, { ...change, generation: lease.generation });
    return true;
  }
}

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
