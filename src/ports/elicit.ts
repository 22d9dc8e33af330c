import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { Ids } from '../ids.ts';
import type { ToolCall } from '../model.ts';
import type { Elicitation, ElicitationAnswer } from '../tool.ts';
import { approvalRequest } from './call-request.ts';
import { parseArguments } from './parse-arguments.ts';
import type { RunScope } from './run-scope.ts';

interface Asking {
  readonly question: Elicitation;
  /** Of the execution that asks. */
  readonly signal: AbortSignal;
  /** Whoever asks takes the question back. */
  readonly retracted?: AbortSignal | undefined;
  readonly ids: Pick<Ids, 'decision'>;
}

/**
 * Puts a question of whoever executes a call to a person: the call's chart asks, and its answer comes
 * back here. Rejects when the execution is stopped first, or the question is taken back.
 */
export async function elicit(
  scope: RunScope,
  { id, name }: Pick<ToolCall, 'id' | 'name'>,
  { question, signal, retracted, ids }: Asking,
): Promise<ElicitationAnswer> {
  const over = retracted === undefined ? signal : AbortSignal.any([signal, retracted]);
  over.throwIfAborted();
  const decisionId = ids.decision();
  const args = parseArguments(scope.calls.get(id)?.call.argumentsText ?? '') ?? {};
  const message = scope.redact(question.message);
  const request = approvalRequest(
    scope,
    { id, name },
    {
      origin: { kind: 'elicitation', ...question, message },
      decisionId,
      args,
    },
  );
  const answer = Promise.withResolvers<ApprovalOutcome>();
  const stop = () => {
    answer.reject(over.reason);
    scope.desk.tell(scope.runId, { type: 'toolCall.retract', toolCallId: id, decisionId });
  };
  over.addEventListener('abort', stop, { once: true });
  scope.questions.set(decisionId, answer.resolve);
  scope.desk.tell(scope.runId, { type: 'toolCall.ask', toolCallId: id, request });
  try {
    return answerOf(await answer.promise);
  } finally {
    over.removeEventListener('abort', stop);
    scope.questions.delete(decisionId);
  }
}

function answerOf(outcome: ApprovalOutcome): ElicitationAnswer {
  if (outcome.kind === 'approved') return { action: 'accept', content: outcome.content ?? {} };
  return { action: outcome.kind === 'denied' ? 'decline' : 'cancel' };
}
