import { segment } from '../client/paths.ts';
import type { Entry } from '../client/shapes.ts';
import { argument, type OperatorCall } from '../operator.ts';
import { watch } from '../print/watch.ts';
import { RUN_MISSING } from './missing.ts';

/** As `TERMINAL_TYPES` of the journal, whose writing side is not this room's to import. */
const LAST: ReadonlySet<string> = new Set(['finished', 'cancelled', 'failed', 'parked']);

/** `runwarden runs watch RUN`: the entries of a run as they come, up to its end. */
export function watchRun(call: OperatorCall): Promise<void> {
  return watch(call, {
    path: `/v1/runs/${segment(argument(call))}/events`,
    ifMissing: RUN_MISSING,
    isLast: ({ payload }: Entry) => LAST.has(payload.event.type),
    whole: false,
    left: 'The run goes on.',
  });
}
