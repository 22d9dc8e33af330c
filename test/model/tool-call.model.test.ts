import type { AnyMachineSnapshot } from 'xstate';
import { toolCallMachine } from '../../machines/tool-call.machine.ts';
import type { ToolCallRequest } from '../../machines/vocabulary.ts';
import { describeModel } from './model-suite.ts';
import { APPROVAL, EXTERNAL, inShort, SHUTDOWN, toolCall } from './samples.ts';

const options = (call: ToolCallRequest) => ({
  input: { runId: 'run-1', call, stopGraceMs: 5_000 },
  fact: inShort,
  key: ({ context }: AnyMachineSnapshot) => [
    context.status,
    context.cause?.kind ?? null,
    context.stopGraceMs,
    context.noticeOwed && 'notice owed',
  ],
  payloads: {
    'toolCall.stop': {
      external: { cause: EXTERNAL },
      'shutdown in 4 s': { cause: SHUTDOWN, graceMs: 4_000 },
    },
    'approval.decide': { yes: { decisionId: APPROVAL.decisionId, approved: true } },
    'xstate.done.actor.approval': {
      approved: { output: { kind: 'approved' } },
      denied: { output: { kind: 'denied', reason: 'no' } },
      'timed out': { output: { kind: 'timed_out', waitedMs: APPROVAL.timeoutMs } },
      cancelled: { output: { kind: 'cancelled', cause: SHUTDOWN } },
      errored: { output: { kind: 'errored', message: 'no route' } },
    },
    'xstate.error.actor.approval': { bug: { error: new Error('bug') } },
    'xstate.done.actor.executeTool': {
      result: { output: { isError: false } },
      'error result': { output: { isError: true } },
    },
    'xstate.error.actor.executeTool': { bug: { error: new Error('bug') } },
    'xstate.error.actor.awaitToolStop': { bug: { error: new Error('bug') } },
    'xstate.error.actor.awaitStopNotice': { 'not sent': { error: new Error('closed') } },
  },
});

describeModel('tool-call', toolCallMachine, {
  'a local tool': options(toolCall('call-1')),
  'an MCP tool without a bound of its own': options(
    toolCall('call-1', { executor: 'mcp', timeoutMs: 0 }),
  ),
  'an MCP tool behind a gate': options(toolCall('call-1', { executor: 'mcp', approval: APPROVAL })),
});
