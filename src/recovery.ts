import type { Clock, TimerHandle } from './clock.ts';
import { SessionHeldError } from './journal/errors.ts';
import type { Journal } from './journal/journal.ts';
import type { Log } from './log.ts';
import { parkedRuns } from './parked-runs.ts';
import { type LostBy, type LostRunDeps, settleLostRun } from './ports/settle-lost-run.ts';
import { Resumer, type ResumerDeps } from './resumer.ts';
import { publicSessionId } from './session-key.ts';
import type { StoredRun } from './stores/store.ts';

/** Runs read from the index at a time, and settled side by side. */
const PAGE_RUNS = 200;
const AT_ONCE = 4;

/**
 * Rounds before what is left is left: a dead owner's leases have expired by the second one, so who
 * holds a session after that lives; a store has about ten minutes to come back.
 */
const ROUNDS_MAX = 8;

/** Runs whose end the store did not take and that are kept in mind; the index knows them too. */
const UNSETTLED_MAX = 10_000;

/** After a round in which the store failed; doubled each time. */
const RETRY_MS = 5_000;

export interface RecoveryDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether this process has the run. */
  readonly isLive: (runId: string) => boolean;
  readonly recover: LostRunDeps['recover'];
  readonly withdraw: LostRunDeps['withdraw'];
  readonly isIdempotent: LostRunDeps['isIdempotent'];
  readonly resume: ResumerDeps['resume'];
  readonly park: ParkPolicy;
}

/** Which parked runs come back when the process starts. */
export interface ParkPolicy {
  readonly resumeOnStart: boolean;
  /** Runs that were brought back and live at a time. */
  readonly resumeConcurrency: number;
}

export interface Recovery {
  /** A run of this process is over and the store did not take its end: that is tried again later. */
  add(runId: string): void;
  /** Whether a run of this process is over and has no end in the store yet. */
  has(runId: string): boolean;
  /** Resumes a parked run when it is its turn; one that does not come back stays parked. */
  bringBack(run: Pick<StoredRun, 'runId' | 'sessionId'>): void;
  /** Other processes have come or gone: what they left is looked for. Returns before that. */
  look(): void;
  /** The store takes writes again, so what it refused is tried at once. Returns before that. */
  retry(): void;
  /** Begins nothing more. What is under way ends with the journal. */
  stop(): void;
}

/**
 * Settles the runs that live in the store and in no process: once now, without making anybody wait,
 * and again while some could not be settled. Never throws.
 *
 * RC1. A run is settled only by who may write its session, so those of another process that lives
 *      are never touched: it holds their leases.
 * RC2. A run that this process has is passed over.
 * RC3. Once, after the first round: parked runs come back whose last approval was decided and that did
 *      not go on then, those that a process before this one lost and was to bring back, and with
 *      `resumeOnStart` all that wait for nobody and were not parked by hand. A few live at a time.
 */
export function startRecovery(deps: RecoveryDeps): Recovery {
  const rounds = new Rounds(deps);
  setImmediate(() => void rounds.next());
  return rounds;
}

/** What one round came to. */
class Tally {
  /** Parked, and to go on now. */
  readonly resumed: StoredRun[] = [];
  settled = 0;
  /** Their session is another process's until `freeAt` at the latest. */
  held = 0;
  freeAt = 0;
  failed = 0;
}

