import type { Clock, TimerHandle } from './clock.ts';
import type { Awaitable, Store, StoredSession } from './stores/store.ts';

/** From the end of a sweep to the next one. */
const SWEEP_MS = 60_000;

/** Sessions looked at without a pause, and in one sweep; the next one goes on from there. */
const PAGE_SESSIONS = 200;
const SESSIONS_MAX = 20_000;

/** Runs forgotten without a pause, and how often in one sweep. */
const PAGE_RUNS = 50;
const RUN_PAGES_MAX = 200;

/** Pieces in which one session is trimmed in one sweep. */
const PIECES_MAX = 64;

/** Characters of the oldest entries that are let go at a time. */
const LOOK_BYTES_MAX = 1_048_576;

/** What is stored together seldom takes more characters; when it does, one looks further. */
const TOGETHER_BYTES = 65_536;

/** What a store may keep; 0 turns a limit off. Sizes are characters of JSON. */
export interface RetentionLimits {
  readonly retentionMs: number;
  readonly sessionBytesMax: number;
  readonly totalBytesMax: number;
}

export interface RetentionDeps {
  readonly store: Pick<
    Store,
    'listSessions' | 'listRecords' | 'bytes' | 'totalBytes' | 'head' | 'read' | 'forgetRuns'
  >;
  /** Lets entries of a session go and answers its floor, as a journal does. */
  readonly trim: (sessionId: string, through: number) => Awaitable<number>;
  readonly clock: Clock;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
  readonly limits: RetentionLimits;
  /** The smallest `first_seq` of the session's live runs in this process. */
  readonly livePin: (sessionId: string) => number | undefined;
}

export interface Retention {
  /** Looks after the limits now, or joins the sweep that is under way. Never rejects. */
  sweep(): Promise<void>;
  /** Begins nothing more. Resolves when the sweep under way has ended; never rejects. */
  stop(): Promise<void>;
}

/**
 * Keeps a store within its limits: a sweep each minute of the clock, if there is a limit at all.
 *
 * RT1. No entry goes that is at or beyond the first one of a live run of its session, whichever
 *      process has the run. What is read of the session is read before the pins, so that a run
 *      that begins meanwhile is beyond it.
 * RT2. A parked run that nobody goes on with keeps its record and its checkpoint, however old.
 * RT3. By age the entries of a session go when its newest run began too long ago, then the records
 *      of all runs that did. A run's id says when it began.
 * RT4. By size the oldest entries go, and about as many as must: of a session that is too large, then
 *      of the sessions whose newest run is the oldest. What is stored together goes together.
 * RT5. A limit of 0 lets nothing go.
 * RT6. One sweep at a time, bounded, and with pauses in which the process does its work; the next
 *      one goes on where it ended.
 * RT7. What the store refuses is logged once until a sweep succeeds, and tried again by the next.
 */
export function startRetention(deps: RetentionDeps): Retention {
  const sweeper = new Sweeper(deps);
  sweeper.arm();
  return sweeper;
}

type Visit = (session: StoredSession) => Promise<'next' | 'enough'>;

