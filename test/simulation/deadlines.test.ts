import { describe, expect, it } from 'vitest';
import type { ToolSource } from '../../src/tool.ts';
import { RunWorld } from '../support/run-world.ts';

/**
 * Every deadline ends what it is meant to end, by the path a stop takes, and says which one it was.
 */

describe('first chunk', () => {
  it('ends a run whose model says nothing at all', async () => {
    const world = new RunWorld({ limits: { firstChunkMs: 90_000 } });
    const run = await world.start();
    await world.clock.advance(89_999);
    expect((await run.record()).state).toBe('running');
    await world.clock.advance(1);
    expect(await run.event('cancelled')).toMatchObject({
      reason: 'deadline',
      which: 'first_chunk',
      after_ms: 90_000,
      end: { by: 'deadline' },
    });
    expect(world.model.turn.signal.aborted).toBe(true);
    await world.expectSound();
  });

  it('is over with the first thing of any kind', async () => {
    const world = new RunWorld({ limits: { firstChunkMs: 90_000 } });
    const run = await world.start();
    world.model.turn.think('hm');
    await world.clock.advance(120_000);
    world.model.turn.say('yes').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('is not applied to a caller that does not stream (decision 7)', async () => {
    const world = new RunWorld({ limits: { firstChunkMs: 1_000, inactivityMs: 1_000 } });
    const run = await world.start({ streaming: false });
    await world.clock.advance(100_000);
    world.model.turn.say('at last').finish();
    await run.event('finished');
    await world.expectSound();
  });
});

describe('inactivity', () => {
  it('ends a stream that falls silent, counted from its last chunk', async () => {
    const world = new RunWorld({ limits: { inactivityMs: 10_000 } });
    const run = await world.start();
    world.model.turn.say('a');
    await world.clock.advance(9_000);
    world.model.turn.say('b');
    await world.clock.advance(9_999);
    expect((await run.record()).state).toBe('running');
    await world.clock.advance(1);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'deadline', which: 'inactivity' });
    await world.expectSound();
  });

  it('does not count while tools run or people decide (TU3)', async () => {
    const world = new RunWorld({
      tools: ['slow'],
      requireApproval: ['slow'],
      limits: { inactivityMs: 1_000, stepMs: 0 },
      approvalTimeoutMs: 60_000,
      toolTimeoutMs: 60_000,
    });
    const run = await world.start();
    world.model.turn.call('slow').finish('tool_calls');
    await world.clock.advance(50_000);
    const { decision_id } = await run.event('approval_pending');
    const decided = world.supervisor.decide(decision_id, { approved: true });
    await world.clock.advance(50_000);
    expect(await decided).toBe('recorded');
    world.tools.last('slow').answer('done');
    await world.clock.settle();
    world.model.turn.say('ok').finish();
    await run.event('finished');
    await world.expectSound();
  });
});

describe('step', () => {
  it('bounds a turn with its tools, allowance included (INV-25, INV-27)', async () => {
    const world = new RunWorld({
      tools: ['slow'],
      limits: { stepMs: 10_000, stepAllowanceMs: 2_000 },
      toolTimeoutMs: 0,
    });
    const run = await world.start();
    world.model.turn.say('a').call('slow').finish('tool_calls');
    await world.clock.advance(11_999);
    expect((await run.record()).state).toBe('running');
    await world.clock.advance(1);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'deadline', which: 'step' });
    expect(world.tools.last('slow').context.signal.aborted).toBe(true);
    await world.expectSound();
  });

  it('is not widened by a longer limit of a tool (INV-24, INV-26)', async () => {
    const world = new RunWorld({
      tools: ['slow'],
      limits: { stepMs: 10_000, stepAllowanceMs: 0 },
      toolTimeoutMs: 100_000,
    });
    const run = await world.start();
    world.model.turn.call('slow').finish('tool_calls');
    await world.clock.advance(10_000);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'deadline', which: 'step' });
    await world.expectSound();
  });

  it('is fresh for each step (INV-30)', async () => {
    const world = new RunWorld({ tools: ['work'], limits: { stepMs: 10_000, stepAllowanceMs: 0 } });
    const run = await world.start();
    for (const id of ['a', 'b', 'c']) {
      await world.clock.advance(9_000);
      world.model.turn.call('work', {}, id).finish('tool_calls');
      await world.clock.settle();
      world.tools.last('work').answer('ok');
      await world.clock.settle();
    }
    world.model.turn.say('ok').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('stands still while a person is asked, and the record shows it (R6)', async () => {
    const world = new RunWorld({
      tools: ['danger'],
      requireApproval: ['*'],
      limits: { stepMs: 10_000, stepAllowanceMs: 0 },
      approvalTimeoutMs: 500_000,
    });
    const run = await world.start();
    await world.clock.advance(4_000);
    world.model.turn.call('danger').finish('tool_calls');
    await world.clock.advance(400_000);
    const record = await run.record();
    expect(record.state).toBe('waiting');
    expect(record.deadlines).toContainEqual({
      which: 'step',
      at: null,
      remaining_ms: 6_000,
      suspended: true,
    });
    const { decision_id } = await run.event('approval_pending');
    expect(record.approvals).toEqual([decision_id]);
    await world.supervisor.decide(decision_id, { approved: true });
    await world.clock.advance(5_999);
    expect((await run.record()).state).toBe('running');
    await world.clock.advance(1);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'deadline', which: 'step' });
    await world.expectSound();
  });
});

