import { ATTEMPTS_MAX } from '../limits.ts';
import { duration } from './say.ts';
import type { Story } from './story.ts';

/** The one reason for which the model request that failed last was not tried again. */
export function finalBecause(story: Story): string {
  const told = story.last('failed')?.event.error;
  const error = told ?? story.facts.record.end?.error;
  if (error?.retryable === false) return 'the failure is one that another try does not mend';
  const steps = story.turnSteps;
  const tries = steps.filter(({ to }) => to === 'backingOff').length + 1;
  const failed = steps.findLast(({ to }) => to === 'failed');
  if (tries < ATTEMPTS_MAX && failed?.from?.includes('streaming') === true) {
    return 'the answer had begun, and another try would have doubled it';
  }
  const afterMs = told?.retry_after_ms;
  if (tries < ATTEMPTS_MAX && afterMs !== undefined) {
    return `the provider asked to be left alone for ${duration(afterMs)}, longer than a run waits`;
  }
  return tries === 1 ? 'it had one try' : `all ${tries} tries were used`;
}
