import { fromPromise } from 'xstate';
import type { ApprovalRef, PostAnswer } from '../../machines/approval.machine.ts';
import type { Withdrawal } from '../../machines/tool-call.contract.ts';
import type { Agent } from '../agent.ts';
import { steadyNow } from '../clock.ts';
import { DecisionRefusedError } from '../errors.ts';
import type { WebhookAnswer, WebhookQuestion } from '../hitl/channel.ts';
import { checkDecision } from '../hitl/check-decision.ts';
import { readRequest } from '../hitl/request-approval.ts';
import { subjectOf } from './decision-subject.ts';
import { parseArguments } from './parse-arguments.ts';
import type { ApprovalRecord, RunScope } from './run-scope.ts';
import type { RunScopes } from './run-scopes.ts';
import { tellWebhook } from './withdraw-owed.ts';

/** Asks a webhook once; the chart's leaving cuts the request off. */
export function postApprovalPort(scopes: RunScopes, random: () => number) {
  return fromPromise<PostAnswer, ApprovalRef>(async ({ input, signal }) => {
    const scope = scopes.require(input.runId);
    // The chart starts this before what it tells on the way here is heard.
    await Promise.resolve();
    const record = requireApproval(scope, input.decisionId);
    // What is asked is durable before somebody is asked: after a crash he is told that it is moot.
    await scope.journal.flushed();
    signal.throwIfAborted();
    const channel = scope.agent.approvals?.channel;
    if (channel === undefined) return failed('the agent has no webhook');
    const requestHeaders = scope.command.requestHeaders;
    if (hasExpired(scope, record)) return { kind: 'expired' };
    const answer = await asked(scope, record, signal, () =>
      channel.ask(questionOf(scope, record), { requestHeaders, signal }),
    );
    signal.throwIfAborted();
    // A busy process may read an answer before it sees that the time is over: then that counts.
    if (hasExpired(scope, record)) return { kind: 'expired' };
    return taken(scope, record, answer, random());
  });
}

/** A channel that breaks its word has not decided; what it threw is for who looks after it. */
async function asked(
  { log, runId }: RunScope,
  { request: { decisionId } }: ApprovalRecord,
  signal: AbortSignal,
  ask: () => Promise<WebhookAnswer>,
): Promise<WebhookAnswer> {
  try {
    const answer: Partial<WebhookAnswer> | undefined = await ask();
    if (answer?.kind === 'decided' || answer?.kind === 'failed') return answer as WebhookAnswer;
    throw new TypeError('an approval channel answers { kind: "decided" | "failed", … }');
  } catch (error) {
    if (signal.aborted) throw error; // The chart has left; that is how a question is cut off.
    log.warn({ run_id: runId, decision_id: decisionId, err: error }, 'An approval channel threw');
    return { kind: 'failed', message: 'the approval channel threw', retryable: false };
  }
}

/** It may have waited for its session, or its setup, for longer than it had. */
const hasExpired = ({ clock }: RunScope, { expiresAt }: ApprovalRecord): boolean =>
  steadyNow(clock) >= expiresAt;

/**
 * Tells a webhook that nobody waits any more. Resolves to whether it took the notice, which goes on when
 * the chart leaves: better late than never.
 */
export function withdrawApprovalPort(scopes: RunScopes) {
  return fromPromise<boolean, Withdrawal>(async ({ input }) =>
    tellWebhook(scopes.require(input.runId), input),
  );
}

function questionOf(scope: RunScope, { request, requestedAt }: ApprovalRecord): WebhookQuestion {
  const { agent, runId, sessionId } = scope;
  const { decisionId, origin, toolName, toolCallId, timeoutMs } = request;
  const args = parseArguments(scope.calls.get(toolCallId)?.call.argumentsText ?? '') ?? {};
  const asked = origin.kind === 'agent_requested' ? readRequest(args) : undefined;
  return {
    decisionId,
    runId,
    sessionId,
    origin,
    toolName,
    arguments: asked?.ok ? asked.request.shown : args,
    ...(asked?.ok &&
      asked.request.intent !== undefined && { toolCallIntent: asked.request.intent }),
    expiresAt: requestedAt + timeoutMs,
    may: mayOf(agent, request),
  };
}

/** What an approver may do with it beside approving and denying. */
export function mayOf(
  { approvals }: Pick<Agent, 'approvals'>,
  { origin }: Pick<ApprovalRecord['request'], 'origin'>,
): WebhookQuestion['may'] {
  const isGate = origin.kind === 'config_gate';
  return {
    edit: isGate && approvals?.allowsEdits === true,
    grant: isGate && approvals?.allowsGrants === true,
  };
}

/** An answer that does not fit what was asked is none. */
function taken(
  scope: RunScope,
  { request }: ApprovalRecord,
  answer: WebhookAnswer,
  jitter: number,
): PostAnswer {
  if (answer.kind === 'failed') return { ...answer, message: scope.redact(answer.message), jitter };
  if (scope.agent.approvals === undefined) return failed('the agent asks nobody');
  const decision = checkDecision(subjectOf(scope, request), answer.decision);
  if (decision instanceof DecisionRefusedError) {
    return failed(`the webhook's answer is refused: ${decision.message}`);
  }
  if (decision.approved) scope.holdToolHeaders(request.toolCallId, answer.toolHeaders ?? {});
  const { reason } = decision;
  const said = reason === undefined ? {} : { reason: scope.redact(reason) };
  return { kind: 'decided', decision: { ...decision, ...said } };
}

const failed = (message: string): PostAnswer => ({
  kind: 'failed',
  message,
  retryable: false,
  jitter: 0,
});

function requireApproval(scope: RunScope, decisionId: string): ApprovalRecord {
  const record = scope.approvals.get(decisionId);
  if (record === undefined) throw new Error(`invariant: approval ${decisionId} was asked for`);
  return record;
}