describe('tool', () => {
  it('ends that call alone: the model reads of it and the run goes on (INV-31)', async () => {
    const world = new RunWorld({ tools: ['slow'], toolTimeoutMs: 5_000 });
    const run = await world.start();
    world.model.turn.call('slow', {}, 'a').finish('tool_calls');
    await world.clock.advance(5_000);
    expect(await run.event('tool_complete')).toMatchObject({ success: false });
    expect(world.model.turn.request.messages.at(-1)?.content).toContain('timed out');
    world.model.turn.say('never mind').finish();
    await run.event('finished');
    expect(await run.types()).not.toContain('stopping');
    await world.expectSound();
  });

  it('gives a deaf tool its grace and then goes on without it', async () => {
    const world = new RunWorld({
      tools: ['deaf'],
      toolTimeoutMs: 5_000,
      limits: { toolStopGraceMs: 3_000 },
    });
    world.tools.deaf.add('deaf');
    const run = await world.start();
    world.model.turn.call('deaf', {}, 'a').finish('tool_calls');
    await world.clock.advance(8_000);
    expect(await run.event('tool_complete')).toMatchObject({ success: false, effect: 'unknown' });
    world.model.turn.say('never mind').finish();
    await run.event('finished');
    world.tools.last('deaf').answer('late');
    await world.expectSound();
  });

  it('has the model read of a deaf tool what its reader was told, whatever it says late', async () => {
    const world = new RunWorld({
      tools: ['deaf', 'next'],
      toolTimeoutMs: 5_000,
      limits: { toolStopGraceMs: 3_000, parallelToolsMax: 1 },
    });
    world.tools.deaf.add('deaf');
    const run = await world.start();
    world.model.turn.call('deaf', {}, 'a').call('next', {}, 'b').finish('tool_calls');
    await world.clock.advance(8_000);
    world.tools.last('deaf').answer('late');
    await world.clock.settle();
    world.tools.last('next').answer('done');
    const { error } = await run.event('tool_complete');
    const read = world.model.turn.request.messages.slice(-2).map(({ content }) => content);
    expect(read).toEqual([error, 'done']);
    world.model.turn.say('so be it').finish();
    await world.expectSound();
  });
});