class Rounds implements Recovery {
  readonly #deps: RecoveryDeps;
  readonly #resumer: Resumer;
  /** Runs of this process whose end the store did not take. */
  readonly #unsettled = new Set<string>();
  #rounds = 0;
  #settled = 0;
  #hasResumed = false;
  #state: 'working' | 'waiting' | 'idle' | 'stopped' = 'working';
  #timer: TimerHandle | undefined;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
    const { log, resume, park } = deps;
    this.#resumer = new Resumer({ log, resume, concurrency: park.resumeConcurrency });
  }

  add(runId: string): void {
    this.#unsettled.add(runId);
    const [oldest] = this.#unsettled;
    if (this.#unsettled.size > UNSETTLED_MAX && oldest !== undefined)
      this.#unsettled.delete(oldest);
    this.#rounds = 0;
    if (this.#state === 'idle') this.#wait(RETRY_MS);
  }

  has(runId: string): boolean {
    return this.#unsettled.has(runId);
  }

  bringBack(run: Pick<StoredRun, 'runId' | 'sessionId'>): void {
    this.#resumer.add(run);
  }

  look(): void {
    if (this.#state !== 'idle') return;
    this.#rounds = 0;
    this.#state = 'working';
    setImmediate(() => void this.next());
  }

  retry(): void {
    // A round under way is itself what finds out, or comes again by its failures.
    if (this.#unsettled.size === 0 || this.#state === 'working' || this.#stopped) return;
    this.#deps.clock.clearTimeout(this.#timer);
    this.#rounds = 0;
    this.#state = 'working';
    setImmediate(() => void this.next());
  }

  stop(): void {
    this.#state = 'stopped';
    this.#resumer.stop();
    this.#deps.clock.clearTimeout(this.#timer);
  }

  async next(): Promise<void> {
    if (this.#stopped) return;
    this.#state = 'working';
    const tally = new Tally();
    await this.#settleAll(tally);
    for (const run of oldestFirst(tally.resumed)) this.#resumer.add(run);
    await this.#resumeParked();
    this.#settled += tally.settled;
    this.#rounds += 1;
    if (this.#stopped) return;
    const delayMs = this.#delayMs(tally);
    if (delayMs === undefined) this.#rest(tally);
    else this.#wait(delayMs);
  }

  get #stopped(): boolean {
    return this.#state === 'stopped';
  }

  /** Undefined when nothing is left to do, or it was tried often enough. */
  #delayMs({ failed, held, freeAt }: Tally): number | undefined {
    if (this.#rounds >= ROUNDS_MAX) return undefined;
    if (failed > 0 || this.#unsettled.size > 0)
      return RETRY_MS * 2 ** Math.max(0, this.#rounds - 1);
    return held > 0 ? Math.max(0, freeAt - this.#deps.clock.now()) : undefined;
  }

  #wait(delayMs: number): void {
    this.#state = 'waiting';
    this.#timer = this.#deps.clock.setTimeout(() => void this.next(), delayMs);
  }

  #rest({ held, failed }: Tally): void {
    this.#state = 'idle';
    const settled = this.#settled;
    this.#settled = 0;
    if (settled + held + failed === 0) return;
    this.#deps.log.info({ settled, held, failed }, 'Runs without an owner have been looked after');
  }

  async #settleAll(tally: Tally): Promise<void> {
    try {
      // What the index does not list has an end by now, or nothing of it was ever stored.
      const unlisted = new Set(this.#unsettled);
      for await (const page of this.#pages()) {
        for (const { runId } of page) unlisted.delete(runId);
        await this.#settlePage(page, tally);
      }
      if (!this.#stopped) for (const runId of unlisted) this.#unsettled.delete(runId);
    } catch (error) {
      tally.failed += 1;
      this.#deps.log.warn({ err: error }, 'Runs without an owner could not be listed');
    }
  }

  /** From the newest run on: those that start meanwhile are not met. */
  async *#pages(): AsyncGenerator<readonly StoredRun[]> {
    const query = { unsettled: true, limit: PAGE_RUNS } as const;
    let page = await this.#deps.journal.listRecords(query);
    while (page.length > 0 && !this.#stopped) {
      yield page;
      const before = page.at(-1)?.runId ?? '';
      page = await this.#deps.journal.listRecords({ ...query, before });
    }
  }

  async #settlePage(page: readonly StoredRun[], tally: Tally): Promise<void> {
    const left = page.values();
    const worker = async () => {
      for (const run of left) if (!this.#stopped) await this.#settle(run, tally);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async #settle(run: StoredRun, tally: Tally): Promise<void> {
    const { journal, clock, log, isLive } = this.#deps;
    if (isLive(run.runId)) return;
    const lostBy: LostBy = this.#unsettled.has(run.runId) ? 'store' : 'owner';
    const { recover, isIdempotent, withdraw } = this.#deps;
    try {
      const fate = await settleLostRun(run, {
        journal,
        clock,
        lostBy,
        recover,
        isIdempotent,
        withdraw,
      });
      this.#unsettled.delete(run.runId);
      if (fate === undefined) return;
      tally.settled += 1;
      const session_id = publicSessionId(run.sessionId);
      log.info({ run_id: run.runId, session_id, fate }, 'A lost run has been settled');
      if (fate === 'resumed') tally.resumed.push(run);
    } catch (error) {
      this.#count(run, error, tally);
    }
  }

  /** Once a process, when what was lost with the one before it has been parked. */
  async #resumeParked(): Promise<void> {
    if (this.#hasResumed || this.#stopped) return;
    this.#hasResumed = true;
    try {
      const parked: StoredRun[] = [];
      for await (const run of parkedRuns(this.#deps)) parked.push(run);
      for (const run of oldestFirst(parked)) this.#resumer.add(run);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'Parked runs could not be listed');
    }
  }

  #count({ runId }: StoredRun, error: unknown, tally: Tally): void {
    if (error instanceof SessionHeldError) {
      tally.held += 1;
      tally.freeAt = Math.max(tally.freeAt, error.expiresAt);
    } else if (!this.#stopped) {
      tally.failed += 1;
      this.#deps.log.warn({ run_id: runId, err: error }, 'A lost run could not be settled');
    }
  }
}

/** Ids are in the order of the starts; runs that waited for each other in a session do so again. */
const oldestFirst = (runs: readonly StoredRun[]): readonly StoredRun[] =>
  [...runs].sort((a, b) => (a.runId < b.runId ? -1 : 1));
