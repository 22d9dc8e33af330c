import { TIMES } from './approval-stimuli.ts';

/** How an approval ended; a cancelled one with the cause that its journal is to tell. */
export type Winner = 'approved' | 'denied' | 'timed_out' | 'errored' | `cancelled ${string}`;

/** One decision id as it should stand, from its question to its end. */
export class ExpectedApproval {
  winner: Winner | undefined;
  /** Somebody said so in the inbox, or with a signature; else the webhook's own answer did. */
  isByInbox = false;
  /** Its end is in a journal, and not in the store alone. */
  isTold = false;
  question: 'none' | 'out' | 'failed' = 'none';
  failures = 0;
  failedAt = 0;
  reminders = 0;
  remindAt: number;
  /** Why the webhook is told that nobody waits. */
  notice: string | undefined;

  constructor(now: number, route: 'conversational' | 'webhook') {
    this.question = route === 'webhook' ? 'out' : 'none';
    this.remindAt = now + TIMES.reminder;
  }

  /** Nobody is asked any more. */
  leaveOff(): void {
    this.question = 'none';
    this.remindAt = Number.POSITIVE_INFINITY;
  }

  /** Its run parks, and no answer would come to anybody; the run that goes on asks anew. */
  takeBack(cause: string): void {
    this.winner = `cancelled ${cause}`;
    this.notice = cause;
    this.isTold = true;
  }

  remind(now: number): void {
    if (this.remindAt > now) return;
    this.remindAt += TIMES.reminder;
    this.reminders += 1;
  }

  fail(now: number): void {
    this.question = 'failed';
    this.failures += 1;
    this.failedAt = now;
  }

  /** Half a second to a second after the first failure, twice as long after each later one. */
  askAgain(now: number): void {
    if (this.question !== 'failed') return;
    const longest = 1_000 * 2 ** (this.failures - 1);
    const waited = now - this.failedAt;
    if (waited >= longest) this.question = 'out';
    else if (waited >= longest / 2) throw new Error('the test does not know whether it asks again');
  }
}

/** One gated call as it should stand. */
export class ExpectedCall {
  /** One after another, each with an id of its own. */
  readonly approvals: ExpectedApproval[];
  /** `cut`: it ran, and what became of it is not known, or it was told to stop. */
  work: 'held' | 'running' | 'stopping' | 'returned' | 'refused' | 'cut' = 'held';
  executions = 0;
  /** Of those, how many the journal tells of: a process may die between the two. */
  starts = 0;

  constructor(asked: ExpectedApproval) {
    this.approvals = [asked];
  }

  /** The one that was asked for last. */
  get approval(): ExpectedApproval {
    return this.approvals.at(-1) as ExpectedApproval; // There is one from the start.
  }

  /** The journal tells how its approval ended, and the call goes the way of that. */
  tell(): void {
    const { approval } = this;
    approval.isTold = true;
    approval.leaveOff();
    if (approval.winner === 'approved') {
      this.work = 'running';
      this.executions += 1;
      this.starts += 1;
    } else this.work = 'refused';
  }

  /** Its run is over, or parked: nobody is asked any more, and what ran is cut off. */
  leaveOff(): void {
    this.approval.leaveOff();
    if (this.work === 'running') this.work = 'cut';
  }

  get isOver(): boolean {
    return this.work === 'returned' || this.work === 'refused' || this.work === 'cut';
  }
}
