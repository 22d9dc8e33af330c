import { segment } from '../client/paths.ts';
import { argument, type OperatorCall, option, printJson } from '../operator.ts';
import { plain } from '../print/plain.ts';

/** Takes a decision. Its answer has no body, so `--json` prints nothing. */
export async function decide(
  call: OperatorCall,
  { approved }: { readonly approved: boolean },
): Promise<void> {
  const id = argument(call);
  const reason = option(call, 'reason');
  const { text } = await call.client.post(`/v1/approvals/${segment(id)}`, {
    body: { approved, ...(reason === undefined ? {} : { reason }) },
    ifMissing: 'It is decided or expired; "runwarden approvals ls" lists what waits.',
  });
  if (call.json) return printJson(call, text);
  call.io.out(plain(`${approved ? 'Approved' : 'Denied'} ${id}.`) + '\n');
}
