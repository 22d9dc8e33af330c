import type { ApprovalEmitted } from '../../machines/approval.machine.ts';
import type { ToolCallEmitted } from '../../machines/tool-call.contract.ts';
import type { ApprovalOutcome, ApprovalRequest, WithdrawCause } from '../../machines/vocabulary.ts';
import { steadyNow } from '../clock.ts';
import { argumentsDigest } from '../hitl/digest.ts';
import { originFields } from '../hitl/origin.ts';
import type { AgentEvent, ApprovalOutcomeFields, ApprovalScopeFields } from '../journal/events.ts';
import type { ApprovalRecord, RunScope } from '../ports/run-scope.ts';
import { keepApproval } from './ended-approvals.ts';
import { gateOf } from '../ports/gate-of.ts';
import { parseArguments } from '../ports/parse-arguments.ts';

export function tellApprovalRequested(scope: RunScope, request: ApprovalRequest): void {
  const requestedAt = scope.clock.now();
  const expiresAt = steadyNow(scope.clock) + request.timeoutMs;
  scope.approvals.set(request.decisionId, { request, requestedAt, expiresAt, outcome: undefined });
  scope.journal.append('agent', {
    type: 'approval_requested',
    ...commonFields(scope, request),
    route: request.route,
    expires_at: expiryOf(scope, request),
  });
  scope.desk.opened(request.decisionId, scope);
}

export function tellApprovalPending(scope: RunScope, request: ApprovalRequest): void {
  const call = scope.calls.get(request.toolCallId)?.call;
  scope.journal.append('agent', {
    type: 'approval_pending',
    ...commonFields(scope, request),
    arguments: parseArguments(call?.argumentsText ?? '') ?? {},
    expires_at: expiryOf(scope, request),
  });
}

export function tellApprovalReminder(scope: RunScope, request: ApprovalRequest): void {
  const record = scope.approvals.get(request.decisionId);
  scope.journal.append('agent', {
    type: 'approval_reminder',
    decision_id: request.decisionId,
    tool_name: request.toolName,
    waited_ms: record === undefined ? 0 : waitedMs(scope, record),
    expires_at: expiryOf(scope, request),
    tool_call_id: request.toolCallId,
  });
}

/** The machine's clock may have been set meanwhile. */
const waitedMs = ({ clock }: RunScope, { request, expiresAt }: ApprovalRecord): number =>
  Math.max(0, steadyNow(clock) - (expiresAt - request.timeoutMs));

export function logRetrying(
  { log, runId, redact }: RunScope,
  { request, message }: Extract<ApprovalEmitted, { type: 'approval.retrying' }>,
): void {
  const fields = { run_id: runId, decision_id: request.decisionId, because: redact(message) };
  log.warn(fields, 'A webhook is asked again for an approval');
}

export function tellApprovalCompleted(
  scope: RunScope,
  request: ApprovalRequest,
  outcome: ApprovalOutcome,
): void {
  const { decisionId, toolCallId } = request;
  const record = scope.approvals.get(decisionId);
  if (record === undefined || record.outcome !== undefined) return;
  record.outcome = outcome;
  const told = outcomeFields(scope, outcome);
  scope.journal.append('agent', {
    type: 'approval_completed',
    decision_id: decisionId,
    outcome: told,
    duration_ms: waitedMs(scope, record),
    scope: scopeFields(scope),
    tool_call_id: toolCallId,
    arguments_digest: request.argumentsDigest,
    ...decisionFields(outcome),
  });
  keepApproval(scope, decisionId, told);
  logCompleted(scope, request, outcome);
  keepGrant(scope, request, outcome);
  scope.desk.closed(request, outcome, scope);
  scope.questions.get(decisionId)?.(outcome);
}

