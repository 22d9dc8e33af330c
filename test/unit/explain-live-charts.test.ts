import { describe, expect, it } from 'vitest';
import { createActor, fromPromise, setup } from 'xstate';
import {
  approvalMachine,
  type ApprovalRef,
  type PostAnswer,
} from '../../machines/approval.machine.ts';
import type { ToolCallRef, ToolCallReturn, Withdrawal } from '../../machines/tool-call.contract.ts';
import { toolCallMachine } from '../../machines/tool-call.machine.ts';
import type { ApprovalRequest, ToolCallRequest } from '../../machines/vocabulary.ts';
import { toDot } from '../../src/diagrams/dot.ts';
import { describeChart } from '../../src/diagrams/model.ts';
import { toSvg } from '../../src/diagrams/svg.ts';
import { chartAt } from '../../src/explain/chart.ts';
import { chartsOf, describeLive } from '../../src/explain/live-run.ts';
import { idsOf, markStates } from '../../src/explain/mark-states.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import type { RunScope } from '../../src/ports/run-scope.ts';
import { TransitionLog } from '../../src/transitions/transition-log.ts';
import { pathsOf } from '../../src/transitions/words.ts';
import { Tale } from './explain-kit.ts';

/** The real charts of one tool call, under a run that only has it. Nothing answers unless told. */

const APPROVAL: ApprovalRequest = {
  decisionId: 'd1',
  toolCallId: 'c1',
  toolName: 'pay',
  origin: { kind: 'config_gate', matchedPattern: '*' },
  route: 'webhook',
  timeoutMs: 60_000,
  reminderMs: 0,
  argumentsDigest: 'sha256:0',
};

const QUESTION: ApprovalRequest = {
  ...APPROVAL,
  decisionId: 'd2',
  route: 'conversational',
  origin: { kind: 'elicitation', server: 'files', message: 'Which one?', schema: {} },
};

const never = <T>() => new Promise<T>(() => {});
const now = () => Promise.resolve();

type Answer = () => Promise<PostAnswer>;

/** A run's tool call that has begun; what it asks a webhook is answered by `post`. */
function begun(call: Partial<ToolCallRequest>, post: Answer = never) {
  const toolCall = toolCallMachine.provide({
    actors: {
      approval: approvalMachine.provide({
        actors: { postApproval: fromPromise<PostAnswer, ApprovalRef>(post) },
      }),
      executeTool: fromPromise<ToolCallReturn, ToolCallRef>(never),
      awaitToolStop: fromPromise(now),
      awaitStopNotice: fromPromise(now),
      withdrawApproval: fromPromise<boolean, Withdrawal>(never),
    },
  });
  const run = setup({ actors: { toolCall } }).createMachine({
    id: 'run',
    invoke: {
      id: 'tool.c1',
      src: 'toolCall',
      input: {
        runId: 'r',
        stopGraceMs: 1_000,
        call: { id: 'c1', name: 'pay', kind: 'server', executor: 'local', timeoutMs: 0, ...call },
      },
      onError: {},
    },
  });
  const actor = createActor(run, { clock: createVirtualClock() }).start();
  const tool = actor.getSnapshot().children['tool.c1'];
  tool?.send({ type: 'toolCall.begin' });
  return { actor, tool };
}

const settled = () => new Promise<void>((resolve) => void setImmediate(resolve));

function liveOf(actor: ReturnType<typeof begun>['actor'], ...asked: ApprovalRequest[]) {
  const approvals = asked.map((request) => [
    request.decisionId,
    { request, requestedAt: 5, outcome: undefined },
  ]);
  const call = { call: { id: 'c1', name: 'pay' }, requestedAt: 5, ended: false, client: false };
  // What is open, its log and its tools' deadlines are all that is read of a scope.
  const scope = {
    agent: { toolTimeoutMs: () => 0 },
    transitions: new TransitionLog({ now: () => 0 }),
    calls: new Map([['c1', call]]),
    approvals: new Map(approvals as never),
    obligations: new Map(),
  } as unknown as RunScope;
  return describeLive(scope, actor);
}

const stateOf = (actor: ReturnType<typeof begun>['actor']) => liveOf(actor).calls[0]?.state;

