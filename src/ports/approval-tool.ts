import { readRequest, REQUEST_APPROVAL_SPEC, requestResult } from '../hitl/request-approval.ts';
import type { Tool, ToolResult } from '../tool.ts';
import type { RunScope } from './run-scope.ts';

/**
 * The built-in `request_approval`: it acts on nothing, and says what the person said who was asked
 * before it ran. A call that asked nobody is told why.
 */
export function approvalTool(scope: RunScope): Tool {
  return {
    spec: REQUEST_APPROVAL_SPEC,
    execute: (args, { toolCallId }) => Promise.resolve(answerOf(scope, args, toolCallId)),
  };
}

function answerOf(
  scope: RunScope,
  args: Readonly<Record<string, unknown>>,
  toolCallId: string,
): ToolResult {
  const outcome = scope.gateApproval(toolCallId)?.outcome;
  if (outcome !== undefined) return requestResult(outcome);
  const reading = readRequest(args);
  const text = reading.ok ? 'approval request failed: nobody was asked.' : reading.problem;
  return { isError: true, text };
}
