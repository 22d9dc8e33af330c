import { fromPromise } from 'xstate';
import type { ToolCallRef, ToolCallReturn } from '../../machines/tool-call.contract.ts';
import type { Ids } from '../ids.ts';
import type { Tool, ToolContext, ToolProgress, ToolResult } from '../tool.ts';
import { redactCredentials } from '../redact-secrets.ts';
import { Execution } from './execution.ts';
import type { CallRecord, RunScope } from './run-scope.ts';
import type { RunScopes } from './run-scopes.ts';
import { clearanceOf } from './approved-call.ts';
import { elicit } from './elicit.ts';

/**
 * Executes a tool call once. The chart's leaving aborts it; the execution itself ends when the
 * tool does, and the stop ports wait for that.
 */
export function executeToolPort(scopes: RunScopes, ids: Pick<Ids, 'decision'>) {
  return fromPromise<ToolCallReturn, ToolCallRef>(async ({ input, signal }) => {
    const scope = scopes.require(input.runId);
    const execution = new Execution();
    scope.executions.set(input.toolCallId, execution);
    const abort = () => execution.controller.abort(reasonOf(scope));
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await execute(scope, requireCall(scope, input.toolCallId), { execution, ids });
    } finally {
      signal.removeEventListener('abort', abort);
      execution.finish();
      scope.executions.delete(input.toolCallId);
    }
  });
}

/** Resolves when the tool that was told to stop has really ended. */
export function awaitToolStopPort(scopes: RunScopes) {
  return fromPromise<void, ToolCallRef>(({ input }) => {
    const execution = scopes.require(input.runId).executions.get(input.toolCallId);
    return execution?.ended ?? Promise.resolve();
  });
}

/** Resolves when the executor was told to stop; rejects when it could not be told. */
export function awaitStopNoticePort(scopes: RunScopes) {
  return fromPromise<void, ToolCallRef>(({ input }) => {
    const execution = scopes.require(input.runId).executions.get(input.toolCallId);
    return execution?.noticed ?? Promise.resolve();
  });
}

interface Executing {
  readonly execution: Execution;
  readonly ids: Pick<Ids, 'decision'>;
}

async function execute(
  scope: RunScope,
  record: CallRecord,
  executing: Executing,
): Promise<ToolCallReturn> {
  const { execution } = executing;
  // What was asked for is durable before it is done: after a crash nobody does it again.
  await scope.journal.flushed();
  execution.controller.signal.throwIfAborted();
  const { text, isError } = await resultOf(scope, record, executing);
  const known = scope.redact(text);
  const result = { text: isError ? redactCredentials(known) : known, isError };
  if (execution.controller.signal.aborted) tellOrphanEnded(scope, record);
  else record.result = result;
  return { isError: result.isError };
}

async function resultOf(
  scope: RunScope,
  { call }: CallRecord,
  { execution, ids }: Executing,
): Promise<ToolResult> {
  const tool = scope.tool(call.name);
  if (tool === undefined) return failed(`ToolCallError: tool not found: ${call.name}`);
  const clearance = clearanceOf(scope, call);
  if (!clearance.ok) return failed(clearance.text);
  const { args, digest } = clearance;
  const context = contextOf(scope, call, {
    execution,
    ids,
    ...(digest !== undefined && { digest }),
  });
  if (scope.agent.executor === 'local') context.started({});
  const result = await callTool(scope, tool, args, context);
  return clearance.isEdited ? { ...result, text: `${editNote(args)}${result.text}` } : result;
}

/** The model asked for other arguments, and would take the result for theirs. */
const editNote = (args: Readonly<Record<string, unknown>>): string =>
  `[The approver changed the arguments of the call to ${JSON.stringify(args)}.]\n`;

async function callTool(
  scope: RunScope,
  tool: Tool,
  args: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolResult> {
  try {
    return await tool.execute(args, context);
  } catch (error) {
    if (!context.signal.aborted) {
      scope.log.warn({ run_id: scope.runId, tool: tool.spec.name, err: error }, 'A tool threw');
    }
    return failed(`ToolCallError: ${error instanceof Error ? error.message : 'the tool threw'}`);
  }
}

function contextOf(
  scope: RunScope,
  call: { readonly id: string; readonly name: string },
  { execution, ids, digest }: Executing & { readonly digest?: string },
): ToolContext {
  const { journal, runId, sessionId } = scope;
  const { signal } = execution.controller;
  const headers = scope.toolHeaders(call.id);
  let told = false;
  return {
    runId,
    sessionId,
    toolCallId: call.id,
    signal,
    ...(headers !== undefined && { headers }),
    ...(scope.agent.approvals !== undefined && {
      elicit: (question, options) =>
        elicit(scope, call, { question, signal, ids, retracted: options?.signal }),
    }),
    started: ({ progressToken }) => {
      if (signal.aborted || told) return;
      told = true;
      journal.append('agent', {
        type: 'tool_start',
        tool_id: call.id,
        tool_name: call.name,
        ...(progressToken !== undefined && { progress_token: progressToken }),
        ...(digest !== undefined && { arguments_digest: digest }),
      });
    },
    progress: (progress) => {
      if (signal.aborted) return;
      const message = scope.redact(progress.message);
      journal.append('agent', progressEvent(call.id, { ...progress, message }));
    },
    cancelSent: (sent) => execution.noticeSent(sent),
  };
}

const progressEvent = (toolId: string, progress: ToolProgress) =>
  ({
    type: 'tool_progress',
    tool_id: toolId,
    message: progress.message,
    phase: 'mcp_progress',
    ...(progress.percent !== undefined && { percent: progress.percent }),
    ...(progress.progressToken !== undefined && { progress_token: progress.progressToken }),
  }) as const;

/** Its result comes too late to count, but that it ended at last is worth knowing. */
function tellOrphanEnded(scope: RunScope, { call, ended }: CallRecord): void {
  if (!ended) return;
  scope.log.warn(
    { run_id: scope.runId, tool_call_id: call.id, tool: call.name },
    'A tool call that had been abandoned has ended; its effect may have happened',
  );
}

function reasonOf(scope: RunScope): unknown {
  const { signal } = scope.stop;
  return signal.aborted
    ? signal.reason
    : new DOMException('the tool call timed out', 'TimeoutError');
}

function requireCall(scope: RunScope, id: string): CallRecord {
  const record = scope.calls.get(id);
  if (record === undefined) throw new Error(`invariant: tool call ${id} was asked for`);
  return record;
}

const failed = (text: string): ToolResult => ({ text, isError: true });
