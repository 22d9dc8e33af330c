import type { Clock } from '../clock.ts';
import { StoreUnavailableError } from '../errors.ts';
import type {
  ApprovalStore,
  Awaitable,
  GrantStore,
  RunQuery,
  SessionStore,
  Store,
  StoredRun,
} from '../stores/store.ts';
import { storedEntry } from './envelope.ts';
import { JournalClosedError, LeaseLostError } from './errors.ts';
import { Hub } from './hub.ts';
import { type JournalLimits, journalLimits } from './limits.ts';
import { type JournalLog, SILENT_LOG } from './log.ts';
import type { Follower, FollowOptions, JournalReader, JournalSink, StoredEntry } from './reader.ts';
import { type RunJournal, SessionRunJournal } from './run-journal.ts';
import type { Session, SessionRun } from './session.ts';
import { Sessions } from './sessions.ts';
import { Writer } from './writer.ts';

export interface JournalOptions {
  /** Stays open when the journal closes: whoever opened it closes it. */
  readonly store: Store;
  readonly clock: Clock;
  /** Names this process and start, and no other, in the leases. */
  readonly ownerId: string;
  readonly limits?: Partial<JournalLimits>;
  readonly log?: JournalLog;
  /**
   * Runs a function after the current turn of the event loop, so that what one turn brought goes to
   * the store together. Default `setImmediate`; a test gives one that it drives.
   */
  readonly schedule?: (fn: () => void) => void;
  /** Told of all that the store took, once those who follow the session have it. Must not throw. */
  readonly onStored?: (entries: readonly StoredEntry[]) => void;
}

type Promised<T> = {
  [Key in keyof T]: T[Key] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** What is kept beside the entries, to be looked up. */
export type JournalIndex = Promised<
  SessionStore &
    ApprovalStore &
    GrantStore &
    Pick<
      Store,
      'getStart' | 'getCheckpoint' | 'getLog' | 'bytes' | 'totalBytes' | 'discard' | 'forgetRuns'
    >
>;

/** The ordered, durable streams of all sessions, and the index of their runs. */
export interface Journal extends JournalReader {
  /**
   * Opens a run for writing. Rejects with `SessionHeldError` while another process holds the
   * session, with `StoreUnavailableError` or `JournalClosedError`.
   */
  openRun(sessionId: string, runId: string): Promise<RunJournal>;
  /**
   * Replaces a run's record, a JSON text. False when another process holds the session. Rejects with
   * `StoreUnavailableError`, or `LeaseLostError` once the session was taken from this one.
   */
  putRecord(runId: string, sessionId: string, json: string): Promise<boolean>;
  getRecord(runId: string): Promise<StoredRun | undefined>;
  listRecords(query: RunQuery): Promise<readonly StoredRun[]>;
  /** The store's other contracts; each rejects with `StoreUnavailableError`. */
  readonly index: JournalIndex;
  /** Lets entries up to `through` go; followers that have not read them are told of the gap. */
  trim(sessionId: string, through: number): Promise<number>;
  /** Resolves when everything appended so far, by any run, is durable or refused. */
  drain(): Promise<void>;
  /** Writes what is queued, gives the leases back and closes the followers. Never rejects. */
  close(): Promise<void>;
}

/** Makes the journal of a process. Throws `RangeError` for limits that make no sense. */
export function createJournal(options: JournalOptions): Journal {
  return new StoreJournal(options);
}

class StoreJournal implements Journal {
  readonly index: JournalIndex;
  readonly #store: Store;
  readonly #now: () => number;
  readonly #log: JournalLog;
  readonly #limits: JournalLimits;
  readonly #hub: Hub;
  readonly #writer: Writer;
  readonly #sessions: Sessions;
  #closing: Promise<void> | undefined;

  constructor(options: JournalOptions) {
    const { store, clock, ownerId, limits: given, log: logger, schedule, onStored } = options;
    const limits = journalLimits(given);
    const log = logger ?? SILENT_LOG;
    const later = schedule ?? ((fn: () => void) => void setImmediate(fn));
    const now = () => clock.now();
    this.#store = store;
    this.index = indexOf(store, (call) => this.#call(call));
    this.#now = now;
    this.#log = log;
    this.#limits = limits;
    const durable = (sessionId: string) => this.#sessions.get(sessionId)?.durable;
    this.#hub = new Hub({ store, limits, log, later, durable });
    this.#writer = new Writer({
      store,
      now,
      log,
      queueBytesMax: limits.queueBytesMax,
      schedule: later,
      publish: (sessionId, entries) => {
        this.#hub.publish(sessionId, entries);
        onStored?.(entries);
      },
    });
    this.#sessions = new Sessions({ store, clock, ownerId, limits, log, writer: this.#writer });
  }

  async openRun(sessionId: string, runId: string): Promise<RunJournal> {
    checkId('sessionId', sessionId);
    checkId('runId', runId);
    if (this.#closing !== undefined) throw new JournalClosedError();
    const leave = (session: Session, run: SessionRun) => this.#sessions.leave(session, run);
    const deps = { writer: this.#writer, now: this.#now, log: this.#log, leave };
    const joined: SessionRunJournal[] = [];
    await this.#sessions.join(sessionId, (session) => {
      const run = new SessionRunJournal(deps, session, runId);
      joined.push(run);
      return run;
    });
    const [run] = joined as [SessionRunJournal]; // `join` makes one before it resolves.
    try {
      const stored = await this.getRecord(runId);
      if (stored?.settledSeq !== undefined) run.settledBefore(stored.settledSeq);
      return run;
    } catch (error) {
      await run.release();
      throw error;
    }
  }

  async putRecord(runId: string, sessionId: string, json: string): Promise<boolean> {
    const session = this.#sessions.get(sessionId);
    const run = { runId, sessionId, record: json };
    const stored = await this.#call(() => this.#store.putRecord(run, session?.lease));
    if (!stored && session !== undefined) throw new LeaseLostError(sessionId);
    return stored;
  }

  getRecord(runId: string): Promise<StoredRun | undefined> {
    return this.#call(() => this.#store.getRecord(runId));
  }

  listRecords(query: RunQuery): Promise<readonly StoredRun[]> {
    return this.#call(() => this.#store.listRecords(query));
  }

  trim(sessionId: string, through: number): Promise<number> {
    return this.#call(() => this.#store.trim(sessionId, through));
  }

  follow(options: FollowOptions, sink: JournalSink): Follower {
    return this.#hub.follow(options, sink);
  }

  head(sessionId: string): Promise<number> {
    return this.#call(() => this.#store.head(sessionId));
  }

  async read(sessionId: string, from: number, limit: number): Promise<readonly StoredEntry[]> {
    const { pageBytesMax: bytesMax } = this.#limits;
    const limits = { entriesMax: limit, bytesMax };
    const page = await this.#call(() => this.#store.read(sessionId, Math.max(1, from), limits));
    return page.lines.map((line, i) => storedEntry(sessionId, page.firstSeq + i, line));
  }

  drain(): Promise<void> {
    return this.#writer.drain();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#sessions.close();
    this.#hub.close();
  }

  async #call<T>(call: () => Awaitable<T>): Promise<T> {
    try {
      return await call();
    } catch (cause) {
      throw cause instanceof StoreUnavailableError ? cause : new StoreUnavailableError(cause);
    }
  }
}

