import { segment } from '../client/paths.ts';
import { read } from '../client/read.ts';
import { resumedShape } from '../client/shapes.ts';
import { argument, type OperatorCall, printJson } from '../operator.ts';
import { plain } from '../print/plain.ts';
import { RUN_MISSING } from './missing.ts';

/** `runwarden runs resume RUN`: starts a run that goes on with a parked one. */
export async function resumeRun(call: OperatorCall): Promise<void> {
  const path = `/v1/runs/${segment(argument(call))}/resume`;
  const { text, json } = await call.client.post(path, { ifMissing: RUN_MISSING });
  if (call.json) return printJson(call, text);
  const { run_id, continues } = read(resumedShape, json);
  const lines = [
    `Run ${run_id} goes on with run ${continues}.`,
    `Watch it by "runwarden runs watch ${run_id}".`,
  ];
  call.io.out(`${lines.map(plain).join('\n')}\n`);
}