describe('the charts of a live tool call', () => {
  it('tell whether it waits for a person, works, asks, stops, or tells a webhook of its end', async () => {
    const gated = begun({ approval: APPROVAL });
    expect(stateOf(gated.actor)).toBe('person');
    gated.tool?.send({ type: 'toolCall.stop', cause: { kind: 'shutdown' } });
    expect(stateOf(gated.actor)).toBe('closing');

    const working = begun({});
    expect(stateOf(working.actor)).toBe('running');
    working.tool?.send({ type: 'toolCall.ask', request: QUESTION });
    expect(stateOf(working.actor)).toBe('asking');
    working.tool?.send({ type: 'approval.decide', decisionId: 'd2', approved: true });
    await settled();
    expect(stateOf(working.actor)).toBe('running');
    working.tool?.send({ type: 'toolCall.stop', cause: { kind: 'shutdown' } });
    expect(stateOf(working.actor)).toBe('stopping');
  });

  it('tell of a webhook that could not be asked, how often and why, until it is asked again', async () => {
    const post: Answer = () =>
      Promise.resolve({ kind: 'failed', message: 'status 503', retryable: true, jitter: 0 });
    const { actor } = begun({ approval: APPROVAL }, post);
    expect(liveOf(actor, APPROVAL).approvals).toMatchObject([{ route: 'webhook', retry: null }]);
    await settled();
    expect(liveOf(actor, APPROVAL).approvals).toMatchObject([
      { decisionId: 'd1', retry: { failures: 1, because: 'status 503' } },
    ]);
  });

  it('tell what a server asks', () => {
    const { actor, tool } = begun({});
    tool?.send({ type: 'toolCall.ask', request: QUESTION });
    expect(liveOf(actor, QUESTION).approvals).toMatchObject([
      { decisionId: 'd2', question: { server: 'files', message: 'Which one?' } },
    ]);
  });

  it('tell the guard that keeps a call, and the place of what it asks below it', () => {
    const { actor, tool } = begun({});
    tool?.send({ type: 'toolCall.ask', request: QUESTION });
    const charts = chartsOf(actor, 'run').map(({ actor: path, refusing }) => [path, refusing]);
    expect(charts).toEqual([
      ['run', []],
      ['tool.c1', ['isNobodyAsked']],
      ['tool.c1/question.d2', []],
    ]);
  });
});

const marked = (picture: string): readonly string[] =>
  [...picture.matchAll(/<g id="([^"]+)" class="(?:node|cluster) active">/g)].map(
    ([, id]) => id as string,
  );

describe('the pictures of the charts below a run', () => {
  it('mark a webhook that is asked, beside the reminders', async () => {
    const svg = await toSvg(toDot(describeChart(approvalMachine)), 'approval');
    const { actor } = begun({ approval: APPROVAL });
    const chart = chartsOf(actor, 'run').find((one) => one.chart === 'approval');
    const picture = markStates(svg, idsOf('approval', chart?.states ?? []));
    expect(marked(picture).toSorted()).toEqual([
      'approval.open',
      'approval.open.asking',
      'approval.open.asking.dispatched',
      'approval.open.asking.dispatched.posting',
      'approval.open.reminding',
      'approval.open.reminding.waiting',
    ]);
  });

  it('mark a call that asks while it runs', async () => {
    const svg = await toSvg(toDot(describeChart(toolCallMachine)), 'tool-call');
    const { actor, tool } = begun({});
    tool?.send({ type: 'toolCall.ask', request: QUESTION });
    const chart = chartsOf(actor, 'run').find((one) => one.chart === 'toolCall');
    const picture = markStates(svg, idsOf('toolCall', chart?.states ?? []));
    expect(marked(picture).toSorted()).toEqual(['toolCall.running', 'toolCall.running.asking']);
  });

  it('are those of the log for an entry of the past', () => {
    const open = 'open.{asking.dispatched.backingOff, reminding.waiting}';
    const told = new Tale()
      .step({ chart: 'approval', actor: 'tool.c1/approval', from: null, to: open })
      .step({ chart: 'toolCall', actor: 'tool.c1', from: 'idle', to: 'gated' })
      .started();
    const { states } = chartAt({ ...told.facts(), svg: '', entry: told.entries[0] });
    expect(states).toEqual({ approval: pathsOf(open), toolCall: ['gated'] });
    expect(states['approval']).toContain('open.asking.dispatched.backingOff');
  });
});
