import { SupervisorError } from '../errors.ts';

/**
 * What the product keeps outside the process, in small contracts: the journal, the index of runs,
 * the leases, and a bus of wake-ups. An engine may answer at once or with a promise; callers treat
 * both alike. One contract suite runs against every engine.
 */

/** Engines in the process answer at once, remote ones later. */
export type Awaitable<T> = T | Promise<T>;

/**
 * A process's right to write a session. `generation` grows by at least one at every acquisition of
 * the key, so that whoever was held up learns that it is no longer the writer.
 */
export interface Lease {
  /** For a journal: the session's id. */
  readonly key: string;
  readonly owner: string;
  readonly generation: number;
}

/** The entry that settles a run; its `seq` follows the last of the part's other entries. */
export interface TerminalLine {
  readonly runId: string;
  readonly line: string;
  /** The run's record from then on, stored in the same transaction; without it the old one stays. */
  readonly record?: string;
  /** The session's transcript from then on. */
  readonly transcript?: string;
  /** The transitions that the run's charts took, kept as long as the run's record. */
  readonly log?: string;
  /** The run ends resumable; for any other end its checkpoint is deleted. */
  readonly parked?: {
    readonly checkpoint: string;
    /** As in {@link StoredRun}. */
    readonly automatic: boolean;
    /** What must be decided before it may be resumed. */
    readonly approvals: readonly ApprovalLine[];
  };
}

/** An approval that outlives its run: it is decided here once, whoever asks. */
export interface ApprovalLine {
  readonly decisionId: string;
  /** JSON text, opaque here. */
  readonly record: string;
  /** Epoch milliseconds; a decision at or after it is refused. */
  readonly expiresAt: number;
}

/** An approval that nobody waits for any more, however it ended. */
export interface EndedApprovalLine extends ApprovalLine {
  /** The run that told of its end. */
  readonly runId: string;
  /** JSON text, opaque here. */
  readonly outcome: string;
}

/** A run's record while it lives. */
export interface RunLine {
  readonly runId: string;
  readonly record: string;
  /**
   * With the first record of a run: a key under which a repeated start finds it again, and a digest
   * of what was asked for. The first run under a key keeps it.
   */
  readonly startKey?: { readonly key: string; readonly digest: string };
}

/** Consecutive entries of one session. A group of parts is one transaction. */
export interface AppendPart {
  /** Its key is the session; checked in the same transaction. */
  readonly lease: Lease;
  readonly firstSeq: number;
  /** How many lines `body` has; 0 with an empty body when there is only a terminal. */
  readonly count: number;
  /** The envelopes' JSON joined by line feeds, which JSON itself never contains. */
  readonly body: string;
  readonly terminal?: TerminalLine;
  /** Replaced in the same transaction whenever the lines are written; before a terminal's record. */
  readonly records?: readonly RunLine[];
  /** Each replaces the run's checkpoint, unless the run has been settled. */
  readonly checkpoints?: readonly { readonly runId: string; readonly checkpoint: string }[];
  /** Of two for the same decision id the first one stays. */
  readonly endedApprovals?: readonly EndedApprovalLine[];
  /**
   * The run `by` goes on with the parked run `runId`, if no other does yet. Otherwise, or when
   * `runId` is not parked, nothing of the part is written and the outcome is `taken`. What nobody has
   * decided of its approvals is let go of: it is asked for by the run that goes on.
   */
  readonly continues?: { readonly runId: string; readonly by: string };
}

/**
 * What became of one part. Parts of one group do not touch each other: one may be written while
 * another is refused.
 *
 * - `written`: every line, the terminal included.
 * - `lost`: the run had been settled before by the entry `settledSeq`; the terminal and its record
 *   were not written, the other lines were.
 * - `fenced`: the lease is no longer current; nothing was written.
 * - `conflict`: `firstSeq` does not follow the session's `head`; nothing was written.
 * - `taken`: `continues` names a run that is not parked, or that the run `by` goes on with already;
 *   nothing was written.
 */
export type AppendOutcome =
  | { readonly status: 'written' }
  | { readonly status: 'lost'; readonly settledSeq: number }
  | { readonly status: 'fenced' }
  | { readonly status: 'conflict'; readonly head: number }
  | { readonly status: 'taken'; readonly by: string | undefined };

export interface PageLimits {
  readonly entriesMax: number;
  /** Characters of JSON; one entry is given however long it is. */
  readonly bytesMax: number;
}

/** Consecutive entries from `firstSeq` on; fewer than asked for only at the head or at a limit. */
export interface JournalPage {
  readonly firstSeq: number;
  readonly lines: readonly string[];
  /** Entries up to here are gone; 0 when none are. */
  readonly floor: number;
  /** False when a limit ended the page and the store has more. */
  readonly complete: boolean;
}

