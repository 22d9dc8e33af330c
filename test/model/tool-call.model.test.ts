import type { AnyMachineSnapshot } from 'xstate';
import type { ToolCallContext } from '../../machines/tool-call.contract.ts';
import { toolCallMachine } from '../../machines/tool-call.machine.ts';
import type { ApprovalRequest, ToolCallRequest } from '../../machines/vocabulary.ts';
import type { PathOptions, Payloads } from '../../src/testing/paths.ts';
import { describeModel } from './model-suite.ts';
import { APPROVAL, EXTERNAL, inShort, SHUTDOWN, toolCall } from './samples.ts';

const contextOf = (snapshot: AnyMachineSnapshot): ToolCallContext => snapshot.context;

/** One event for each child of a kind that runs. */
const ofEach = (prefix: string, kind: string, fields: object) => (snapshot: AnyMachineSnapshot) =>
  Object.keys(snapshot.children)
    .filter((id) => id.startsWith(prefix))
    .map((id) => ({ type: `xstate.${kind}.actor.${id}`, ...fields }));

const QUESTION: ApprovalRequest = {
  ...APPROVAL,
  decisionId: 'question-1',
  route: 'webhook',
  origin: { kind: 'elicitation', server: 'files', message: 'Which one?', schema: {} },
};

/** Asked by the scenarios about questions alone; elsewhere it would only multiply the states. */
const NEVER = { '': () => undefined };

const bug = { error: new Error('bug') };

const PAYLOADS: Payloads = {
  'toolCall.ask': NEVER,
  'toolCall.retract': NEVER,
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
  'xstate.error.actor.approval': { bug },
  'xstate.done.actor.executeTool': {
    result: { output: { isError: false } },
    'error result': { output: { isError: true } },
  },
  'xstate.error.actor.executeTool': { bug },
  'xstate.error.actor.awaitToolStop': { bug },
  'xstate.error.actor.awaitStopNotice': { 'not sent': { error: new Error('closed') } },
  'xstate.done.actor.*': {
    'the webhook took the notice': ofEach('withdrawal.', 'done', { output: true }),
    'the webhook refused the notice': ofEach('withdrawal.', 'done', { output: false }),
    'the question is answered': ofEach('question.', 'done', { output: { kind: 'approved' } }),
    'nobody answered the question': ofEach('question.', 'done', {
      output: { kind: 'timed_out', waitedMs: 1 },
    }),
  },
  'xstate.error.actor.*': {
    'bug of a notice': ofEach('withdrawal.', 'error', bug),
    'bug of a question': ofEach('question.', 'error', bug),
  },
};

const options = (
  call: ToolCallRequest,
  payloads: Payloads = {},
): PathOptions<typeof toolCallMachine> => ({
  input: { runId: 'run-1', call, stopGraceMs: 5_000 },
  fact: inShort,
  key: (snapshot) => {
    const { status, cause, stopGraceMs, notice, questions, withdrawals, closingAsked } =
      contextOf(snapshot);
    return [
      status,
      cause?.kind,
      stopGraceMs,
      notice.asked && 'notice asked',
      notice.sent !== null && `notice ${notice.sent ? 'sent' : 'not sent'}`,
      ...questions.map(({ decisionId }) => `asks ${decisionId}`),
      ...withdrawals.map(({ decisionId, reason }) => `withdraws ${decisionId} ${reason}`),
      closingAsked && 'stop waits',
    ];
  },
  payloads: { ...PAYLOADS, ...payloads },
});

/** Each question once. */
const asks = (request: ApprovalRequest) => (snapshot: AnyMachineSnapshot) => {
  const { withdrawals } = contextOf(snapshot);
  return withdrawals.length > 0 ? undefined : { request };
};

const FEW = {
  'toolCall.stop': { 'shutdown in 4 s': { cause: SHUTDOWN, graceMs: 4_000 } },
  'xstate.done.actor.executeTool': { result: { output: { isError: false } } },
  'xstate.error.actor.executeTool': NEVER,
};

describeModel('tool-call', toolCallMachine, {
  'a local tool': options(toolCall('call-1')),
  'a forbidden tool': options(toolCall('call-1', { forbiddenBy: 'rm_*' })),
  'an MCP tool without a bound of its own': options(
    toolCall('call-1', { executor: 'mcp', timeoutMs: 0 }),
  ),
  'an MCP tool behind a gate': options(toolCall('call-1', { executor: 'mcp', approval: APPROVAL })),
  'a local tool behind a webhook': options(
    toolCall('call-1', { approval: { ...APPROVAL, route: 'webhook' } }),
  ),
  'a tool that asks a question': options(toolCall('call-1'), {
    ...FEW,
    'toolCall.ask': { '': asks(QUESTION) },
    'toolCall.retract': {
      'the question': { decisionId: QUESTION.decisionId },
      another: { decisionId: 'decision-2' },
    },
    'approval.decide': {
      'of the question': { decisionId: QUESTION.decisionId, approved: true },
      'of another': { decisionId: 'decision-2', approved: true },
    },
  }),
});
