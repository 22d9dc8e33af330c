import type { ServerResponse } from 'node:http';
import type { DetachBecause, StartedRun, StartRun, SupervisorHandle } from '../../handle.ts';

export interface ClaimOptions {
  readonly handle: SupervisorHandle;
  readonly command: StartRun;
  readonly observerId: string;
  readonly response: ServerResponse;
}

/**
 * A run that its response claims. The claim is there before setup begins and goes when the response
 * closes before the run has ended, with headers out or not.
 */
export class ClaimedRun {
  readonly started: StartedRun;
  /** No more than this: the command holds the whole conversation. */
  readonly #release: (because: DetachBecause) => void;
  #left = false;
  #settled = false;
  #onLeave: () => void = () => {};

  private constructor(started: StartedRun, release: (because: DetachBecause) => void) {
    this.started = started;
    this.#release = release;
  }

  /** Starts the run; rejects as `SupervisorHandle.start` does. */
  static async start(options: ClaimOptions): Promise<ClaimedRun> {
    const { handle, command, observerId, response } = options;
    let hasLeft = response.destroyed;
    let leave = (): void => {
      hasLeft = true;
    };
    response.once('close', () => leave());
    const started = await handle.start({ ...command, claim: { observerId } });
    const run = new ClaimedRun(started, (because) =>
      handle.release(started.runId, observerId, because),
    );
    leave = () => run.leave();
    if (hasLeft) leave();
    return run;
  }

  /** Called once when the caller leaves before the end, at once when it already has. */
  onLeave(fn: () => void): void {
    this.#onLeave = fn;
    if (this.#left) fn();
  }

  /** From now on the response may close without ending the run. */
  settle(): void {
    this.#settled = true;
  }

  /**
   * Gives the claim up, unless the run is settled. The response's close does it by itself; it is
   * `expired` when we let the caller go, not the caller us.
   */
  leave(because: DetachBecause = 'released'): void {
    if (this.#settled || this.#left) return;
    this.#left = true;
    this.#release(because);
    this.#onLeave();
  }
}