/** All but `append` are safe to call for a session that does not exist. */
export interface JournalStore {
  /** One transaction for all parts, one outcome a part. Rejects when nothing was written. */
  append(parts: readonly AppendPart[]): Awaitable<readonly AppendOutcome[]>;
  read(sessionId: string, from: number, limits: PageLimits): Awaitable<JournalPage>;
  /** Newest `seq` ever written, trimmed or not; 0 when there is none. */
  head(sessionId: string): Awaitable<number>;
  /**
   * Lets entries up to `through` go and answers the new floor. The floor may stay below `through`:
   * entries that were stored together go together, and one call does a bounded piece of work. While
   * the floor moves, another call takes it further.
   */
  trim(sessionId: string, through: number): Awaitable<number>;
  /** Characters of JSON that the session's entries take now; 0 when there are none. */
  bytes(sessionId: string): Awaitable<number>;
  /** The same for all sessions, or for those of a {@link Realm}. */
  totalBytes(realm?: Realm): Awaitable<number>;
}

/**
 * Sessions that share the text up to the first U+001F of their ids, that included. The realm `''` has
 * those without one; it is not all of them: that is a query without a realm.
 */
export type Realm = string;

/** A run as the index keeps it. `record` is opaque here. */
export interface StoredRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly record: string;
  /** The entry that settled it; undefined while it lives. */
  readonly settledSeq: number | undefined;
  /** It ended resumable, and was not discarded. */
  readonly parked: boolean;
  /** Parked, and to be resumed without being asked for: by a start, or by the last decision. */
  readonly automatic: boolean;
  /** The run that goes on with it. */
  readonly continuedBy: string | undefined;
}

/** What a caller gives of a run; the store knows the rest. */
export type RunInStore = Pick<StoredRun, 'runId' | 'sessionId' | 'record'>;

export interface RunQuery {
  readonly sessionId?: string;
  /** Only sessions of this realm. */
  readonly realm?: Realm;
  /** Only runs without a terminal entry: what a start after a crash has to settle. */
  readonly unsettled?: true;
  /** Only parked runs that no other run goes on with. */
  readonly resumable?: true;
  /** Only runs whose id is smaller, which is the cursor of a next page. */
  readonly before?: string;
  readonly limit: number;
}

export interface RunStore {
  /**
   * Replaces a run's record. False, and nothing written, when the lease is not current; without a
   * lease, when somebody holds one for the session.
   */
  putRecord(run: RunInStore, lease: Lease | undefined): Awaitable<boolean>;
  getRecord(runId: string): Awaitable<StoredRun | undefined>;
  /** Greatest run id first, which for UUID v7 is newest first. */
  listRecords(query: RunQuery): Awaitable<readonly StoredRun[]>;
  /** The run that was started under the key, and the digest of what had been asked for. */
  getStart(key: string): Awaitable<{ readonly runId: string; readonly digest: string } | undefined>;
  /** What the run can be resumed from: its own text, opaque here. */
  getCheckpoint(runId: string): Awaitable<string | undefined>;
  /**
   * Gives up a parked run that no other run goes on with: it is not parked any more, and its
   * checkpoint and its undecided approvals are deleted. Those are kept as ended, if there is an
   * `outcome` for them. True when this call did so; false for any other run.
   */
  discard(runId: string, outcome?: string): Awaitable<boolean>;
  /** The `log` of the run's terminal line. */
  getLog(runId: string): Awaitable<string | undefined>;
  /**
   * Deletes settled runs that no resume is waited for and whose id is smaller than `before`, at most
   * `limit` of them and the smallest first, with their logs, checkpoints, approvals, ended ones
   * among them, and start keys, and sessions that are left without runs and entries. Answers how many runs went.
   */
  forgetRuns(before: string, limit: number): Awaitable<number>;
}

/** A session that has, or had, a run. */
export interface StoredSession {
  readonly sessionId: string;
  /** The newest run, whose id orders the sessions. */
  readonly lastRunId: string;
  readonly firstRunId: string;
  /** How many it has had, those that were forgotten included. */
  readonly runs: number;
}

export interface SessionQuery {
  /** Only sessions of this realm. */
  readonly realm?: Realm;
  /** Only sessions whose newest run has a smaller id, which is the cursor of a next page. */
  readonly before?: string;
  /**
   * Only sessions whose newest run has a greater id, and then the smallest first; `''` is from the
   * start.
   */
  readonly after?: string;
  readonly limit: number;
}

export interface SessionStore {
  /** The session whose newest run is the greatest first, unless the query says otherwise. */
  listSessions(query: SessionQuery): Awaitable<readonly StoredSession[]>;
  getSession(sessionId: string): Awaitable<StoredSession | undefined>;
  /** The conversation that the session's last settled run left: its own text, opaque here. */
  getTranscript(sessionId: string): Awaitable<string | undefined>;
}

export interface StoredApproval extends ApprovalLine {
  readonly runId: string;
  readonly sessionId: string;
  /** JSON text; undefined while nobody has decided. */
  readonly outcome: string | undefined;
}

export interface ApprovalQuery {
  /** Only sessions of this realm. */
  readonly realm?: Realm;
  readonly runId?: string;
  /** Only those that may still be decided at this time, in epoch milliseconds. */
  readonly pendingAt?: number;
  /** Only decision ids that are smaller, which is the cursor of a next page. */
  readonly before?: string;
  readonly limit: number;
}

