import type { ApprovalRequest, ToolCallRequest } from '../../machines/vocabulary.ts';
import { argumentsDigest } from '../hitl/digest.ts';
import type { ToolCall } from '../model.ts';
import type { RunScope } from './run-scope.ts';
import { parseArguments } from './parse-arguments.ts';

/** What the charts are told of a call that the model asked for. `decisionId` mints the id of an approval. */
export function callRequest(
  scope: RunScope,
  call: ToolCall,
  decisionId: () => string,
): ToolCallRequest {
  const { agent } = scope;
  const { id, name } = call;
  const kind = kindOf(scope, name);
  const approval = kind === 'server' ? approvalOf(scope, call, decisionId) : undefined;
  return {
    id,
    name,
    kind,
    executor: kind === 'server' ? agent.executor : 'local',
    timeoutMs: agent.toolTimeoutMs(name),
    ...(approval !== undefined && { approval }),
  };
}

function kindOf(scope: RunScope, name: string): ToolCallRequest['kind'] {
  if (scope.isClientTool(name)) return 'client';
  return scope.tool(name) === undefined ? 'missing' : 'server';
}

/** What is approved is bound to these very arguments. */
export function approvalOf(
  { agent }: RunScope,
  { id, name, argumentsText }: ToolCall,
  decisionId: () => string,
): ApprovalRequest | undefined {
  const hit = agent.gate(name);
  if (hit === undefined) return undefined;
  return {
    decisionId: decisionId(),
    toolCallId: id,
    toolName: name,
    origin: { kind: 'config_gate', matchedPattern: hit.matchedPattern },
    route: 'conversational',
    timeoutMs: agent.approvalTimeoutMs,
    argumentsDigest: argumentsDigest(parseArguments(argumentsText) ?? {}),
  };
}
