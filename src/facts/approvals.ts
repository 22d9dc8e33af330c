import type {
  ApprovalOrigin,
  ApprovalOutcome,
  ApprovalRequest,
  StopCause,
} from '../../machines/vocabulary.ts';
import type {
  ApprovalOriginFields,
  ApprovalOutcomeFields,
  ApprovalScopeFields,
} from '../journal/events.ts';
import type { RunScope } from '../ports/run-scope.ts';
import { parseArguments } from '../ports/parse-arguments.ts';

export function tellApprovalRequested(scope: RunScope, request: ApprovalRequest): void {
  const requestedAt = scope.clock.now();
  scope.approvals.set(request.decisionId, { request, requestedAt, outcome: undefined });
  scope.desk.opened(request.decisionId, scope);
  scope.journal.append('agent', { type: 'approval_requested', ...commonFields(scope, request) });
}

export function tellApprovalPending(scope: RunScope, request: ApprovalRequest): void {
  const call = scope.calls.get(request.toolCallId)?.call;
  scope.journal.append('agent', {
    type: 'approval_pending',
    ...commonFields(scope, request),
    arguments: parseArguments(call?.argumentsText ?? '') ?? {},
    expires_at: new Date(scope.clock.now() + request.timeoutMs).toISOString(),
  });
}

export function tellApprovalCompleted(
  scope: RunScope,
  request: ApprovalRequest,
  outcome: ApprovalOutcome,
): void {
  const record = scope.approvals.get(request.decisionId);
  if (record === undefined || record.outcome !== undefined) return;
  record.outcome = outcome;
  scope.desk.closed(request.decisionId, outcome);
  scope.journal.append('agent', {
    type: 'approval_completed',
    decision_id: request.decisionId,
    outcome: outcomeFields(outcome),
    duration_ms: Math.max(0, scope.clock.now() - record.requestedAt),
    scope: scopeFields(scope),
    tool_call_id: request.toolCallId,
    arguments_digest: request.argumentsDigest,
  });
}

function commonFields(scope: RunScope, request: ApprovalRequest) {
  return {
    decision_id: request.decisionId,
    tool_name: request.toolName,
    origin: originFields(request.origin),
    scope: scopeFields(scope),
    tool_call_id: request.toolCallId,
    arguments_digest: request.argumentsDigest,
  };
}

const scopeFields = (scope: RunScope): ApprovalScopeFields => ({
  kind: 'single',
  session_id: scope.sessionId,
});

export function originFields(origin: ApprovalOrigin): ApprovalOriginFields {
  return origin.kind === 'config_gate'
    ? { kind: 'config_gate', matched_pattern: origin.matchedPattern }
    : { kind: 'agent_requested', reason: origin.reason, agent_name: origin.agentName };
}

function outcomeFields(outcome: ApprovalOutcome): ApprovalOutcomeFields {
  switch (outcome.kind) {
    case 'timed_out':
      return { kind: 'timed_out', waited_ms: outcome.waitedMs };
    case 'cancelled':
      return { kind: 'cancelled', ...causeFields(outcome.cause) };
    default:
      return outcome;
  }
}

/** The cause as journal entries name it. */
export function causeFields(cause: StopCause) {
  return cause.kind === 'deadline'
    ? ({ reason: 'deadline', which: cause.which } as const)
    : ({ reason: cause.kind } as const);
}
