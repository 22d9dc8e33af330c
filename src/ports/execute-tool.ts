import { fromPromise } from 'xstate';
import type { ToolCallRef, ToolCallReturn } from '../../machines/tool-call.machine.ts';
import type { Tool, ToolContext, ToolProgress, ToolResult } from '../tool.ts';
import { redactCredentials } from '../redact-secrets.ts';
import { Execution } from './execution.ts';
import type { CallRecord, RunScope, RunScopes } from './run-scope.ts';
import { parseArguments } from './parse-arguments.ts';

/**
 * Executes a tool call once. The chart's leaving aborts it; the execution itself ends when the
 * tool does, and the stop ports wait for that.
 */
export function executeToolPort(scopes: RunScopes) {
  return fromPromise<ToolCallReturn, ToolCallRef>(async ({ input, signal }) => {
    const scope = scopes.require(input.runId);
    const execution = new Execution();
    scope.executions.set(input.toolCallId, execution);
    const abort = () => execution.controller.abort(reasonOf(scope));
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await execute(scope, requireCall(scope, input.toolCallId), execution);
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

async function execute(
  scope: RunScope,
  record: CallRecord,
  execution: Execution,
): Promise<ToolCallReturn> {
  // What was asked for is durable before it is done: after a crash nobody does it again.
  await scope.journal.flushed();
  execution.controller.signal.throwIfAborted();
  const { text, isError } = await resultOf(scope, record, execution);
  const known = scope.redact(text);
  const result = { text: isError ? redactCredentials(known) : known, isError };
  if (execution.controller.signal.aborted) tellOrphanEnded(scope, record);
  else record.result = result;
  return { isError: result.isError };
}

async function resultOf(
  scope: RunScope,
  { call }: CallRecord,
  execution: Execution,
): Promise<ToolResult> {
  const tool = scope.tool(call.name);
  if (tool === undefined) return failed(`ToolCallError: tool not found: ${call.name}`);
  const args = parseArguments(call.argumentsText);
  if (args === undefined) return failed('JsonError: the arguments are not a JSON object');
  const context = contextOf(scope, call, execution);
  if (scope.agent.executor === 'local') context.started({});
  return await callTool(scope, tool, args, context);
}

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
  execution: Execution,
): ToolContext {
  const { journal, runId, sessionId } = scope;
  const { signal } = execution.controller;
  let told = false;
  return {
    runId,
    sessionId,
    toolCallId: call.id,
    signal,
    started: ({ progressToken }) => {
      if (signal.aborted || told) return;
      told = true;
      journal.append('agent', {
        type: 'tool_start',
        tool_id: call.id,
        tool_name: call.name,
        ...(progressToken !== undefined && { progress_token: progressToken }),
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
