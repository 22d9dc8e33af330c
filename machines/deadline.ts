import { callbackPort } from './ports.ts';
import type { DeadlineWhich } from './vocabulary.ts';

/** What the stopwatch behind a deadline is asked for. 0 never fires. */
export interface DeadlineInput {
  readonly runId: string;
  readonly which: DeadlineWhich;
  readonly ms: number;
}

/** Told to the chart once, when the time is up. */
export interface DeadlineReached {
  readonly type: 'deadline.reached';
  readonly which: DeadlineWhich;
  readonly afterMs: number;
}

/** Waiting for a person stops the clock; the rest of the time is kept. */
export type DeadlineCommand = { type: 'deadline.pause' } | { type: 'deadline.resume' };

/**
 * A stopwatch that a chart can suspend. XState's `after` starts anew whenever its state is entered,
 * so it cannot be suspended; it serves where a state's own life is the bound.
 */
export const watchDeadline = callbackPort<DeadlineCommand, DeadlineInput>('watchDeadline');
