import type { Clock, TimerHandle } from './clock.ts';
import { SessionHeldError } from './journal/errors.ts';
import type { Journal } from './journal/journal.ts';
import type { Log } from './log.ts';
import { type LostBy, settleLostRun } from './ports/settle-lost-run.ts';
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
}

export interface Recovery {
  /** A run of this process is over and the store did not take its end: that is tried again later. */
  add(runId: string): void;
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
 */
export function startRecovery(deps: RecoveryDeps): Recovery {
  const rounds = new Rounds(deps);
  setImmediate(() => void rounds.next());
  return rounds;
}

/** What one round came to. */
class Tally {
  settled = 0;
  /** Their session is another process's until `freeAt` at the latest. */
  held = 0;
  freeAt = 0;
  failed = 0;
}

class Rounds implements Recovery {
  readonly #deps: RecoveryDeps;
  /** Runs of this process whose end the store did not take. */
  readonly #unsettled = new Set<string>();
  #rounds = 0;
  #settled = 0;
  #state: 'working' | 'waiting' | 'idle' | 'stopped' = 'working';
  #timer: TimerHandle | undefined;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
  }

  add(runId: string): void {
    this.#unsettled.add(runId);
    const [oldest] = this.#unsettled;
    if (this.#unsettled.size > UNSETTLED_MAX && oldest !== undefined)
      this.#unsettled.delete(oldest);
    this.#rounds = 0;
    if (this.#state === 'idle') this.#wait(RETRY_MS);
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
    this.#deps.clock.clearTimeout(this.#timer);
  }

  async next(): Promise<void> {
    if (this.#stopped) return;
    this.#state = 'working';
    const tally = new Tally();
    await this.#settleAll(tally);
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
    try {
      const won = await settleLostRun(run, { journal, clock, lostBy });
      this.#unsettled.delete(run.runId);
      if (!won) return;
      tally.settled += 1;
      log.info({ run_id: run.runId, session_id: run.sessionId }, 'A lost run has been settled');
    } catch (error) {
      this.#count(run, error, tally);
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
