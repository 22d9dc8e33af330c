import {
  type AcquireOutcome,
  type AcquireRequest,
  type AppendOutcome,
  type AppendPart,
  type ApprovalQuery,
  type Awaitable,
  type Bus,
  type DecideOutcome,
  type EndedApproval,
  type EndedApprovalQuery,
  type Grant,
  type JournalPage,
  type Lease,
  type PageLimits,
  type Realm,
  type RunInStore,
  type RunQuery,
  type SessionQuery,
  type Store,
  type StoredApproval,
  type StoredRun,
  type StoredSession,
  StoreError,
} from './store.ts';

export interface WatchOptions {
  /** The store refused a write and had refused none before. */
  readonly onRefused: (error: unknown) => void;
  /** It took one again. Called within that write, so nothing may be written in it. */
  readonly onTaken: () => void;
  /**
   * Which approval of a parked run expires first may be another now. Called within a write, so nothing
   * may be written in it.
   */
  readonly onExpiring?: () => void;
}

/** Small writes may still fit where entries do not, so they are told apart. */
type Kind = 'entries' | 'leases';

/**
 * A store that remembers whether it takes writes: to answer a ping is not to have room.
 *
 * WS1. A refused write is remembered until one of its kind is taken; an append that is taken clears
 *      both kinds.
 * WS2. Answers and errors pass through unchanged, and at once where the engine answers at once.
 * WS3. What is refused because the store was closed counts for nothing.
 * WS4. Whoever waits for an approval of a parked run to expire hears of each write that changes which
 *      one is the first.
 */
export class WatchedStore implements Store {
  readonly #store: Store;
  readonly #options: WatchOptions;
  readonly #refused = new Map<Kind, string>();
  #closed = false;

  constructor(store: Store, options: WatchOptions) {
    this.#store = store;
    this.#options = options;
  }

  get backend(): string {
    return this.#store.backend;
  }

  get bus(): Bus {
    return this.#store.bus;
  }

  /** Why the last write was refused, free of paths; undefined while writes are taken. */
  get refusal(): string | undefined {
    return this.#refused.get('entries') ?? this.#refused.get('leases');
  }

  append(parts: readonly AppendPart[]): Awaitable<readonly AppendOutcome[]> {
    const answer = this.#watch('entries', () => this.#store.append(parts));
    if (!parts.some(changesExpiries)) return answer;
    return this.#then(answer, () => true);
  }

  read(sessionId: string, from: number, limits: PageLimits): Awaitable<JournalPage> {
    return this.#store.read(sessionId, from, limits);
  }

  head(sessionId: string): Awaitable<number> {
    return this.#store.head(sessionId);
  }

  trim(sessionId: string, through: number): Awaitable<number> {
    return this.#watch('leases', () => this.#store.trim(sessionId, through));
  }

  bytes(sessionId: string): Awaitable<number> {
    return this.#store.bytes(sessionId);
  }

  totalBytes(realm?: Realm): Awaitable<number> {
    return this.#store.totalBytes(realm);
  }

  putRecord(run: RunInStore, lease: Lease | undefined): Awaitable<boolean> {
    return this.#watch('leases', () => this.#store.putRecord(run, lease));
  }

  getRecord(runId: string): Awaitable<StoredRun | undefined> {
    return this.#store.getRecord(runId);
  }

  listRecords(query: RunQuery): Awaitable<readonly StoredRun[]> {
    return this.#store.listRecords(query);
  }

  getStart(key: string): ReturnType<Store['getStart']> {
    return this.#store.getStart(key);
  }

  getCheckpoint(runId: string): Awaitable<string | undefined> {
    return this.#store.getCheckpoint(runId);
  }

  discard(runId: string, outcome?: string): Awaitable<boolean> {
    const answer = this.#watch('leases', () => this.#store.discard(runId, outcome));
    return this.#then(answer, (isDone) => isDone);
  }

  getLog(runId: string): Awaitable<string | undefined> {
    return this.#store.getLog(runId);
  }

  forgetRuns(before: string, limit: number): Awaitable<number> {
    return this.#watch('leases', () => this.#store.forgetRuns(before, limit));
  }

  listSessions(query: SessionQuery): Awaitable<readonly StoredSession[]> {
    return this.#store.listSessions(query);
  }

