import { segment } from '../client/paths.ts';
import { argument, type OperatorCall } from '../operator.ts';
import { watch } from '../print/watch.ts';
import { SESSION_MISSING } from './missing.ts';

/** `runwarden sessions watch SESSION`: all its entries as they come, also those of later runs. */
export function watchSession(call: OperatorCall): Promise<void> {
  return watch(call, {
    path: `/v1/sessions/${segment(argument(call))}/events`,
    ifMissing: SESSION_MISSING,
    isLast: () => false,
    whole: true,
    left: 'The session goes on.',
  });
}
