import type {
  ApprovalOrigin,
  ApprovalRequest,
  ToolCallRequest,
} from '../../machines/vocabulary.ts';
import { argumentsDigest } from '../hitl/digest.ts';
import { readRequest, REQUEST_APPROVAL } from '../hitl/request-approval.ts';
import type { ToolCall } from '../model.ts';
import { gateOf } from './gate-of.ts';
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
  const ownQuestion = scope.isOwnQuestion(name);
  return {
    id,
    name,
    kind,
    executor: kind === 'server' && !ownQuestion ? agent.executor : 'local',
    timeoutMs: agent.toolTimeoutMs(name),
    ...(kind === 'server' && heldBack(scope, call, { ownQuestion, decisionId })),
  };
}

function kindOf(scope: RunScope, name: string): ToolCallRequest['kind'] {
  if (scope.isClientTool(name)) return 'client';
  return scope.tool(name) === undefined ? 'missing' : 'server';
}

interface HeldBackOptions {
  /** It is a call of the built-in `request_approval`. */
  readonly ownQuestion: boolean;
  readonly decisionId: () => string;
}

/** What keeps a call from running at once: a person who must approve it, or a rule that forbids it. */
export function heldBack(
  scope: RunScope,
  call: ToolCall,
  { ownQuestion, decisionId }: HeldBackOptions,
): Pick<ToolCallRequest, 'approval' | 'forbiddenBy'> {
  const args = parseArguments(call.argumentsText);
  // Nobody is asked about a call that cannot run: its execution says what is wrong.
  if (args === undefined) return {};
  if (ownQuestion) return asked(scope, call, args, decisionId);
  const verdict = gateOf(scope, call.name)(args);
  if (verdict.effect === 'allow') return {};
  const { matchedPattern } = verdict;
  // Fail closed: what must be approved cannot be where nobody is asked.
  if (verdict.effect === 'deny' || scope.agent.approvals === undefined) {
    return { forbiddenBy: matchedPattern };
  }
  const grantedBy = scope.grantedBy(call.name, verdict.heldBy);
  const request = approvalRequest(scope, call, {
    origin: { kind: 'config_gate', matchedPattern },
    decisionId: decisionId(),
    args,
  });
  return { approval: { ...request, ...(grantedBy !== undefined && { grantedBy }) } };
}

/** A call of `request_approval` that cannot be read asks nobody: its execution says what is wrong. */
function asked(
  scope: RunScope,
  call: ToolCall,
  args: Record<string, unknown>,
  decisionId: () => string,
): Pick<ToolCallRequest, 'approval'> {
  const reading = readRequest(args);
  if (!reading.ok) return {};
  const agentName = scope.agent.approvals?.agentName ?? '';
  const origin = { kind: 'agent_requested', reason: reading.request.reason, agentName } as const;
  return { approval: approvalRequest(scope, call, { origin, decisionId: decisionId(), args }) };
}

/** What is approved is bound to these very arguments. */
export function approvalRequest(
  { agent: { approvals } }: RunScope,
  { id, name }: Pick<ToolCall, 'id' | 'name'>,
  {
    origin,
    decisionId,
    args,
  }: {
    readonly origin: ApprovalOrigin;
    readonly decisionId: string;
    readonly args: Readonly<Record<string, unknown>>;
  },
): ApprovalRequest {
  return {
    decisionId,
    toolCallId: id,
    toolName: name,
    origin,
    route: approvals?.route ?? 'conversational',
    timeoutMs: approvals?.timeoutMs ?? 0,
    reminderMs: approvals?.reminderMs ?? 0,
    argumentsDigest: argumentsDigest(args),
  };
}

/** By its name alone, where the tools of the run are not known yet. */
export const looksLikeOwnQuestion = ({ agent }: RunScope, name: string): boolean =>
  name === REQUEST_APPROVAL && agent.approvals?.offersRequests === true;
