import { segment } from '../client/paths.ts';
import { read } from '../client/read.ts';
import { runShape } from '../client/shapes.ts';
import { argument, type OperatorCall, printJson } from '../operator.ts';
import { plain } from '../print/plain.ts';
import { RUN_MISSING } from './missing.ts';

/** `runwarden runs park RUN`: asks a run to end resumable at its next checkpoint. */
export async function parkRun(call: OperatorCall): Promise<void> {
  const path = `/v1/runs/${segment(argument(call))}/park`;
  const { text, json } = await call.client.post(path, { ifMissing: RUN_MISSING });
  if (call.json) return printJson(call, text);
  const { run_id, state } = read(runShape.pick({ run_id: true, state: true }), json);
  call.io.out(
    state === 'parked'
      ? plain(`Run ${run_id} is parked; "runwarden runs resume ${run_id}" goes on with it.`) + '\n'
      : plain(`Run ${run_id} is ${state}; it parks at its next checkpoint.`) + '\n',
  );
}
