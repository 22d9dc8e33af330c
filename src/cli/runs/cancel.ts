import { segment } from '../client/paths.ts';
import { read } from '../client/read.ts';
import { runShape } from '../client/shapes.ts';
import { argument, type OperatorCall, option, printJson } from '../operator.ts';
import { plain } from '../print/plain.ts';
import { endText } from '../print/run-text.ts';
import { RUN_MISSING } from './missing.ts';

/** `runwarden runs cancel RUN`: stops a run; with `--wait` it ends when the run has ended. */
export async function cancelRun(call: OperatorCall): Promise<void> {
  const { client, io, flags } = call;
  const wait = flags['wait'] === true;
  const message = option(call, 'message');
  const { text, json } = await client.post(`/v1/runs/${segment(argument(call))}/cancel`, {
    ifMissing: RUN_MISSING,
    patient: wait,
    ...(wait ? { query: { wait: 'true' } } : {}),
    ...(message === undefined ? {} : { body: { message } }),
  });
  if (call.json) return printJson(call, text);
  const run = read(runShape, json);
  const end = endText(run);
  const why = end === '' ? '' : ` (${end})`;
  io.out(plain(`Run ${run.run_id} is ${run.state}${why}.`) + '\n');
}
