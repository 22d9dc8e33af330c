import type { RunResume } from '../../machines/run.contract.ts';
import type {
  ApprovalOutcome,
  ApprovalRequest,
  ToolCallRequest,
} from '../../machines/vocabulary.ts';
import type { Checkpoint, CheckpointCall } from '../journal/checkpoint.ts';
import { approvalOf } from './call-request.ts';
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
  const asked = approval && restoreApproval(scope, { approval, id, name }, outcomes);
  const gate = client ? undefined : (asked ?? approvalOf(scope, call, decisionId));
  return {
    id,
    name,
    kind: client ? 'client' : 'server',
    executor: agent.executor,
    timeoutMs: agent.toolTimeoutMs(name),
    ...(gate !== undefined && { approval: gate }),
  };
}

/** Nobody is asked again; what nobody decided in time has timed out. */
function restoreApproval(
  scope: RunScope,
  {
    approval,
    id,
    name,
  }: { approval: NonNullable<CheckpointCall['approval']>; id: string; name: string },
  outcomes: Resumption['outcomes'],
): ApprovalRequest {
  const { decisionId, requestedAt, expiresAt, origin, argumentsDigest } = approval;
  const timeoutMs = expiresAt - requestedAt;
  const request: ApprovalRequest = {
    decisionId,
    toolCallId: id,
    toolName: name,
    origin,
    route: 'conversational',
    timeoutMs,
    argumentsDigest,
    decided: outcomes.get(decisionId) ?? { kind: 'timed_out', waitedMs: timeoutMs },
  };
  scope.approvals.set(decisionId, { request, requestedAt, outcome: undefined });
  return request;
}
