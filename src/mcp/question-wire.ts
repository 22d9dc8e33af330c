import {
  ErrorCode,
  type JSONRPCRequest,
  RELATED_TASK_META_KEY,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { ElicitationAnswer } from '../tool.ts';
import { checkSchema } from '../hitl/elicitation.ts';

/** The method by which a server asks a person something. */
export const ASK_METHOD = 'elicitation/create';

/** What a server wants to know. */
export interface AskedQuestion {
  readonly message: string;
  /** Has passed `checkSchema`. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The part of a response beside its id. */
export type QuestionReply =
  | { readonly result: ElicitationResult }
  | { readonly error: { readonly code: number; readonly message: string } };

/** As the protocol writes an answer. */
interface ElicitationResult extends Readonly<Record<string, unknown>> {
  readonly action: ElicitationAnswer['action'];
}

/** The reply to a question that nobody has answered. */
export const CANCELLED: QuestionReply = { result: { action: 'cancel' } };

/** The reply that tells what a person said. */
export const replyOf = (answer: ElicitationAnswer): QuestionReply =>
  answer.action === 'accept'
    ? { result: { action: 'accept', content: answer.content } }
    : { result: { action: answer.action } };

export const refusal = (code: number, message: string): QuestionReply => ({
  error: { code, message },
});

/** The question of a request, or the reply to one that is none. A request without a mode is a form. */
export function readQuestion({ params }: JSONRPCRequest): AskedQuestion | QuestionReply {
  const { mode = 'form', message, requestedSchema } = params ?? {};
  if (mode !== 'form') {
    const named = mode === 'url' ? 'URL mode' : 'this mode';
    return invalid(`This client does not support ${named}; it declares the mode "form" alone`);
  }
  if (typeof message !== 'string') return invalid('`message` must be a string');
  const problem = checkSchema(requestedSchema);
  if (problem !== undefined) return invalid(`requestedSchema: ${problem}`);
  // An object: `checkSchema` refuses everything else.
  return { message, schema: requestedSchema as AskedQuestion['schema'] };
}

const invalid = (message: string): QuestionReply => refusal(ErrorCode.InvalidParams, message);

/**
 * The request that a question says it belongs to, where it says so. Its `progressToken` says nothing:
 * that one is the server's own, and counts from the same numbers as our request ids.
 */
export function namedRequestOf({ params }: JSONRPCRequest): RequestId | undefined {
  const meta = params?._meta as Readonly<Record<string, unknown>> | undefined;
  const task = meta?.[RELATED_TASK_META_KEY] as { readonly taskId?: unknown } | null | undefined;
  const named = meta?.['relatedRequestId'] ?? task?.taskId;
  return typeof named === 'string' || typeof named === 'number' ? named : undefined;
}