type Call = <T>(call: () => Awaitable<T>) => Promise<T>;

const indexOf = (store: Store, call: Call): JournalIndex => ({
  listSessions: (query) => call(() => store.listSessions(query)),
  getSession: (sessionId) => call(() => store.getSession(sessionId)),
  getTranscript: (sessionId) => call(() => store.getTranscript(sessionId)),
  decideApproval: (id, outcome, now) => call(() => store.decideApproval(id, outcome, now)),
  getApproval: (id) => call(() => store.getApproval(id)),
  listApprovals: (query) => call(() => store.listApprovals(query)),
  listExpiring: (limit) => call(() => store.listExpiring(limit)),
  expireApproval: (id, outcome, now) => call(() => store.expireApproval(id, outcome, now)),
  getEnded: (id) => call(() => store.getEnded(id)),
  listEnded: (query) => call(() => store.listEnded(query)),
  putGrant: (grant) => call(() => store.putGrant(grant)),
  listGrants: (sessionId) => call(() => store.listGrants(sessionId)),
  getStart: (key) => call(() => store.getStart(key)),
  getCheckpoint: (runId) => call(() => store.getCheckpoint(runId)),
  getLog: (runId) => call(() => store.getLog(runId)),
  bytes: (sessionId) => call(() => store.bytes(sessionId)),
  totalBytes: (realm) => call(() => store.totalBytes(realm)),
  discard: (runId, outcome) => call(() => store.discard(runId, outcome)),
  forgetRuns: (before, limit) => call(() => store.forgetRuns(before, limit)),
});

/** A name that would not come back from a store as it went in is refused. */
function checkId(field: string, id: string): void {
  if (id !== '' && id.length <= 1_024 && id.isWellFormed() && !id.includes('\0')) return;
  throw new RangeError(
    `"${field}" is not usable; give 1 to 1024 characters of well-formed text without NUL.`,
  );
}
