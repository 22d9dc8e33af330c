import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { ApprovalOutcomeFields } from '../journal/events.ts';
import {
  decidedIn,
  type EndedOutcome,
  keepEnded,
  type ShownApproval,
} from '../ports/ended-approval.ts';
import { parseArguments } from '../ports/parse-arguments.ts';
import type { ApprovalRecord, RunScope } from '../ports/run-scope.ts';

/**
 * Keeps an approval that has ended beyond its run, for whoever looks for it or repeats its decision.
 * `told` is its outcome as the entry tells it, which holds no secret. An approval that the run does not
 * know is passed over. `wasRefused`: the store did not take its end in time for whoever decided.
 */
export function keepApproval(
  scope: RunScope,
  decisionId: string,
  told: ApprovalOutcomeFields,
  { wasRefused = false } = {},
): void {
  const record = scope.approvals.get(decisionId);
  if (record?.outcome === undefined) return;
  const { request, requestedAt, outcome } = record;
  keepEnded(scope.journal, {
    decisionId,
    shown: { ...shownOf(scope, record), ...(wasRefused && { wasRefused }) },
    outcome: endedOutcome(outcome, told),
    expiresAt: requestedAt + request.timeoutMs,
  });
}

function shownOf(scope: RunScope, { request, requestedAt }: ApprovalRecord): ShownApproval {
  const { toolName, toolCallId, argumentsDigest, origin, route } = request;
  const text = scope.calls.get(toolCallId)?.call.argumentsText ?? '';
  return {
    agent: scope.command.agent,
    sessionId: scope.sessionId,
    toolName,
    toolCallId,
    arguments: parseArguments(text) ?? {},
    argumentsDigest,
    origin,
    route,
    requestedAt,
  };
}

const endedOutcome = (outcome: ApprovalOutcome, told: ApprovalOutcomeFields): EndedOutcome =>
  told.kind === 'approved' || told.kind === 'denied' ? { ...decidedIn(outcome), ...told } : told;
