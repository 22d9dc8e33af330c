import type { AnyMachineSnapshot } from 'xstate';
import { runMachine } from '../../../machines/run.machine.ts';
import type { ApprovalRequest, RunLimits, ToolCallRequest } from '../../../machines/vocabulary.ts';
import type {
  CompositionOptions,
  CompositionView,
} from '../../../src/testing/composition/contract.ts';
import { APPROVAL, EXTERNAL, inShort, LIMITS, SHUTDOWN, toolCall } from '../samples.ts';
import { describeComposition } from './composition-suite.ts';
import { atMost, keyOfRun, keyOfToolCall, SETTLING, sentOf, turns } from './run-samples.ts';
import { OF_TOOL_CALLS } from './tool-invariants.ts';

type Options = CompositionOptions<typeof runMachine>;

const gateOf = (id: string, fields: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  ...APPROVAL,
  toolCallId: id,
  decisionId: `gate-${id}`,
  ...fields,
});

const QUESTION = gateOf('a', {
  decisionId: 'question-a',
  origin: { kind: 'elicitation', server: 'files', message: 'Which one?', schema: {} },
});

const decide = (id: string, approved: boolean) => ({
  toolCallId: id,
  decisionId: `gate-${id}`,
  approved,
});

const bug = { error: new Error('bug') };

const options = (
  calls: readonly ToolCallRequest[],
  commands: Options['commands'] = {},
  {
    children = {},
    limits = {},
  }: { children?: Options['children']; limits?: Partial<RunLimits> } = {},
): Options => ({
  input: {
    runId: 'run-1',
    liveness: { policy: 'continue', graceMs: 0 },
    limits: { ...LIMITS, ...limits },
    firstClaim: null,
  },
  real: ['toolCall', 'approval'],
  fact: inShort,
  invariants: OF_TOOL_CALLS,
  end: [{ type: 'run.begin' }, { type: 'run.stop', cause: SHUTDOWN } as never],
  commands: {
    'run.begin': { '': {} },
    'run.stop': { external: atMost(1, 'run.stop', { cause: EXTERNAL }) },
    ...commands,
  },
  children: {
    ...turns(calls),
    ...SETTLING,
    closeWork: {},
    executeTool: {
      result: { done: { isError: false } },
      'error result': { done: { isError: true } },
    },
    awaitToolStop: { '': { done: undefined } },
    awaitStopNotice: { '': { done: undefined } },
    withdrawApproval: { taken: { done: true }, refused: { done: false } },
    ...children,
  },
  key: {
    run: keyOfRun,
    toolCall: keyOfToolCall,
    approval: ({ context }: AnyMachineSnapshot) => context.outcome?.kind,
  },
  keyOfWhole: (view) => [
    sentOf(view, 'run.stop').length,
    sentOf(view, 'run.park').length,
    askedBefore(view),
  ],
});

/** Ids of decisions are minted once, so a question is asked once. */
const askedBefore = (view: CompositionView): boolean => sentOf(view, 'toolCall.ask').length > 0;

const asks = (request: ApprovalRequest) => (view: CompositionView) =>
  askedBefore(view) ? undefined : { toolCallId: 'a', request };

const QUESTIONS = (request: ApprovalRequest): Options['commands'] => ({
  'run.park': { 'by hand': atMost(1, 'run.park', { cause: EXTERNAL }) },
  'toolCall.ask': { a: asks(request) },
  'toolCall.retract': { a: { toolCallId: 'a', decisionId: request.decisionId } },
  'approval.decide': {
    'the question': {
      toolCallId: 'a',
      decisionId: request.decisionId,
      approved: true,
      signed: true,
    },
    another: { toolCallId: 'a', decisionId: 'nobody', approved: true },
  },
});

const ASKING = {
  executeTool: { result: { done: { isError: false } } },
  withdrawApproval: { taken: { done: true }, bug },
};

describeComposition(
  'run-tool-call',
  runMachine,
  {
    'two calls behind gates': options(
      [toolCall('a', { approval: gateOf('a') }), toolCall('b', { approval: gateOf('b') })],
      {
        'run.park': { 'by hand': atMost(1, 'run.park', { cause: EXTERNAL }) },
        'approval.decide': { 'yes to a': decide('a', true), 'no to b': decide('b', false) },
      },
      { children: { executeTool: { result: { done: { isError: false } } } } },
    ),
    'a gated call and an MCP call, one at a time': options(
      [toolCall('a', { approval: gateOf('a') }), toolCall('b', { executor: 'mcp' })],
      {
        'run.park': { 'by hand': atMost(1, 'run.park', { cause: EXTERNAL }) },
        'approval.decide': { 'yes to a': decide('a', true), 'no to a': decide('a', false) },
      },
      {
        limits: { parallelToolsMax: 1 },
        children: {
          awaitToolStop: { '': { done: undefined }, bug },
          awaitStopNotice: { '': { done: undefined }, bug },
        },
      },
    ),
    'a tool that fails': options(
      [toolCall('a', { executor: 'mcp' })],
      {},
      {
        children: { executeTool: { bug } },
      },
    ),
    'a forbidden tool': options([toolCall('a', { forbiddenBy: 'rm_*' })]),
    'a tool that asks a person': options(
      [toolCall('a', { executor: 'mcp' })],
      QUESTIONS(QUESTION),
      {
        children: ASKING,
      },
    ),
    'a tool that asks by webhook': options(
      [toolCall('a')],
      QUESTIONS({ ...QUESTION, route: 'webhook' }),
      { children: ASKING },
    ),
    'a gate by webhook': options(
      [toolCall('a', { executor: 'mcp', approval: gateOf('a', { route: 'webhook' }) })],
      {},
      { children: { ...ASKING, withdrawApproval: { refused: { done: false } } } },
    ),
  },
  {
    toolCall: [
      // The approvals are the real chart, which never crashes (AP4).
      'transition: toolCall on error.actor.* (1 of 2)',
      // The run begins a call in the step that spawns it.
      'transition: toolCall.idle on toolCall.stop',
      'transition: toolCall.gated on error.actor.approval',
    ],
  },
);
