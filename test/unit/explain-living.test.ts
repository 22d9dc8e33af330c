import { describe, expect, it } from 'vitest';
import type { LiveChart } from '../../src/explain/facts.ts';
import { links, liveApproval, liveCall, liveOf, living } from './explain-kit.ts';

const runChart = (change: Partial<LiveChart> = {}): LiveChart => ({
  chart: 'run',
  actor: 'run',
  states: ['live.work.begun.stepping.acting.executing', 'live.parking.unasked'],
  tags: ['running', 'claimable'],
  refusing: [],
  ...change,
});

const turnChart = (state: string): LiveChart => ({
  chart: 'turn',
  actor: 'turn',
  states: [state],
  tags: [],
  refusing: [],
});

const liveness = (policy: 'cancel' | 'continue' | 'park', grace_ms = 0) => ({ policy, grace_ms });

describe('why a run is still there', () => {
  it('queued: the run ahead of it, and the guard that lets nobody in', () => {
    const told = living('queued').tell({
      type: 'queued',
      agent: 'agent',
      liveness: liveness('continue'),
    });
    const ahead = { runId: 'run-0', state: 'running' };
    const why = told.wait(4_000).explain({ live: liveOf({ ahead }) });
    expect(links(why)).toEqual(['entry 1']);
    expect(why.prose[0]).toContain('The run has waited 4 s for the run run-0, which is running');
    expect(why.blocked_by).toEqual([
      {
        chart: 'session',
        guard: 'hasTurn',
        event: null,
        because: 'the run run-0 (running) is at work in the session',
      },
    ]);
  });

  it('preparing: the MCP servers that it connects, and the deadline of that', () => {
    const deadlines = [
      { which: 'total', at: 1_800_000_900_000, remaining_ms: 895_000, suspended: false },
      { which: 'setup', at: 1_800_000_030_000, remaining_ms: 25_000, suspended: false },
    ];
    const told = living('preparing', { deadlines }).started().wait(5_000);
    const why = told.explain({ live: liveOf({ connecting: ['files', 'search'] }) });
    expect(why.prose).toEqual([
      'The run was started with a prompt for the agent agent (seq 1).',
      'The run has been connecting its MCP servers (files and search) for 5 s.',
      'If its tools are not connected in 25 s, its setup deadline cancels the run.',
    ]);
  });

  it.each([
    ['calling.connecting', 'The model was asked and has sent nothing for 7 s.'],
    ['calling.streaming', 'The model has been streaming its answer for 7 s.'],
    ['backingOff', 'The last model request failed, and the next try has been waited for for 7 s.'],
  ])('model at work: since when it is %s', (state, sentence) => {
    const told = living('running').started();
    told.step({ chart: 'turn', actor: 'turn', from: null, to: state }).wait(7_000);
    const why = told.explain({ live: liveOf({ charts: [runChart(), turnChart(state)] }) });
    expect(why.prose).toContain(sentence);
  });

  it('tool running: which, for how long, and the guard that waits for it', () => {
    const told = living('running').started().call('c1', 'slow_tool').wait(12_000);
    const since = told.now - 12_000;
    const why = told.explain({
      live: liveOf({
        charts: [runChart({ refusing: ['areCallsDone', 'hasWaiting', 'mustPark'] })],
        calls: [liveCall({ since })],
      }),
    });
    expect(why.prose).toContain('The tool slow_tool (c1) has been running for 12 s.');
    expect(why.prose.at(-1)).toBe('Held back by the guard run.areCallsDone.');
    // Guards whose no holds nothing up are left out.
    expect(why.blocked_by).toEqual([
      {
        chart: 'run',
        guard: 'areCallsDone',
        event: null,
        because: '1 tool call open: c1 (slow_tool) has been running for 12 s',
      },
    ]);
  });

  it('tool running: its own deadline, which ends the call alone, and that of the step', () => {
    const told = living('running', {
      deadlines: [
        { which: 'step', at: 1_800_000_360_000, remaining_ms: 348_000, suspended: false },
      ],
    });
    told.started().call('c1', 'slow_tool').wait(12_000);
    const since = told.now - 12_000;
    const call = liveCall({ since, requestedAt: since - 5_000, deadlineAt: since + 30_000 });
    const why = told.explain({ live: liveOf({ calls: [call] }) });
    expect(why.prose.slice(-2)).toEqual([
      'The tool slow_tool (c1) has been running for 12 s; its own deadline ends the call in 18 s, ' +
        'and the run goes on.',
      'If this model turn and its tools have not ended in 5 min 48 s, its step deadline cancels ' +
        'the run.',
    ]);
  });

  it('tool stopping because its own deadline has passed: that it is so', () => {
    const told = living('running').started().call('c1', 'slow_tool').wait(2_000);
    const call = liveCall({ since: told.now - 2_000, state: 'stopping', overdue: true });
    const why = told.explain({ live: liveOf({ calls: [call] }) });
    expect(why.prose.at(-1)).toBe(
      'The tool slow_tool (c1) ran into its own deadline and has been stopping for 2 s.',
    );
  });

  it.each([
    ['total', 'If it has not ended in 9 s, its total deadline cancels the run.'],
    [
      'first_chunk',
      'If the model has sent nothing in 9 s, its first-chunk deadline cancels the run.',
    ],
    [
      'inactivity',
      'If the model has sent nothing more in 9 s, its inactivity deadline cancels the run.',
    ],
  ])('bounded by its %s deadline: what it waits for', (which, sentence) => {
    const deadlines = [{ which, at: 1_800_000_009_000, remaining_ms: 9_000, suspended: false }];
    const why = living('running', { deadlines }).started().explain({ live: liveOf() });
    expect(why.prose.at(-1)).toBe(sentence);
  });

  it('waiting for a person: which approval, since when and until when', () => {
    const told = living('waiting', { approvals: ['d1'] })
      .started()
      .ask('d1', 'c1', 'pay')
      .wait(60_000);
    const requestedAt = told.now - 60_000;
    const approval = liveApproval({ requestedAt, expiresAt: told.now + 240_000 });
    const why = told.explain({
      live: liveOf({
        charts: [runChart({ refusing: ['isNobodyAsked'] })],
        approvals: [approval],
      }),
    });
    expect(why.prose[0]).toBe(
      'A person must approve the tool pay (approval d1), asked 1 min ago; without an answer it ' +
        'times out in 4 min.',
    );
    expect(why.blocked_by).toMatchObject([
      {
        guard: 'isNobodyAsked',
        because: 'a person must decide approval d1 (pay), asked 1 min ago',
      },
    ]);
  });

  it('stopping: why, and which obligations have not been confirmed', () => {
    const told = living('stopping').started().leave('cancel').stopping('unclaimed', 2);
    told.obligation('model', 'turn-1', 'asked').obligation('tool', 'c1', 'asked').wait(3_000);
    const why = told.explain({
      live: liveOf({
        charts: [runChart({ refusing: ['isQuiet'], tags: ['stopping'] })],
        obligations: [{ what: 'tool', id: 'c1', askedAt: told.now - 3_000 }],
      }),
    });
    expect(links(why)).toEqual(['entry 2', 'entry 3', 'entry 4', 'entry 5', 'obligation']);
    expect(why.chain.at(-1)?.text).toBe(
      'The tool call c1 was asked to stop 3 s ago and has not confirmed it.',
    );
    expect(why.blocked_by).toMatchObject([
      { guard: 'isQuiet', because: 'asked to stop and not confirmed: the tool call c1 for 3 s' },
    ]);
  });

  it('unclaimed under continue: that nobody reads it and it goes on', () => {
    const told = living('running', { liveness: liveness('continue') })
      .started()
      .leave('continue');
    const why = told.explain({ live: liveOf() });
    expect(links(why)).toEqual(['entry 1', 'entry 2', 'entry 3', 'entry 4']);
    expect(why.prose[3]).toContain('under the policy continue: it goes on without a reader');
  });

  it('in the grace window: until when, and what is applied then', () => {
    const observer = { id: 'reader', kind: 'claiming', presence: false } as const;
    const told = living('running', { liveness: liveness('park', 30_000) }).started();
    told.tell(
      { type: 'observer_detached', observer, because: 'expired' },
      { type: 'claims_exhausted', grace_ms: 30_000 },
    );
    const why = told.wait(10_000).explain({ live: liveOf() });
    expect(links(why)).toEqual(['entry 1', 'entry 2', 'entry 3', 'timer']);
    expect(why.prose[3]).toBe('The grace window ends in 20 s; then the policy park is applied.');
  });

  it('unclaimed while a tool runs: what came first comes first, and what is to come last', () => {
    const deadlines = [
      { which: 'total', at: 1_800_000_900_000, remaining_ms: 900_000, suspended: false },
    ];
    const told = living('running', { deadlines }).started().wait(10).leave('continue').wait(10);
    const call = liveCall({ since: told.now });
    const why = told.wait(10).explain({ live: liveOf({ calls: [call] }) });
    const times = why.chain.map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(links(why)).toEqual(['entry 1', 'entry 2', 'entry 3', 'entry 4', 'obligation', 'timer']);
  });

  it('claimed again: says nothing of the time without a reader', () => {
    const observer = { id: 'reader', kind: 'claiming', presence: false } as const;
    const told = living('running').started().leave('continue');
    const why = told.tell({ type: 'observer_attached', observer }).explain({ live: liveOf() });
    expect(why.prose.join()).not.toContain('left');
  });

  it('parking: what it waits for, and what happens if that does not come', () => {
    const told = living('running').started().call('c1', 'slow_tool');
    told
      .step({ from: 'live.{work.x, parking.unasked}', to: 'live.{work.x, parking.asked}' })
      .wait(1_000);
    const call = liveCall({ since: told.now - 1_000 });
    const why = told.explain({
      live: liveOf({
        charts: [runChart({ tags: ['running', 'parking'], refusing: ['mustPark'] })],
        calls: [call],
        parkBoundMs: 5_000,
      }),
    });
    expect(why.prose).toContain('The run was asked to end resumable at its next checkpoint.');
    expect(why.prose).toContain('If it comes to no checkpoint within 4 s, it is cancelled.');
    expect(why.blocked_by).toMatchObject([
      {
        guard: 'mustPark',
        because: expect.stringContaining('c1 (slow_tool) has been running for 1 s'),
      },
    ]);
  });

  it('parking when its last reader left: that it is not cancelled for want of one', () => {
    const told = living('running').started();
    told.step({ from: 'live.{work.x, parking.unasked}', to: 'live.{work.x, parking.asked}' });
    const why = told.leave('cancel').explain({ live: liveOf() });
    expect(why.prose[3]).toContain('it would be cancelled, but it had been asked to park');
  });

  it('resumed and at work: the run that it goes on with', () => {
    const told = living('running', { continues: 'run-0' }).started({ continues: 'run-0' });
    expect(told.explain({ live: liveOf() }).prose[0]).toContain('goes on with the run run-0');
  });
});
