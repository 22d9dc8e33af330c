import type { StatementSync } from 'node:sqlite';
import { createLocalBus } from './bus.ts';
import { type Group, groupOf, pageOf } from './groups.ts';
import { SqliteArchive } from './sqlite-archive.ts';
import { SqliteCheckpointer } from './sqlite-checkpointer.ts';
import { type Durability, SqliteFile } from './sqlite-file.ts';
import { SqliteIndex } from './sqlite-index.ts';
import { SqliteLeases } from './sqlite-leases.ts';
import { MOVE_LIMITS, type MoveLimits, SqliteMover } from './sqlite-mover.ts';
import { SqliteOwners } from './sqlite-owners.ts';
import { SqliteTail, type TailPart } from './sqlite-tail.ts';
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
  lastSeqOf,
  type PageLimits,
  type Realm,
  type RunInStore,
  type RunQuery,
  type SessionQuery,
  type Store,
  type StoredApproval,
  type StoredRun,
  type StoredSession,
  WRITTEN,
} from './store.ts';

/** How long a write waits for another process before it fails; the event loop waits with it. */
const BUSY_MS = 2_000;

/** SQLite's default. */
const PAGE_BYTES = 4_096;

/** About how many pages change with a trim, and with each run that is forgotten or discarded. */
const PAGES_A_TRIM = 16;
const PAGES_A_RUN = 8;

export interface SqliteStoreOptions {
  /** The database file; its directory is made. */
  readonly path: string;
  /** Default `process`. */
  readonly durability?: Durability;
  readonly limits?: Partial<MoveLimits>;
}

/**
 * Opens a store in one SQLite file, in write-ahead mode, and answers every call at once. Several
 * processes may have the file open. Throws `StoreError` when it cannot be used.
 */
export function openSqliteStore({ path, durability, limits }: SqliteStoreOptions): Store {
  const file = new SqliteFile({ path, durability: durability ?? 'process', busyMs: BUSY_MS });
  return new SqliteStore(file, { ...MOVE_LIMITS, ...limits });
}

class SqliteStore implements Store {
  readonly backend = 'sqlite';
  readonly bus = createLocalBus();
  readonly #file: SqliteFile;
  readonly #archive: SqliteArchive;
  readonly #tail: SqliteTail;
  readonly #mover: SqliteMover;
  readonly #leases: SqliteLeases;
  readonly #owners: SqliteOwners;
  readonly #index: SqliteIndex;
  readonly #checkpointer: SqliteCheckpointer;
  readonly #dataVersion: StatementSync;
  #seenVersion = -1;

  constructor(file: SqliteFile, limits: MoveLimits) {
    this.#file = file;
    this.#archive = new SqliteArchive(file);
    this.#tail = new SqliteTail(file, this.#archive);
    this.#mover = new SqliteMover(this.#tail, this.#archive, limits);
    this.#leases = new SqliteLeases(file);
    this.#owners = new SqliteOwners(file.path);
    this.#index = new SqliteIndex(file);
    this.#checkpointer = new SqliteCheckpointer(file);
    this.#dataVersion = file.prepare('PRAGMA data_version');
  }

  append(parts: readonly AppendPart[]): readonly AppendOutcome[] {
    const kept: TailPart[] = [];
    const { outcomes, afterMove } = this.#file.write(() => {
      this.#follow();
      const outcomes = parts.map((part) => this.#appendPart(part, kept));
      if (kept.length > 0) this.#tail.write(kept);
      return { outcomes, afterMove: this.#mover.step() };
    });
    afterMove?.();
    if (kept.length > 0) this.#tail.keep(kept);
    this.#checkpointer.wrote(pagesOf(kept, parts));
    return outcomes;
  }

