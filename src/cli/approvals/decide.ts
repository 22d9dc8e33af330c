import { decisionContext, signedHeaders } from '../../hitl/webhook/signing.ts';
import { OperatorError } from '../client/errors.ts';
import { EXIT } from '../client/exit-codes.ts';
import { read } from '../client/read.ts';
import { approvalShape } from '../client/shapes.ts';
import { type OperatorCall, printJson } from '../operator.ts';
import { plain } from '../print/plain.ts';
import { approvalIdOf } from './filters.ts';
import { SECRET, secretOf } from './secret.ts';

/** As the server takes it. */
export interface DecisionBody {
  readonly approved: boolean;
  readonly reason?: string;
  readonly arguments?: object;
  readonly grant?: 'session';
  readonly content?: object;
}

/** Takes a decision. Its answer has no body, so `--json` prints nothing. */
export async function decide(call: OperatorCall, body: DecisionBody): Promise<void> {
  const id = approvalIdOf(call);
  const secret = secretOf(call);
  const { text } = await call.client.post(`/v1/approvals/${id}`, {
    body,
    ifMissing: secret === undefined ? () => whyMissing(call, id) : GONE,
    ifUnsigned: secret === undefined ? UNSIGNED : MISSIGNED,
    ...(secret === undefined ? {} : { sign: signing(call, { secret, id }) }),
  });
  if (call.json) return printJson(call, text);
  call.io.out(plain(`${body.approved ? 'Approved' : 'Denied'} ${id}.`) + '\n');
}

const GONE = 'It is decided or expired; "runwarden approvals list" lists what waits.';
const WEBHOOK = `Its webhook decides it, or a signed decision: set ${SECRET}.`;
const MAYBE_WEBHOOK = `One of the route "webhook" is decided by a signed decision alone: set ${SECRET}.`;
const UNSIGNED = `Set ${SECRET} to the secret of the server, or use a key with the scope approvals:decide.`;
const MISSIGNED = `Check that ${SECRET} is the secret of the server, and that both clocks are right.`;

/** The server says the same of one that is gone and of one that only a signature decides. */
async function whyMissing({ client }: OperatorCall, id: string): Promise<string> {
  try {
    const { json } = await client.get(`/v1/approvals/${id}`);
    const { state, may } = read(approvalShape, json);
    return state === 'pending' && may.decide === 'signed' ? WEBHOOK : GONE;
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    // A key that decides may not be one that reads.
    return error.exitCode === EXIT.notFound ? GONE : `${GONE} ${MAYBE_WEBHOOK}`;
  }
}

/** The server verifies the segment of the path as it is sent. */
const signing =
  ({ io }: OperatorCall, { secret, id }: { secret: string; id: string }) =>
  (body: string): Readonly<Record<string, string>> =>
    signedHeaders({ secret, nowMs: io.now(), context: decisionContext(id), body });
