import type { AnyMachineSnapshot } from 'xstate';
import type { ApprovalContext } from '../../../machines/approval.machine.ts';
import { runMachine } from '../../../machines/run.machine.ts';
import type { ApprovalOutcome, ApprovalRequest } from '../../../machines/vocabulary.ts';
import type { CompositionOptions } from '../../../src/testing/composition/contract.ts';
import { APPROVAL, EXTERNAL, inShort, LIMITS, SHUTDOWN, toolCall } from '../samples.ts';
import { describeComposition } from './composition-suite.ts';
import { atMost, keyOfRun, keyOfToolCall, SETTLING, sentOf, turns } from './run-samples.ts';
import { OF_TOOL_CALLS } from './tool-invariants.ts';

type Options = CompositionOptions<typeof runMachine>;

const keyOfApproval = (snapshot: AnyMachineSnapshot): unknown => {
  const { outcome, failures, failure } = snapshot.context as ApprovalContext;
  return [outcome?.kind, failures, failure];
};

const decision = (approved: boolean, fields: object = {}) => ({
  toolCallId: 'a',
  decisionId: APPROVAL.decisionId,
  approved,
  ...fields,
});

const COMMANDS: Options['commands'] = {
  'run.begin': { '': {} },
  'run.stop': { external: atMost(1, 'run.stop', { cause: EXTERNAL }) },
  'run.park': { 'by hand': atMost(1, 'run.park', { cause: EXTERNAL }) },
  'approval.decide': {
    yes: decision(true),
    no: decision(false),
    'yes to another': decision(true, { decisionId: 'decision-2' }),
    'yes, for another call': decision(true, { toolCallId: 'b' }),
  },
};

const failed = (retryable: boolean) => ({
  done: { kind: 'failed', message: 'webhook answered with status 503', jitter: 0, retryable },
});

const options = (request: Partial<ApprovalRequest>, more: Partial<Options> = {}): Options => {
  const call = toolCall('a', { approval: { ...APPROVAL, toolCallId: 'a', ...request } });
  return {
    input: {
      runId: 'run-1',
      liveness: { policy: 'continue', graceMs: 0 },
      limits: LIMITS,
      firstClaim: null,
    },
    real: ['toolCall', 'approval'],
    fact: inShort,
    invariants: OF_TOOL_CALLS,
    end: [{ type: 'run.begin' }, { type: 'run.stop', cause: SHUTDOWN } as never],
    commands: COMMANDS,
    children: {
      ...turns([call]),
      ...SETTLING,
      executeTool: { result: { done: { isError: false } } },
      awaitToolStop: { '': { done: undefined } },
      awaitStopNotice: { '': { done: undefined } },
      withdrawApproval: { taken: { done: true }, refused: { done: false } },
      postApproval: {
        approved: { done: { kind: 'decided', decision: { approved: true, by: 'webhook' } } },
        denied: { done: { kind: 'decided', decision: { approved: false } } },
        'too late': { done: { kind: 'expired' } },
        'failed for good': failed(false),
        'failed for now': (view) =>
          view.charts.some(({ id, snapshot }) => id === 'approval' && snapshot.context.failures > 0)
            ? undefined
            : failed(true),
        bug: { error: new Error('bug') },
      },
    },
    key: { run: keyOfRun, toolCall: keyOfToolCall, approval: keyOfApproval },
    keyOfWhole: (view) => [sentOf(view, 'run.stop').length, sentOf(view, 'run.park').length],
    ...more,
  };
};

const parkedWith = (decided: ApprovalOutcome): Options => {
  const { input, ...rest } = options({});
  const call = toolCall('a', { approval: { ...APPROVAL, toolCallId: 'a', decided } });
  return { ...rest, input: { ...input, resume: { turn: 1, calls: [call] } } };
};

describeComposition(
  'run-approval',
  runMachine,
  {
    'a person is asked, and reminded': options({ reminderMs: 50_000 }),
    'a webhook is asked': options(
      { route: 'webhook' },
      {
        commands: {
          ...COMMANDS,
          'run.park': {},
          'approval.decide': {
            'yes, unsigned': decision(true),
            'yes, signed': decision(true, { signed: true }),
            'no, signed': decision(false, { signed: true }),
          },
        },
      },
    ),
    'resumed, approved meanwhile': parkedWith({ kind: 'approved' }),
    'resumed, denied meanwhile': parkedWith({ kind: 'denied' }),
    'resumed, expired meanwhile': parkedWith({ kind: 'timed_out', waitedMs: 1 }),
    'granted for the session': options({ grantedBy: 'decision-0' }),
  },
  { approval: [] },
);
