import { fromCallback } from 'xstate';
import type { DeadlineCommand, DeadlineInput, DeadlineReached } from '../../machines/deadline.ts';
import type { RunScopes } from './run-scopes.ts';
import { Stopwatch } from './stopwatch.ts';

/** A stopwatch of the run's clock; what it shows is in the run's record. 0 never fires. */
export function watchDeadlinePort(scopes: RunScopes) {
  return fromCallback<DeadlineCommand, DeadlineInput>(({ input, sendBack, receive }) => {
    if (input.ms === 0) return;
    const scope = scopes.require(input.runId);
    const stopwatch = new Stopwatch({
      which: input.which,
      ms: input.ms,
      clock: scope.clock,
      ...(input.which === 'inactivity' && { lastActivityAt: () => scope.lastActivityAt }),
      onReached: (afterMs) => sendBack(reached(input, afterMs)),
    });
    scope.stopwatches.add(stopwatch);
    receive((command) => {
      if (command.type === 'deadline.pause') stopwatch.pause();
      else stopwatch.resume();
    });
    return () => {
      stopwatch.stop();
      scope.stopwatches.delete(stopwatch);
    };
  });
}

const reached = ({ which }: DeadlineInput, afterMs: number): DeadlineReached => ({
  type: 'deadline.reached',
  which,
  afterMs,
});
