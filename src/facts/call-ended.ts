import type { ToolCallEmitted } from '../../machines/tool-call.contract.ts';
import { requestResult } from '../hitl/request-approval.ts';
import type { AgentEvent } from '../journal/events.ts';
import type { CallRecord, RunScope } from '../ports/run-scope.ts';
import { describeCause } from '../ports/run-stopped.ts';

export type CallEnded = Extract<ToolCallEmitted, { type: 'toolCall.ended' }>;

type ToolComplete = Extract<AgentEvent, { type: 'tool_complete' }>;
type How = Pick<ToolComplete, 'success' | 'approval' | 'effect' | 'forbidden_by'> & {
  readonly text: string;
};

/**
 * Tells the end of a tool call to the journal and, with the same words, to the model: what the
 * client saw and what the next turn is asked with never differ.
 */
export function tellCallEnded(scope: RunScope, fact: CallEnded): void {
  const record = scope.calls.get(fact.id);
  if (record === undefined || record.ended || record.client) return;
  const how = scope.isOwnQuestion(fact.name) ? howAnswered(fact, record) : howItEnded(fact, record);
  record.ended = true;
  record.result = { text: how.text, isError: !how.success };
  scope.unreported.push(fact.id);
  if (fact.abandoned) warnOfOrphan(scope, record);
  scope.journal.append('agent', toEvent(scope, record, how));
}

/** The run goes on without it; somebody who watches the machine should know that it is there. */
function warnOfOrphan({ log, runId }: RunScope, { call }: CallRecord): void {
  log.warn(
    { run_id: runId, tool_call_id: call.id, tool: call.name },
    'A tool call is abandoned: it ignored its stop and may still be at work',
  );
}

function toEvent(scope: RunScope, { call, requestedAt }: CallRecord, how: How): ToolComplete {
  const { text, success, approval, effect, forbidden_by } = how;
  return {
    type: 'tool_complete',
    tool_id: call.id,
    tool_name: call.name,
    duration_ms: Math.max(0, scope.clock.now() - requestedAt),
    success,
    ...(success ? { result: text } : { error: text }),
    ...(approval && { approval }),
    ...(effect && { effect }),
    ...(forbidden_by !== undefined && { forbidden_by }),
  };
}

/** The built-in `request_approval`: whatever became of the question is its answer. */
function howAnswered(fact: CallEnded, record: CallRecord): How {
  const { approval } = fact;
  if (approval === null || approval.kind === 'approved') return howItEnded(fact, record);
  const { text, isError } = requestResult(approval);
  const kind = approval.kind === 'errored' ? {} : { approval: approval.kind };
  return { success: !isError, text, ...kind };
}

function howItEnded(fact: CallEnded, record: CallRecord): How {
  if (fact.forbiddenBy !== undefined && fact.status === 'denied')
    return forbidden(fact.forbiddenBy);
  const byPerson = fact.approval && byApproval(fact);
  if (byPerson) return byPerson;
  switch (fact.status) {
    case 'completed':
      return { success: true, text: record.result?.text ?? '' };
    case 'failed':
      return { success: false, text: record.result?.text ?? 'ToolCallError: the call crashed' };
    case 'timed_out':
      return cut(fact, 'ToolCallError: timed out');
    default:
      return cut(
        fact,
        `ToolCallError: Cancelled: ${fact.cause ? describeCause(fact.cause) : 'stopped'}`,
      );
  }
}

const forbidden = (rule: string): How => ({
  success: false,
  forbidden_by: rule,
  text: `Tool call blocked: the rule for "${rule}" forbids it. Do not execute this action.`,
});

/** Undefined when the approval let the tool run. */
function byApproval({ approval }: CallEnded): How | undefined {
  switch (approval?.kind) {
    case 'denied':
      return {
        // AURA's clients know a denial as a normal result; `approval` tells it apart.
        success: true,
        approval: 'denied',
        text: `Tool call blocked by human approval denial: ${approval.reason ?? 'no reason provided'}. Do not execute this action.`,
      };
    case 'timed_out':
      return {
        success: false,
        approval: 'timed_out',
        text: 'tool call denied: approval timed out',
      };
    case 'cancelled':
      return {
        success: false,
        approval: 'cancelled',
        text: 'tool call denied: approval cancelled',
      };
    case 'errored':
      return {
        success: false,
        text: `tool call blocked: approval channel error: ${approval.message}`,
      };
    default:
      return undefined;
  }
}

function cut({ abandoned }: CallEnded, text: string): How {
  if (!abandoned) return { success: false, text };
  return {
    success: false,
    effect: 'unknown',
    text: `${text}; it did not confirm that it stopped, so its effect may have happened`,
  };
}
