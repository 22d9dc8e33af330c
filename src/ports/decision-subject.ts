import type { DecisionSubject } from '../hitl/check-decision.ts';
import type { ArgumentsSchema } from '../hitl/edits.ts';
import { gateOf } from './gate-of.ts';
import type { ApprovalRecord, RunScope } from './run-scope.ts';

/** Where nobody is asked, nothing may be changed and nothing granted. */
const NOTHING = { allowsEdits: false, allowsGrants: false };

/** What a decision on a live run's approval is held against. */
export function subjectOf(
  scope: RunScope,
  { toolName, origin, argumentsDigest }: ApprovalRecord['request'],
): DecisionSubject {
  const expected = argumentsSchemaOf(scope, toolName);
  return {
    origin,
    argumentsDigest,
    policy: scope.agent.approvals ?? NOTHING,
    gate: gateOf(scope, toolName),
    ...(expected !== undefined && { expected }),
  };
}

/** What the arguments of a call of the tool must fit; undefined while the run has no such tool. */
export function argumentsSchemaOf(scope: RunScope, toolName: string): ArgumentsSchema | undefined {
  const tool = scope.tool(toolName);
  if (tool === undefined) return undefined;
  if (tool.inputSchema !== undefined) return { schema: tool.inputSchema, nullIsAbsent: true };
  return { schema: tool.spec.parameters };
}