/** The approval as it stands, and whether the call decided it; undefined when there is none. */
export type DecideOutcome =
  | { readonly won: boolean; readonly approval: StoredApproval }
  | undefined;

export type EndedApproval = StoredApproval & { readonly outcome: string };

export type EndedApprovalQuery = Omit<ApprovalQuery, 'pendingAt'>;

/**
 * Approvals of parked runs, and those that have ended. Those of live runs live in their charts. One
 * that was decided while its run was parked ends when a run that goes on tells of it.
 */
export interface ApprovalStore {
  /**
   * Records the outcome of an approval that has none and has not expired at `now`, and answers the
   * approval as it stands afterwards.
   */
  decideApproval(decisionId: string, outcome: string, now: number): Awaitable<DecideOutcome>;
  getApproval(decisionId: string): Awaitable<StoredApproval | undefined>;
  /** Greatest decision id first. */
  listApprovals(query: ApprovalQuery): Awaitable<readonly StoredApproval[]>;
  /**
   * Those that nobody has decided, of parked runs that no other run goes on with, and of all realms:
   * the one that expires first first, whether it has or not.
   */
  listExpiring(limit: number): Awaitable<readonly StoredApproval[]>;
  /**
   * Records the outcome of one of {@link listExpiring} that has expired at `now`. True when this call
   * did so; false when it was decided or has not expired, or when its run is not parked any more.
   */
  expireApproval(decisionId: string, outcome: string, now: number): Awaitable<boolean>;
  /** As the run that told of its end has left it. */
  getEnded(decisionId: string): Awaitable<EndedApproval | undefined>;
  /** Greatest decision id first. */
  listEnded(query: EndedApprovalQuery): Awaitable<readonly EndedApproval[]>;
}

/** What an approver has approved for the rest of a session. */
export interface Grant {
  readonly sessionId: string;
  readonly agent: string;
  readonly toolName: string;
  /** The pattern that held the approved call back, with its rule's conditions: another one asks anew. */
  readonly matchedPattern: string;
  /** The decision that gave it. */
  readonly decisionId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Approvals that hold for a session. They go when its last entry goes. */
export interface GrantStore {
  /**
   * Of two for the same session, agent, tool and pattern the first one stays. One for a session that
   * is not known is not kept.
   */
  putGrant(grant: Grant): Awaitable<void>;
  /** In no order. */
  listGrants(sessionId: string): Awaitable<readonly Grant[]>;
}

export interface AcquireRequest {
  readonly key: string;
  /** Unique to the process and its start. */
  readonly owner: string;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly ttlMs: number;
}

export type AcquireOutcome =
  | { readonly acquired: true; readonly lease: Lease }
  | { readonly acquired: false; readonly owner: string; readonly expiresAt: number };

export interface LeaseStore {
  /**
   * Succeeds when the key is free, expired, already the owner's, or that of an owner which the engine
   * knows to be gone; each success is a generation.
   */
  acquire(request: AcquireRequest): Awaitable<AcquireOutcome>;
  /**
   * Moves the expiry of each lease to `expiresAt`, false where the token is stale. A lease that has
   * expired and that nobody took is renewed: fencing decides, not timing.
   */
  renew(leases: readonly Lease[], expiresAt: number): Awaitable<readonly boolean[]>;
  /** Frees each lease whose token is current, and tells which were. */
  release(leases: readonly Lease[]): Awaitable<readonly boolean[]>;
}

/** Hints that a session has grown. One may be lost or doubled; the store is the truth. */
export interface Bus {
  publish(sessionId: string, head: number): void;
  /** Answers the way to stop listening. */
  subscribe(sessionId: string, onGrown: (head: number) => void): () => void;
}

export interface Store
  extends JournalStore,
    RunStore,
    SessionStore,
    ApprovalStore,
    GrantStore,
    LeaseStore {
  /** `memory`, `sqlite`, … as `/health` names it. */
  readonly backend: string;
  readonly bus: Bus;
  /**
   * Shows that `owner` lives, from now until `close`, and answers how many others use the store that
   * are not of this process. An engine that cannot tell has none.
   */
  join?(owner: string, now: number): Awaitable<number>;
  /** Rejects when the store cannot be reached. */
  ping(): Awaitable<void>;
  /** After it every call fails. A second one does nothing. */
  close(): Awaitable<void>;
}

/** What went wrong in an engine, as a sentence that says what to do about it. */
export class StoreError extends SupervisorError {
  override readonly name = 'StoreError';
  /** The message for those who may not know where the store is: it names no path. */
  readonly reason: string | undefined;

  constructor(message: string, options: { cause?: unknown; reason?: string } = {}) {
    super('store_unavailable', message, options);
    this.reason = options.reason;
  }
}

export const WRITTEN: AppendOutcome = Object.freeze({ status: 'written' });
export const FENCED: AppendOutcome = Object.freeze({ status: 'fenced' });

/** The last `seq` of a part if its terminal is written too. */
export const lastSeqOf = (part: AppendPart): number =>
  part.firstSeq + part.count - (part.terminal === undefined ? 1 : 0);