describe('total', () => {
  it('bounds the whole run, people included', async () => {
    const world = new RunWorld({
      tools: ['danger'],
      requireApproval: ['danger'],
      limits: { totalMs: 60_000 },
      approvalTimeoutMs: 1_000_000,
    });
    const run = await world.start();
    world.model.turn.call('danger').finish('tool_calls');
    await world.clock.advance(60_000);
    expect(await run.event('cancelled')).toMatchObject({
      reason: 'deadline',
      which: 'total',
      after_ms: 60_000,
    });
    expect(await run.event('approval_completed')).toMatchObject({
      outcome: { kind: 'cancelled', reason: 'deadline', which: 'total' },
    });
    await world.expectSound();
  });

  it('can be off, as every limit that may be 0', async () => {
    const off = { totalMs: 0, stepMs: 0, firstChunkMs: 0, inactivityMs: 0 };
    const world = new RunWorld({ limits: off });
    const run = await world.start();
    expect(world.clock.pending.filter(({ delayMs }) => delayMs > 5_000)).toEqual([]);
    await world.clock.advance(10_000_000);
    world.model.turn.say('at last').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('may be set by the caller of a start', async () => {
    const world = new RunWorld({ limits: { totalMs: 900_000 } });
    const run = await world.start({ timeoutMs: 2_000 });
    await world.clock.advance(2_000);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'deadline', which: 'total' });
    expect(await run.event('started')).toMatchObject({ timeout_ms: 2_000 });
    await world.expectSound();
  });
});

describe('approval', () => {
  it('that nobody decides is timed out, never denied, and runs nothing (AP2)', async () => {
    const world = new RunWorld({
      tools: ['danger'],
      requireApproval: ['danger'],
      approvalTimeoutMs: 60_000,
    });
    const run = await world.start();
    world.model.turn.call('danger', {}, 'a').finish('tool_calls');
    await world.clock.advance(60_000);
    expect(await run.event('approval_completed')).toMatchObject({
      outcome: { kind: 'timed_out', waited_ms: 60_000 },
      duration_ms: 60_000,
    });
    expect(await run.event('tool_complete')).toMatchObject({
      success: false,
      approval: 'timed_out',
      error: 'tool call denied: approval timed out',
    });
    const { decision_id } = await run.event('approval_pending');
    expect(await world.supervisor.decide(decision_id, { approved: true })).toBe('unknown');
    expect(world.tools.executions).toEqual([]);
    world.model.turn.say('ok').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('waits for thirty days if it is told to', async () => {
    const thirtyDays = 30 * 24 * 3_600_000;
    const world = new RunWorld({
      tools: ['danger'],
      requireApproval: ['danger'],
      approvalTimeoutMs: thirtyDays,
      limits: { totalMs: 0 },
    });
    const run = await world.start();
    world.model.turn.call('danger').finish('tool_calls');
    await world.clock.settle();
    // The hours between are the lease's beats, half a million of them; only the end matters.
    const expiry = world.clock.pending.find(({ delayMs }) => delayMs === thirtyDays);
    expect(expiry).toBeDefined();
    expect((await run.record()).state).toBe('waiting');
    if (expiry) world.clock.fire(expiry);
    expect(await run.event('approval_completed')).toMatchObject({
      outcome: { kind: 'timed_out', waited_ms: thirtyDays },
    });
    world.model.turn.say('fine').finish();
    await run.event('finished');
    await world.expectSound();
  });
});

describe('setup', () => {
  it('ends a run whose tools never come, and the model is never asked (INV-20, INV-21)', async () => {
    const aborted: unknown[] = [];
    const stuck: ToolSource = {
      acquire: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted.push(signal.reason);
            reject(signal.reason);
          });
        }),
    };
    const world = new RunWorld({ source: stuck, limits: { setupMs: 30_000 } });
    const run = await world.start();
    expect((await run.record()).state).toBe('preparing');
    await world.clock.advance(30_000);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'deadline', which: 'setup' });
    expect(aborted).toHaveLength(1);
    expect(world.model.turns).toEqual([]);
    await world.expectSound();
  });

  it('is left at once when the reader leaves (INV-05, INV-21)', async () => {
    const stuck: ToolSource = {
      acquire: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    };
    const world = new RunWorld({ source: stuck });
    const run = await world.start();
    await run.release();
    expect(await run.event('cancelled')).toMatchObject({ reason: 'unclaimed' });
    expect(world.model.turns).toEqual([]);
    await world.expectSound();
  });

  it('that fails ends the run as failed', async () => {
    const broken: ToolSource = { acquire: () => Promise.reject(new Error('secret detail')) };
    const world = new RunWorld({ source: broken });
    const run = await world.start();
    const { error } = await run.event('failed');
    expect(error.code).toBe('internal_error');
    expect(error.message).not.toContain('secret');
    await world.expectSound();
  });
});
