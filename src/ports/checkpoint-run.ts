import { liveRecord } from '../facts/run-record.ts';
import type { Checkpoint, CheckpointCall } from '../journal/checkpoint.ts';
import { encodeCheckpoint } from '../journal/checkpoint.ts';
import type { ToolCall } from '../model.ts';
import type { CallRecord, RunScope } from './run-scope.ts';

/**
 * Queues what the run can be resumed from, at a boundary of its turns. A run that nobody would go on
 * with keeps none.
 */
export function keepCheckpoint(scope: RunScope): void {
  if (scope.command.liveness.policy === 'cancel') return;
  scope.journal.checkpoint(encodeCheckpoint(checkpointOf(scope)));
}

/**
 * Queues the record with what the run has used so far: the entries tell of it only with the turn
 * after, so a process that is killed would leave what it was billed for untold. A run that stops is
 * about to tell, and its record says that it stops.
 */
export function keepUsage(scope: RunScope): void {
  if (scope.stop.signal.aborted) return;
  scope.journal.record(JSON.stringify({ ...liveRecord(scope, 'running'), deadlines: [] }));
}

/** Where the run stands: its conversation up to the last model turn, and what that one asked for. */
export function checkpointOf(scope: RunScope): Checkpoint {
  const { command, runId, resumption } = scope;
  const { timeoutMs, clientTools } = command;
  return {
    version: 1,
    runId,
    sessionId: scope.sessionId,
    agent: command.agent,
    prompt: command.prompt,
    ...(scope.continuesSession && { continuesSession: true as const }),
    streaming: command.streaming,
    liveness: command.liveness,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(clientTools !== undefined && { clientTools }),
    seq: scope.journal.lastSeq,
    turn: scope.turns,
    messages: scope.conversation.spoken,
    calls: (scope.lastTurn?.calls ?? []).map((call) => callOf(scope, call)),
    recoveries: resumption?.checkpoint.recoveries ?? 0,
  };
}

function callOf(scope: RunScope, call: ToolCall): CheckpointCall {
  const record = scope.calls.get(call.id);
  const approval = pendingApproval(scope, call.id);
  return {
    call,
    client: record?.client ?? false,
    ...resultOf(record),
    ...(approval !== undefined && { approval }),
  };
}

function resultOf(record: CallRecord | undefined): Pick<CheckpointCall, 'result'> {
  const { result, ended } = record ?? {};
  return ended === true && result !== undefined ? { result } : {};
}

function pendingApproval(scope: RunScope, toolCallId: string): CheckpointCall['approval'] {
  for (const { request, requestedAt, outcome } of scope.approvals.values()) {
    const { origin, route } = request;
    if (request.toolCallId !== toolCallId || outcome !== undefined) continue;
    // A question of an executor goes with the execution, and one to a webhook with the process.
    if (origin.kind === 'elicitation' || route === 'webhook') continue;
    return {
      decisionId: request.decisionId,
      origin,
      argumentsDigest: request.argumentsDigest,
      requestedAt,
      expiresAt: requestedAt + request.timeoutMs,
    };
  }
  return undefined;
}
