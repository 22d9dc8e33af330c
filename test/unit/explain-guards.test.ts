import { describe, expect, it } from 'vitest';
import { createActor, setup } from 'xstate';
import { approvalMachine } from '../../machines/approval.machine.ts';
import { claimsMachine } from '../../machines/claims.machine.ts';
import { runMachine } from '../../machines/run.machine.ts';
import { toolCallMachine } from '../../machines/tool-call.machine.ts';
import { turnMachine } from '../../machines/turn.machine.ts';
import { knownGuards } from '../../src/explain/guards.ts';
import { chartsOf, describeLive } from '../../src/explain/live-run.ts';
import type { RunScope } from '../../src/ports/run-scope.ts';
import { GuardNotes, watchGuards } from '../../src/transitions/guard-notes.ts';
import { TransitionLog } from '../../src/transitions/transition-log.ts';
import { Tale } from './explain-kit.ts';

const CHARTS = [runMachine, claimsMachine, turnMachine, toolCallMachine, approvalMachine] as const;

/** Guards that decide on a transition: those that watching wraps. */
function decidingGuards(): readonly string[] {
  return CHARTS.flatMap((machine) => {
    const own: Readonly<Record<string, unknown>> = machine.implementations.guards;
    const watched = watchGuards(machine, new GuardNotes()).implementations.guards;
    return Object.entries(watched)
      .filter(([name, guard]) => guard !== own[name])
      .map(([name]) => `${machine.id}.${name}`);
  });
}

describe('the guards of a run’s charts', () => {
  it('have each a sentence for their no, or are known to tell ways apart', () => {
    const known = knownGuards();
    expect(decidingGuards().filter((name) => !known.has(name))).toEqual([]);
  });

  it('are those that the sentences are about, and no others', () => {
    const there = new Set(decidingGuards());
    expect([...knownGuards()].filter((name) => !there.has(name))).toEqual([]);
  });

  it('are named with a chart’s name and their own where there is no sentence', () => {
    const told = new Tale().started().step({
      from: 'live.x',
      to: 'settling',
      event: 'turn ended',
      refused: ['isNew2'],
    });
    expect(told.ends({ type: 'finished' }, 'agent').explain().blocked_by).toEqual([
      { chart: 'run', guard: 'isNew2', event: 'turn ended', because: 'it said no at live.x' },
    ]);
  });

  it('of a run that has ended are left out where they held nothing back', () => {
    const told = new Tale().started().step({
      from: 'live.{work.begun.preparing, parking.unasked}',
      to: 'settling',
      event: 'run.stop',
      refused: ['parksInstead', 'isQuiet'],
    });
    const ends = { type: 'cancelled', reason: 'shutdown' } as const;
    expect(told.ends(ends, 'supervisor').explain().blocked_by).toEqual([]);
  });

  it('of the claims are named when they left no way but to cancel', () => {
    const told = new Tale().started().leave('cancel');
    told.step({
      chart: 'claims',
      actor: 'claims',
      event: 'claim.detach',
      from: 'claimed',
      to: 'decided',
      refused: ['hasGrace', 'mayGoOn'],
    });
    const why = told.ends({ type: 'cancelled', reason: 'unclaimed' }, 'client').explain();
    expect(why.blocked_by.map(({ guard, because }) => `${guard}: ${because}`)).toEqual([
      'hasGrace: the run has no grace window',
      'mayGoOn: the policy is not to continue',
    ]);
  });
});

describe('the charts of a live run', () => {
  const child = setup({}).createMachine({
    id: 'child',
    initial: 'open',
    states: { open: { tags: ['busy'] } },
  });

  const parent = setup({
    types: { context: {} as { readonly calls: number } },
    actors: { child },
    guards: {
      areDone: ({ context }) => context.calls === 0,
      isNever: (_, params: { readonly of: string }) => params.of === '',
    },
  }).createMachine({
    id: 'parent',
    context: { calls: 2 },
    type: 'parallel',
    states: {
      work: {
        initial: 'waiting',
        states: {
          waiting: {
            invoke: { id: 'tool.c1', src: 'child', onError: {} },
            always: [
              { guard: 'areDone', target: 'done' },
              { guard: { type: 'isNever', params: { of: 'x' } }, target: 'done' },
            ],
          },
          done: {},
        },
      },
      watch: {},
    },
  });

  it('tell where each stands, what it promises, and which guard keeps it there', () => {
    const run = createActor(parent).start();
    expect(chartsOf(run, 'run')).toEqual([
      {
        chart: 'parent',
        actor: 'run',
        states: ['work.waiting', 'watch'],
        tags: [],
        refusing: ['areDone'],
      },
      { chart: 'child', actor: 'tool.c1', states: ['open'], tags: ['busy'], refusing: [] },
    ]);
  });

  it('are told with the calls, approvals and obligations that are open', () => {
    const run = createActor(parent).start();
    const call = (id: string, ended: boolean, client = false) =>
      [id, { call: { id, name: 'search' }, requestedAt: 5, ended, client }] as const;
    const approval = (decisionId: string, outcome?: object) =>
      [
        decisionId,
        {
          request: {
            decisionId,
            toolName: 'pay',
            timeoutMs: 60,
            route: 'webhook',
            origin: { kind: 'config_gate', matchedPattern: '*' },
          },
          requestedAt: 5,
          outcome,
        },
      ] as const;
    // What is open, its log and its tools' deadlines are all that is read of a scope.
    const scope = {
      agent: { toolTimeoutMs: () => 30 },
      transitions: new TransitionLog({ now: () => 0 }),
      calls: new Map([call('c1', false), call('c2', true), call('c3', false, true)]),
      approvals: new Map([approval('d1'), approval('d2', {})]),
      obligations: new Map([
        ['tool:a:b', { state: 'asked', askedAt: 7 }],
        ['model:turn-1', { state: 'confirmed', askedAt: 7 }],
      ]),
    } as unknown as RunScope;
    const { calls, approvals, obligations, ahead, parkBoundMs } = describeLive(scope, run);
    // Its chart is in no state of a tool call, so it has not begun.
    expect(calls).toEqual([
      {
        id: 'c1',
        name: 'search',
        requestedAt: 5,
        state: 'waiting',
        since: 5,
        deadlineAt: null,
        overdue: false,
      },
    ]);
    expect(approvals).toEqual([
      {
        decisionId: 'd1',
        toolName: 'pay',
        route: 'webhook',
        question: null,
        requestedAt: 5,
        expiresAt: 65,
        retry: null,
      },
    ]);
    expect(obligations).toEqual([{ what: 'tool', id: 'a:b', askedAt: 7 }]);
    expect([ahead, parkBoundMs]).toEqual([null, null]);
  });
});
