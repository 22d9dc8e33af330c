import type { ChildProcess } from 'node:child_process';
import { type Clock, steadyNow, type TimerHandle } from '../clock.ts';
import type { McpLimits } from './limits.ts';

/** How often a group that was told to end is looked at. */
const POLL_MS = 20;

/**
 * A child process and everything it started, as one thing that can be ended.
 *
 * PG1. The child leads a group of its own, so a signal reaches its descendants too.
 * PG2. After {@link end} settled, or its bounds passed, nothing of the group was left unsignalled.
 * PG3. A group that was seen to be gone is never signalled again: its number may be somebody else's.
 */
export class ProcessGroup {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  #gone = false;
  #ending: Promise<void> | undefined;

  /** `child` was spawned with `detached: true`. */
  constructor(child: ChildProcess, clock: Clock) {
    this.#child = child;
    this.#clock = clock;
    if (child.pid === undefined) this.#gone = true;
  }

  /** Whether nothing of the group is left. */
  get gone(): boolean {
    if (!this.#gone) this.#signal(0);
    return this.#gone;
  }

  /** Closes the input, then SIGTERM, then SIGKILL, each within its bound. Never rejects. */
  end(limits: Pick<McpLimits, 'stdinEndMs' | 'terminateMs' | 'killMs'>): Promise<void> {
    this.#ending ??= this.#end(limits);
    return this.#ending;
  }

  /** SIGKILL for the whole group, now. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  async #end({
    stdinEndMs,
    terminateMs,
    killMs,
  }: Pick<McpLimits, 'stdinEndMs' | 'terminateMs' | 'killMs'>): Promise<void> {
    this.#child.stdin?.end();
    if (await this.#isGoneWithin(stdinEndMs)) return;
    this.#signal('SIGTERM');
    if (await this.#isGoneWithin(terminateMs)) return;
    this.#signal('SIGKILL');
    await this.#isGoneWithin(killMs);
  }

  #isGoneWithin(ms: number): Promise<boolean> {
    const deadline = steadyNow(this.#clock) + ms;
    return new Promise((resolve) => {
      let timer: TimerHandle | undefined;
      const look = () => {
        this.#clock.clearTimeout(timer);
        if (!this.gone && steadyNow(this.#clock) < deadline) {
          timer = this.#clock.setTimeout(look, POLL_MS);
          return;
        }
        this.#child.off('exit', look);
        resolve(this.#gone);
      };
      this.#child.once('exit', look);
      look();
    });
  }

  #signal(signal: NodeJS.Signals | 0): void {
    const { pid } = this.#child;
    if (this.#gone || pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (error) {
      // EPERM says that somebody is there, though not ours to signal: macOS gives it for a zombie.
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') this.#gone = true;
    }
  }
}