/** A channel that fails is for somebody to look after; everything else is how approvals end. */
function logCompleted(
  { log, runId, redact }: RunScope,
  { decisionId, toolName }: ApprovalRequest,
  outcome: ApprovalOutcome,
): void {
  const fields = { run_id: runId, decision_id: decisionId, tool: toolName, outcome: outcome.kind };
  if (outcome.kind === 'errored') {
    log.warn({ ...fields, because: redact(outcome.message) }, 'An approval could not be asked for');
  } else {
    const by = 'by' in outcome ? { by: outcome.by } : {};
    log.info({ ...fields, ...by }, 'An approval has ended');
  }
}

export function tellApprovalWithdrawn(
  { journal, approvals }: RunScope,
  {
    withdrawal: { decisionId, toolCallId, reason },
    notified,
  }: Pick<Extract<ToolCallEmitted, { type: 'approval.withdrawn' }>, 'withdrawal' | 'notified'>,
): void {
  const record = approvals.get(decisionId);
  if (record === undefined || record.withdrawn === true) return;
  record.withdrawn = true;
  journal.append('agent', {
    type: 'approval_withdrawn',
    decision_id: decisionId,
    tool_call_id: toolCallId,
    reason,
    notified,
  });
}

/**
 * The like of the call needs nobody any more in this session. It counts when the approval is durable:
 * a call must never rest on a decision that nobody can find.
 */
function keepGrant(scope: RunScope, request: ApprovalRequest, outcome: ApprovalOutcome): void {
  const { toolName, toolCallId, decisionId } = request;
  if (outcome.kind !== 'approved' || outcome.grant === undefined) return;
  const { sessionKey: sessionId, command, clock } = scope;
  const args = parseArguments(scope.calls.get(toolCallId)?.call.argumentsText ?? '') ?? {};
  const verdict = gateOf(scope, toolName)(args);
  if (verdict.effect !== 'approve') return;
  const grant = { sessionId, agent: command.agent, toolName, decisionId, at: clock.now() };
  scope.journal.flushed().then(
    () => scope.grants.add({ ...grant, matchedPattern: verdict.heldBy }),
    () => {}, // The run ends without having heard of the decision.
  );
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

const expiryOf = (
  { approvals, clock }: RunScope,
  { decisionId, timeoutMs }: ApprovalRequest,
): string =>
  new Date((approvals.get(decisionId)?.requestedAt ?? clock.now()) + timeoutMs).toISOString();

function outcomeFields({ redact }: RunScope, outcome: ApprovalOutcome): ApprovalOutcomeFields {
  switch (outcome.kind) {
    case 'timed_out':
      return { kind: 'timed_out', waited_ms: outcome.waitedMs };
    case 'cancelled':
      return { kind: 'cancelled', ...causeFields(outcome.cause) };
    case 'errored':
      return { kind: 'errored', message: redact(outcome.message) };
    default: {
      const { kind, reason } = outcome;
      return { kind, ...(reason !== undefined && { reason: redact(reason) }) };
    }
  }
}

type Completed = Extract<AgentEvent, { type: 'approval_completed' }>;

/** Who decided, and what else the decision says. */
function decisionFields(
  outcome: ApprovalOutcome,
): Pick<Completed, 'decided_by' | 'signed' | 'granted_by' | 'grant' | 'edited' | 'content'> {
  if (outcome.kind === 'denied') return said(outcome);
  if (outcome.kind !== 'approved') return {};
  const { grantedBy, grant, arguments: edited, content } = outcome;
  return {
    ...said(outcome),
    ...(grantedBy !== undefined && { granted_by: grantedBy }),
    ...(grant !== undefined && { grant }),
    ...(edited && { edited: { arguments: edited, arguments_digest: argumentsDigest(edited) } }),
    ...(content && { content }),
  };
}

const said = ({ by, signed }: { readonly by?: string; readonly signed?: true }) => ({
  ...(by !== undefined && { decided_by: by }),
  ...(signed !== undefined && { signed }),
});

/** The cause as journal entries name it. */
export function causeFields<Cause extends WithdrawCause>(cause: Cause) {
  return cause.kind === 'deadline'
    ? ({ reason: 'deadline', which: cause.which } as const)
    : ({ reason: cause.kind } as { readonly reason: Cause['kind'] });
}
