import { RunStateError } from './errors.ts';
import type { Log } from './log.ts';
import { tenantOfKey } from './session-key.ts';
import type { StoredRun } from './stores/store.ts';

type ParkedRun = Pick<StoredRun, 'runId' | 'sessionId'>;

export interface ResumerDeps {
  readonly log: Log;
  /** Runs that it brought back and that live at a time. */
  readonly concurrency: number;
  /**
   * Starts a run that goes on with a parked one. Resolves when it has started; `over` when it has let
   * go. Rejects as the handle's `resume` does.
   */
  readonly resume: (runId: string, tenant: string) => Promise<{ readonly over: Promise<void> }>;
}

/**
 * Brings parked runs back, a few at a time: a process that starts under load does not begin all of
 * them at once. One that does not come back stays parked, for whoever asks next; one that is in line
 * is not put there again. Never throws.
 */
export class Resumer {
  readonly #deps: ResumerDeps;
  /** By run id, in the order in which they come back. */
  readonly #waiting = new Map<string, ParkedRun>();
  #live = 0;
  #starting: string | undefined;
  #stopped = false;

  constructor(deps: ResumerDeps) {
    this.#deps = deps;
  }

  add(run: ParkedRun): void {
    if (this.#stopped || this.#starting === run.runId) return;
    if (!this.#waiting.has(run.runId)) this.#waiting.set(run.runId, run);
    this.#next();
  }

  /** Begins nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.clear();
  }

  /** One is started after the other, so that those of one session keep their order. */
  #next(): void {
    if (this.#starting !== undefined || this.#live >= this.#deps.concurrency) return;
    const [run] = this.#waiting.values();
    if (run === undefined) return;
    this.#waiting.delete(run.runId);
    this.#starting = run.runId;
    void this.#start(run).then(() => {
      this.#starting = undefined;
      this.#next();
    });
  }

  async #start({ runId, sessionId }: ParkedRun): Promise<void> {
    const { log, resume } = this.#deps;
    try {
      const { over } = await resume(runId, tenantOfKey(sessionId));
      log.info({ continues: runId }, 'A parked run goes on');
      this.#live += 1;
      void over.then(() => {
        this.#live -= 1;
        this.#next();
      });
    } catch (error) {
      // Somebody was first, here or in another process: it goes on all the same.
      if (error instanceof RunStateError && error.code === 'already_resumed') return;
      log.warn({ run_id: runId, err: error }, 'A parked run could not be resumed');
    }
  }
}
