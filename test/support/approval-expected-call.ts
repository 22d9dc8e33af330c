import { TIMES } from './approval-stimuli.ts';

/** How an approval ended; a cancelled one with the cause that its journal is to tell. */
export type Winner = 'approved' | 'denied' | 'timed_out' | 'errored' | `cancelled ${string}`;

/** One gated call as it should stand. */
export class ExpectedCall {
  winner: Winner | undefined;
  /** Somebody said so in the inbox, or with a signature; else the webhook's own answer did. */
  isByInbox = false;
  /** Its end is in a journal, and not in the store alone. */
  isTold = false;
  question: 'none' | 'out' | 'failed' = 'none';
  failures = 0;
  failedAt = 0;
  /** `cut`: it ran, and what became of it is not known, or it was told to stop. */
  work: 'held' | 'running' | 'stopping' | 'returned' | 'refused' | 'cut' = 'held';
  executions = 0;
  /** Of those, how many the journal tells of: a process may die between the two. */
  starts = 0;
  reminders = 0;
  remindAt = Number.POSITIVE_INFINITY;
  /** Why the webhook is told that nobody waits. */
  notice: string | undefined;
  /** It ended while its run was parked: whoever closed it in the store has told the webhook. */
  isClosedInStore = false;
  /** Who remembers the decision: the process that took it, or the store, of a parked run. */
  readonly rememberedBy = new Set<'process' | 'store'>();

  /** Its run is over, or parked: nobody is asked any more, and what ran is cut off. */
  leaveOff(): void {
    this.question = 'none';
    this.remindAt = Number.POSITIVE_INFINITY;
    if (this.work === 'running') this.work = 'cut';
  }

  remind(now: number): void {
    if (this.remindAt > now) return;
    this.remindAt += TIMES.reminder;
    this.reminders += 1;
  }

  /** Half a second to a second after the first failure, twice as long after each later one. */
  askAgain(now: number): void {
    if (this.question !== 'failed') return;
    const longest = 1_000 * 2 ** (this.failures - 1);
    const waited = now - this.failedAt;
    if (waited >= longest) this.question = 'out';
    else if (waited >= longest / 2) throw new Error('the test does not know whether it asks again');
  }

  get isOver(): boolean {
    return this.work === 'returned' || this.work === 'refused' || this.work === 'cut';
  }
}
