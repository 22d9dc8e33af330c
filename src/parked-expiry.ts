import type { ApprovalOutcome } from '../machines/vocabulary.ts';
import type { Clock, TimerHandle } from './clock.ts';
import type { Journal } from './journal/journal.ts';
import type { Log } from './log.ts';
import type { ParkedApproval } from './ports/park-run.ts';
import type { StoredApproval, StoredRun } from './stores/store.ts';

/** Approvals closed without a pause, and how often in one look. */
const PAGE_APPROVALS = 50;
const PAGES_MAX = 200;

/** Waits are cut into parts of this, so that one follows the machine's clock when that is set. */
const LOOK_MS_MAX = 3_600_000;

/** After a look in which the store failed; doubled each time. */
const RETRY_MS = 5_000;

export interface ParkedExpiryDeps {
  readonly journal: Pick<Journal, 'getRecord'> & {
    readonly index: Pick<Journal['index'], 'listExpiring' | 'expireApproval' | 'listApprovals'>;
  };
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Resumes a parked run, a few at a time. */
  readonly bringBack: (run: StoredRun) => void;
  /** This process has closed an approval; the store tells how. Must not throw. */
  readonly onClosed: (approval: StoredApproval) => void;
}

export interface ParkedExpiry {
  /** What expires first may be another now, here or in another process. Returns before it looks. */
  look(): void;
  /** Begins nothing more. */
  stop(): void;
}

/**
 * Closes the approvals of parked runs that nobody decides in time: now those that expired while no
 * process was there, and each of the others when its time comes. Never throws.
 *
 * PE1. Of several processes on one store one closes an approval; the others find it closed.
 * PE2. A run comes back when its last approval is closed, unless it was parked by hand. If the process
 *      ends before that, the next start brings it back, as it does when the last one was decided.
 * PE3. One timer waits, for what expires first, or to try again what the store refused.
 */
export function startParkedExpiry(deps: ParkedExpiryDeps): ParkedExpiry {
  const watch = new ExpiryWatch(deps);
  watch.look();
  return watch;
}

class ExpiryWatch implements ParkedExpiry {
  readonly #deps: ParkedExpiryDeps;
  #state: 'resting' | 'due' | 'looking' | 'stopped' = 'resting';
  /** Asked for in the middle of a look. */
  #again = false;
  #failures = 0;
  #timer: TimerHandle | undefined;

  constructor(deps: ParkedExpiryDeps) {
    this.#deps = deps;
  }

  look(): void {
    if (this.#state === 'looking') this.#again = true;
    if (this.#state !== 'resting') return;
    this.#state = 'due';
    // It is told in the middle of writes, and of many in one turn of the event loop.
    setImmediate(() => void this.#look());
  }

  stop(): void {
    this.#state = 'stopped';
    this.#deps.clock.clearTimeout(this.#timer);
  }

  get #stopped(): boolean {
    return this.#state === 'stopped';
  }

  async #look(): Promise<void> {
    if (this.#stopped) return;
    this.#state = 'looking';
    this.#again = false;
    this.#deps.clock.clearTimeout(this.#timer);
    const delayMs = await this.#delayMs();
    if (this.#stopped) return;
    this.#state = 'resting';
    if (delayMs !== undefined) {
      this.#timer = this.#deps.clock.setTimeout(() => this.look(), delayMs);
    }
    if (this.#again) this.look();
  }

  /** Closes what has expired. Answers how long to wait then; undefined when nothing expires. */
  async #delayMs(): Promise<number | undefined> {
    const { clock, log } = this.#deps;
    try {
      const next = await this.#closeExpired();
      this.#failures = 0;
      if (next === undefined || next === Number.POSITIVE_INFINITY) return undefined;
      return Math.min(Math.max(0, next - clock.now()), LOOK_MS_MAX);
    } catch (error) {
      if (this.#failures === 0 && !this.#stopped) log.warn({ err: error }, NOT_CLOSED);
      this.#failures += 1;
      return Math.min(RETRY_MS * 2 ** (this.#failures - 1), LOOK_MS_MAX);
    }
  }

  /** Answers when the next one expires, or a time that is past when there is more to do. */
  async #closeExpired(): Promise<number | undefined> {
    const { journal, clock } = this.#deps;
    for (let page = 0; page < PAGES_MAX && !this.#stopped; page += 1) {
      const first = await journal.index.listExpiring(PAGE_APPROVALS);
      const now = clock.now();
      const expired = first.filter(({ expiresAt }) => expiresAt <= now);
      await this.#closeAll(expired, now);
      if (expired.length < PAGE_APPROVALS) return first[expired.length]?.expiresAt;
      await pause();
    }
    return 0;
  }

  async #closeAll(expired: readonly StoredApproval[], now: number): Promise<void> {
    const runIds = new Set<string>();
    try {
      for (const approval of expired) {
        if (this.#stopped || !(await this.#close(approval, now))) continue;
        runIds.add(approval.runId);
        this.#deps.onClosed(approval);
      }
    } finally {
      // Those that were closed are not found again, whatever became of the others.
      for (const runId of runIds) await this.#bringBack(runId, now);
    }
  }

  #close(approval: StoredApproval, now: number): Promise<boolean> {
    const { decisionId, expiresAt } = approval;
    // It was written by the run that parked.
    const { requestedAt } = JSON.parse(approval.record) as ParkedApproval;
    const waitedMs = expiresAt - requestedAt;
    const outcome: ApprovalOutcome = { kind: 'timed_out', waitedMs };
    return this.#deps.journal.index.expireApproval(decisionId, JSON.stringify(outcome), now);
  }

  async #bringBack(runId: string, now: number): Promise<void> {
    const { journal, bringBack, log } = this.#deps;
    try {
      const open = await journal.index.listApprovals({ runId, pendingAt: now, limit: 1 });
      if (open.length > 0 || this.#stopped) return;
      const run = await journal.getRecord(runId);
      if (run?.parked === true && run.automatic && run.continuedBy === undefined) bringBack(run);
    } catch (error) {
      log.warn({ run_id: runId, err: error }, NOT_BROUGHT_BACK);
    }
  }
}

const NOT_CLOSED = 'Approvals of parked runs that expired could not be closed; that is tried again';

const NOT_BROUGHT_BACK =
  'The last approval of a parked run has expired, and it could not be resumed yet';

/** Lets others have their turn of the event loop. */
const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
