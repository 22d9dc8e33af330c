import type { RunResume } from '../../machines/run.contract.ts';
import type {
  ApprovalOutcome,
  ApprovalRequest,
  ToolCallRequest,
} from '../../machines/vocabulary.ts';
import type { Checkpoint, CheckpointCall } from '../journal/checkpoint.ts';
import { steadyNow } from '../clock.ts';
import { heldBack, looksLikeOwnQuestion } from './call-request.ts';
import type { RunScope } from './run-scope.ts';

/** What a run goes on from. */
export interface Resumption {
  readonly parkedRunId: string;
  readonly checkpoint: Checkpoint;
  /** How the approvals that the parked run left open were decided, by decision id. */
  readonly outcomes: ReadonlyMap<string, ApprovalOutcome>;
}

/** Puts the run where its checkpoint was, and gives what its chart is told of that. */
export function resumeScope(
  scope: RunScope,
  { checkpoint, outcomes }: Resumption,
  decisionId: () => string,
): RunResume {
  const { calls, turn } = checkpoint;
  scope.turns = turn;
  if (calls.length > 0) {
    scope.lastTurn = { usage: NONE, calls: calls.map(({ call }) => call), finish: undefined };
  }
  for (const call of calls) restoreCall(scope, call);
  const pending = calls.filter(({ result }) => result === undefined);
  return {
    turn,
    calls: pending.map((call) => requestOf(scope, call, { outcomes, decisionId })),
  };
}

const NONE = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

function restoreCall(scope: RunScope, { call, client, result }: CheckpointCall): void {
  scope.calls.set(call.id, {
    call,
    requestedAt: scope.clock.now(),
    client,
    result,
    ended: result !== undefined,
  });
}

interface Minting {
  readonly outcomes: Resumption['outcomes'];
  readonly decisionId: () => string;
}

/** Whether the tool is still there is not known before setup; the call finds out when it runs. */
function requestOf(
  scope: RunScope,
  { call, client, approval }: CheckpointCall,
  { outcomes, decisionId }: Minting,
): ToolCallRequest {
  const { agent } = scope;
  const { id, name } = call;
  const ownQuestion = !client && looksLikeOwnQuestion(scope, name);
  const asked = approval && restoreApproval(scope, { approval, id, name }, outcomes);
  const gate = asked ? { approval: asked } : heldBack(scope, call, { ownQuestion, decisionId });
  return {
    id,
    name,
    kind: client ? 'client' : 'server',
    executor: ownQuestion ? 'local' : agent.executor,
    timeoutMs: agent.toolTimeoutMs(name),
    ...(!client && gate),
  };
}

interface Restoring {
  readonly approval: NonNullable<CheckpointCall['approval']>;
  readonly id: string;
  readonly name: string;
}

/**
 * Nobody is asked twice: what was decided is taken, and what nobody decided in time has timed out. A
 * webhook's question went with the run that asked it, so that its call is held back anew.
 */
function restoreApproval(
  scope: RunScope,
  { approval, id, name }: Restoring,
  outcomes: Resumption['outcomes'],
): ApprovalRequest {
  const { decisionId, requestedAt, expiresAt, origin, argumentsDigest } = approval;
  const timeoutMs = expiresAt - requestedAt;
  const decided = outcomes.get(decisionId) ?? { kind: 'timed_out' as const, waitedMs: timeoutMs };
  const request: ApprovalRequest = {
    decisionId,
    toolCallId: id,
    toolName: name,
    origin,
    route: 'conversational',
    timeoutMs,
    reminderMs: scope.agent.approvals?.reminderMs ?? 0,
    argumentsDigest,
    decided,
  };
  const steadyExpiry = steadyNow(scope.clock) + expiresAt - scope.clock.now();
  scope.approvals.set(decisionId, {
    request,
    requestedAt,
    expiresAt: steadyExpiry,
    outcome: undefined,
  });
  return request;
}