class Sweeper implements Retention {
  readonly #deps: RetentionDeps;
  #timer: TimerHandle | undefined;
  #underWay: Promise<void> | undefined;
  #stopped = false;
  #failing = false;
  /** Newest runs of the sessions where the next walk by age, and by session, begins. */
  #agedThrough = '';
  #sizedThrough = '';
  /** No session up to this newest run has entries. */
  #emptyThrough = '';
  #freed = { bytes: 0, runs: 0 };

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
  }

  arm(): void {
    const { retentionMs, sessionBytesMax, totalBytesMax } = this.#deps.limits;
    if (retentionMs + sessionBytesMax + totalBytesMax === 0 || this.#stopped) return;
    this.#timer = this.#deps.clock.setTimeout(() => {
      void this.sweep().then(() => this.arm());
    }, SWEEP_MS);
  }

  sweep(): Promise<void> {
    this.#underWay ??= this.#sweep().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deps.clock.clearTimeout(this.#timer);
    await this.#underWay;
  }

  async #sweep(): Promise<void> {
    this.#freed = { bytes: 0, runs: 0 };
    try {
      await this.#byAge();
      await this.#bySession();
      await this.#byTotal();
      this.#failing = false;
    } catch (error) {
      if (this.#failing || this.#stopped) return;
      this.#failing = true;
      this.#deps.log.warn({ err: error }, 'Old entries could not be let go; that is tried again');
    }
    if (this.#freed.bytes + this.#freed.runs > 0) {
      this.#deps.log.info(this.#freed, 'Old entries and runs have been let go');
    }
  }

  async #byAge(): Promise<void> {
    const { store, clock, limits } = this.#deps;
    const oldest = clock.now() - limits.retentionMs;
    if (limits.retentionMs === 0 || oldest <= 0) return;
    const before = firstRunIdAt(oldest);
    const walk = { after: this.#agedThrough, before };
    this.#agedThrough = await this.#walk(walk, async ({ sessionId }) => {
      if ((await store.bytes(sessionId)) > 0) {
        await this.#trim(sessionId, await store.head(sessionId));
      }
      return 'next';
    });
    for (let page = 0; page < RUN_PAGES_MAX && !this.#stopped; page += 1) {
      const runs = await store.forgetRuns(before, PAGE_RUNS);
      this.#freed.runs += runs;
      if (runs < PAGE_RUNS) return;
      await pause();
    }
  }

  async #bySession(): Promise<void> {
    const { store, limits } = this.#deps;
    const { sessionBytesMax } = limits;
    // No session is larger than all of them.
    if (sessionBytesMax === 0 || (await store.totalBytes()) <= sessionBytesMax) return;
    this.#sizedThrough = await this.#walk({ after: this.#sizedThrough }, async ({ sessionId }) => {
      await this.#shrink(sessionId, sessionBytesMax);
      return 'next';
    });
  }

  async #byTotal(): Promise<void> {
    const { store, limits } = this.#deps;
    if (limits.totalBytesMax === 0) return;
    let excess = (await store.totalBytes()) - limits.totalBytesMax;
    let allEmpty = true;
    const visit: Visit = async ({ sessionId, lastRunId }) => {
      const bytes = await store.bytes(sessionId);
      const left = bytes === 0 ? 0 : await this.#shrink(sessionId, Math.max(0, bytes - excess));
      excess -= bytes - left;
      allEmpty &&= left === 0;
      if (allEmpty) this.#emptyThrough = lastRunId;
      return excess > 0 ? 'next' : 'enough';
    };
    if (excess <= 0) return;
    const end = await this.#walk({ after: this.#emptyThrough }, visit);
    if (end === '' && excess > 0) this.#emptyThrough = '';
  }

  /** Visits sessions, the oldest first. Answers where to go on from; `''` after the last one. */
  async #walk(range: { after: string; before?: string }, visit: Visit): Promise<string> {
    let { after } = range;
    for (let seen = 0; seen < SESSIONS_MAX; seen += PAGE_SESSIONS) {
      const query = { ...range, after, limit: PAGE_SESSIONS };
      const page = await this.#deps.store.listSessions(query);
      for (const session of page) {
        if (this.#stopped || (await visit(session)) === 'enough') return after;
        after = session.lastRunId;
      }
      if (page.length < PAGE_SESSIONS) return '';
      await pause();
    }
    return after;
  }

  /** Lets the oldest entries go until `bytesMax` are left, as far as it may. Answers what is left. */
  async #shrink(sessionId: string, bytesMax: number): Promise<number> {
    const { store } = this.#deps;
    let bytes = await store.bytes(sessionId);
    let futile = 0;
    for (let piece = 0; piece < PIECES_MAX && bytes > bytesMax && !this.#stopped; piece += 1) {
      const limits = {
        entriesMax: Number.MAX_SAFE_INTEGER,
        bytesMax: lookOf(bytes - bytesMax, futile),
      };
      const page = await store.read(sessionId, 1, limits);
      const through = page.firstSeq + page.lines.length - 1;
      const { floor, isPinned } = await this.#trim(sessionId, through);
      futile = floor > page.floor ? 0 : futile + 1;
      bytes = await store.bytes(sessionId);
      if (isPinned) break;
      await pause();
    }
    return bytes;
  }

  /** Trims a session up to an entry that was read before this call, or to what a live run needs. */
  async #trim(sessionId: string, through: number): Promise<{ floor: number; isPinned: boolean }> {
    const { store, trim } = this.#deps;
    const end = Math.min(through, (await this.#pin(sessionId)) - 1);
    const bytes = await store.bytes(sessionId);
    let floor = 0;
    for (let piece = 0; piece < PIECES_MAX && floor < end && !this.#stopped; piece += 1) {
      const reached = await trim(sessionId, end);
      if (reached <= floor) break;
      floor = reached;
      if (floor < end) await pause();
    }
    this.#freed.bytes += Math.max(0, bytes - (await store.bytes(sessionId)));
    return { floor, isPinned: end < through };
  }

  /** The first entry that a live run of the session needs; `Infinity` without one. */
  async #pin(sessionId: string): Promise<number> {
    const { store, livePin } = this.#deps;
    let pin = livePin(sessionId) ?? Number.POSITIVE_INFINITY;
    let before: string | undefined;
    for (;;) {
      const query = { sessionId, unsettled: true, limit: PAGE_RUNS } as const;
      const runs = await store.listRecords(before === undefined ? query : { ...query, before });
      for (const { record } of runs) pin = Math.min(pin, firstSeqOf(record));
      if (runs.length < PAGE_RUNS) return pin;
      before = runs.at(-1)?.runId;
    }
  }
}

/** At first what must go; when that let nothing go, more is stored together. */
function lookOf(excess: number, futile: number): number {
  const bytes = Math.min(excess, LOOK_BYTES_MAX);
  return futile === 0 ? bytes : bytes + TOGETHER_BYTES * 1.5 ** (futile - 1);
}

/** A record that does not say where its run begins keeps everything. */
function firstSeqOf(record: string): number {
  try {
    const { first_seq: firstSeq } = JSON.parse(record) as { first_seq?: unknown };
    return typeof firstSeq === 'number' ? firstSeq : 1;
  } catch {
    return 1;
  }
}

/** What every UUID v7 of that millisecond is greater than: its first 48 bits are the time. */
function firstRunIdAt(ms: number): string {
  const hex = Math.floor(ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** Lets others have their turn of the event loop. */
const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