  getSession(sessionId: string): Awaitable<StoredSession | undefined> {
    return this.#store.getSession(sessionId);
  }

  getTranscript(sessionId: string): Awaitable<string | undefined> {
    return this.#store.getTranscript(sessionId);
  }

  decideApproval(decisionId: string, outcome: string, now: number): Awaitable<DecideOutcome> {
    const answer = this.#watch('leases', () =>
      this.#store.decideApproval(decisionId, outcome, now),
    );
    return this.#then(answer, (decided) => decided?.won === true);
  }

  getApproval(decisionId: string): Awaitable<StoredApproval | undefined> {
    return this.#store.getApproval(decisionId);
  }

  listApprovals(query: ApprovalQuery): Awaitable<readonly StoredApproval[]> {
    return this.#store.listApprovals(query);
  }

  listExpiring(limit: number): Awaitable<readonly StoredApproval[]> {
    return this.#store.listExpiring(limit);
  }

  expireApproval(decisionId: string, outcome: string, now: number): Awaitable<boolean> {
    return this.#watch('leases', () => this.#store.expireApproval(decisionId, outcome, now));
  }

  getEnded(decisionId: string): Awaitable<EndedApproval | undefined> {
    return this.#store.getEnded(decisionId);
  }

  listEnded(query: EndedApprovalQuery): Awaitable<readonly EndedApproval[]> {
    return this.#store.listEnded(query);
  }

  putGrant(grant: Grant): Awaitable<void> {
    return this.#watch('leases', () => this.#store.putGrant(grant));
  }

  listGrants(sessionId: string): Awaitable<readonly Grant[]> {
    return this.#store.listGrants(sessionId);
  }

  acquire(request: AcquireRequest): Awaitable<AcquireOutcome> {
    return this.#watch('leases', () => this.#store.acquire(request));
  }

  renew(leases: readonly Lease[], expiresAt: number): Awaitable<readonly boolean[]> {
    return this.#watch('leases', () => this.#store.renew(leases, expiresAt));
  }

  release(leases: readonly Lease[]): Awaitable<readonly boolean[]> {
    return this.#watch('leases', () => this.#store.release(leases));
  }

  ping(): Awaitable<void> {
    return this.#store.ping();
  }

  close(): Awaitable<void> {
    this.#closed = true;
    return this.#store.close();
  }

  /** Tells of a write that changed something, at once where the engine answers at once. */
  #then<T>(answer: Awaitable<T>, hasChanged: (value: T) => boolean): Awaitable<T> {
    const tell = (value: T): T => {
      if (hasChanged(value)) this.#options.onExpiring?.();
      return value;
    };
    return answer instanceof Promise ? answer.then(tell) : tell(answer);
  }

  #watch<T>(kind: Kind, write: () => Awaitable<T>): Awaitable<T> {
    try {
      const answer = write();
      if (answer instanceof Promise) return this.#wait(kind, answer);
      this.#take(kind);
      return answer;
    } catch (error) {
      this.#refuse(kind, error);
      throw error;
    }
  }

  async #wait<T>(kind: Kind, answer: Promise<T>): Promise<T> {
    try {
      const value = await answer;
      this.#take(kind);
      return value;
    } catch (error) {
      this.#refuse(kind, error);
      throw error;
    }
  }

  #take(kind: Kind): void {
    if (this.#refused.size === 0) return;
    if (kind === 'entries') this.#refused.clear();
    else this.#refused.delete(kind);
    if (this.#refused.size === 0) this.#options.onTaken();
  }

  #refuse(kind: Kind, error: unknown): void {
    if (this.#closed) return;
    const isFirst = this.#refused.size === 0;
    this.#refused.set(kind, reasonOf(error));
    if (isFirst) this.#options.onRefused(error);
  }
}

/** Runs that park with approvals, and runs that go on with parked ones. */
const changesExpiries = ({ terminal, continues }: AppendPart): boolean =>
  continues !== undefined || (terminal?.parked?.approvals.length ?? 0) > 0;

/** An engine's own words may hold anything, so only reasons of ours are told. */
export const reasonOf = (error: unknown): string =>
  (error instanceof StoreError ? error.reason : undefined) ?? 'the store does not answer';