  read(sessionId: string, from: number, limits: PageLimits): JournalPage {
    return this.#file.guard(() => {
      this.#follow();
      const floor = this.#archive.floor(sessionId);
      return pageOf(this.#groups(sessionId, from), from, { limits, floor });
    });
  }

  head(sessionId: string): number {
    return this.#file.guard(() => {
      this.#follow();
      return this.#head(sessionId);
    });
  }

  trim(sessionId: string, through: number): number {
    const floor = this.#file.write(() => {
      this.#follow();
      const hadEntries = this.#hasEntries(sessionId);
      const floor = this.#trim(sessionId, through);
      if (hadEntries && !this.#hasEntries(sessionId)) this.#index.emptied(sessionId);
      return floor;
    });
    this.#tail.trimmed(sessionId, floor);
    this.#checkpointer.wrote(PAGES_A_TRIM);
    return floor;
  }

  bytes(sessionId: string): number {
    return this.#file.guard(() => {
      this.#follow();
      const archived = this.#archive.bytes(sessionId);
      return archived + this.#tail.bytesOf(sessionId, this.#archive.head(sessionId));
    });
  }

  totalBytes(realm?: Realm): number {
    return this.#file.guard(() => {
      this.#follow();
      return this.#archive.totalBytes(realm) + this.#tail.totalBytes(realm);
    });
  }

  putRecord(run: RunInStore, lease: Lease | undefined): boolean {
    return this.#file.write(() => {
      this.#follow();
      const refused =
        lease === undefined ? this.#leases.isHeld(run.sessionId) : !this.#leases.isCurrent(lease);
      if (!refused) this.#index.putRun(run);
      return !refused;
    });
  }

  getRecord(runId: string): StoredRun | undefined {
    return this.#file.guard(() => this.#index.runs.get(runId));
  }

  listRecords(query: RunQuery): readonly StoredRun[] {
    return this.#file.guard(() => this.#index.runs.list(query));
  }

  getStart(key: string): { readonly runId: string; readonly digest: string } | undefined {
    return this.#file.guard(() => this.#index.texts.start(key));
  }

  getCheckpoint(runId: string): string | undefined {
    return this.#file.guard(() => this.#index.texts.checkpoint(runId));
  }

  getLog(runId: string): string | undefined {
    return this.#file.guard(() => this.#index.texts.log(runId));
  }

  discard(runId: string, outcome?: string): boolean {
    const isDone = this.#file.write(() => this.#index.discard(runId, outcome));
    if (isDone) this.#checkpointer.wrote(PAGES_A_RUN);
    return isDone;
  }

  forgetRuns(before: string, limit: number): number {
    const runs = this.#file.write(() => {
      this.#follow();
      return this.#index.forget({ before, limit }, (id) => this.#hasEntries(id));
    });
    this.#checkpointer.wrote(runs * PAGES_A_RUN);
    return runs;
  }

  listSessions(query: SessionQuery): readonly StoredSession[] {
    return this.#file.guard(() => this.#index.sessions.list(query));
  }

  getSession(sessionId: string): StoredSession | undefined {
    return this.#file.guard(() => this.#index.sessions.get(sessionId));
  }

  getTranscript(sessionId: string): string | undefined {
    return this.#file.guard(() => this.#index.sessions.transcript(sessionId));
  }

  decideApproval(decisionId: string, outcome: string, now: number): DecideOutcome {
    return this.#file.write(() => {
      const won = this.#index.approvals.decide(decisionId, outcome, now);
      const approval = this.#index.approvals.get(decisionId);
      return approval && { won, approval };
    });
  }

  getApproval(decisionId: string): StoredApproval | undefined {
    return this.#file.guard(() => this.#index.approvals.get(decisionId));
  }

  listApprovals(query: ApprovalQuery): readonly StoredApproval[] {
    return this.#file.guard(() => this.#index.approvals.list(query));
  }

  listExpiring(limit: number): readonly StoredApproval[] {
    return this.#file.guard(() => this.#index.approvals.listExpiring(limit));
  }

  expireApproval(decisionId: string, outcome: string, now: number): boolean {
    return this.#file.write(() => this.#index.approvals.expire(decisionId, outcome, now));
  }

  getEnded(decisionId: string): EndedApproval | undefined {
    return this.#file.guard(() => this.#index.ended.get(decisionId));
  }

  listEnded(query: EndedApprovalQuery): readonly EndedApproval[] {
    return this.#file.guard(() => this.#index.ended.list(query));
  }

  putGrant(grant: Grant): void {
    this.#file.write(() => this.#index.grants.put(grant));
  }

  listGrants(sessionId: string): readonly Grant[] {
    return this.#file.guard(() => this.#index.grants.list(sessionId));
  }

  /** A session is not begun in a file that will be gone. */
  acquire(request: AcquireRequest): AcquireOutcome {
    this.#file.guard(() => this.#file.checkInPlace());
    this.#leases.forget(request.key);
    this.#owners.hold(request.owner, request.now);
    const outcome = this.#file.write(() => this.#leases.acquire(request));
    if (outcome.acquired || !this.#owners.isGone(outcome.owner)) return outcome;
    return this.#file.write(() => this.#leases.acquire(request, outcome.owner));
  }

  renew(leases: readonly Lease[], expiresAt: number): readonly boolean[] {
    return this.#leases.renew(leases, expiresAt);
  }

  release(leases: readonly Lease[]): readonly boolean[] {
    return this.#leases.release(leases);
  }

  join(owner: string, now: number): number {
    this.#owners.hold(owner, now);
    return this.#owners.others();
  }

  ping(): void {
    this.#file.guard(() => {
      this.#dataVersion.get();
      this.#file.checkInPlace();
    });
  }

  async close(): Promise<void> {
    await this.#checkpointer.close();
    this.#file.close();
    this.#owners.close();
  }

  /** Takes notice of what other connections did since the last call. */
  #follow(): void {
    const { data_version: version } = this.#dataVersion.get() as { data_version: number };
    if (version === this.#seenVersion) return;
    this.#leases.forget();
    this.#tail.refresh();
    this.#seenVersion = version;
  }

  #appendPart(part: AppendPart, kept: TailPart[]): AppendOutcome {
    const sessionId = part.lease.key;
    if (!this.#leases.isCurrent(part.lease)) return FENCED;
    const head = this.#head(sessionId);
    if (head !== part.firstSeq - 1) return { status: 'conflict', head };
    const refusal = this.#index.put(part);
    if (refusal !== undefined) return refusal;
    const settledSeq =
      part.terminal && this.#index.settle(part.terminal, sessionId, lastSeqOf(part));
    const group = groupOf(part, { settles: settledSeq === undefined });
    if (group.lastSeq >= group.firstSeq) kept.push({ sessionId, group });
    return settledSeq === undefined ? WRITTEN : { status: 'lost', settledSeq };
  }

  /**
   * Entries that were not moved yet go once no row of the archive is before them. They leave the
   * disk with their rows of the tail, which the floor keeps from being read.
   */
  #trim(sessionId: string, through: number): number {
    const floor = this.#archive.trim(sessionId, through);
    if (this.#archive.hasRows(sessionId)) return floor;
    const last = this.#tail.groups(sessionId).findLast(({ lastSeq }) => lastSeq <= through);
    if (last === undefined || last.lastSeq <= floor) return floor;
    return this.#archive.raiseFloor(sessionId, last.lastSeq);
  }

  #hasEntries(sessionId: string): boolean {
    return this.#head(sessionId) > this.#archive.floor(sessionId);
  }

  #head(sessionId: string): number {
    return this.#tail.lastSeq(sessionId) ?? this.#archive.head(sessionId);
  }

  /** The archive is asked only for what memory does not have. */
  *#groups(sessionId: string, from: number): Iterable<Group> {
    const newest = this.#tail.groups(sessionId);
    if (newest[0] === undefined || newest[0].firstSeq > from) {
      yield* this.#archive.groups(sessionId, from);
    }
    yield* newest;
  }
}

/** About how many pages the log grew by: the row, the page it ends on, and a share of the moves. */
function pagesOf(kept: readonly TailPart[], parts: readonly AppendPart[]): number {
  let bytes = 0;
  for (const { group } of kept) bytes += group.body.length;
  let texts = 0;
  for (const part of parts) {
    if (part.checkpoints ?? part.endedApprovals ?? part.terminal) texts += textsOf(part);
  }
  return 2 + (2 * bytes + texts) / PAGE_BYTES;
}

/** Characters that a part brings to the tables beside the entries. */
function textsOf({ checkpoints = [], endedApprovals = [], terminal }: AppendPart): number {
  const { transcript, log, parked } = terminal ?? {};
  const texts = [transcript, log, parked?.checkpoint];
  for (const { checkpoint } of checkpoints) texts.push(checkpoint);
  for (const { record, outcome } of endedApprovals) texts.push(record, outcome);
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
