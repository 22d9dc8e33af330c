import { describe, expect, it } from 'vitest';
import type { ToolSource } from '../../src/tool.ts';
import { RunWorld, type SimulatedRun } from '../support/run-world.ts';
import {
  busy,
  ENQUEUE,
  expectIdle,
  finish,
  INTERRUPT,
  order,
  PARALLEL,
  REJECT,
  stateOf,
} from '../support/session-kit.ts';

/** A run that displaces all those before it in its session, and begins when they have let go. */

describe('interrupt', () => {
  it('ends the old one as superseded with everything closed, and begins behind it', async () => {
    const { world, first } = await busy({ tools: ['work', 'danger'], requireApproval: ['danger'] });
    world.model.turn.say('Half').call('work', {}, 'w').call('danger', {}, 'd').finish('tool_calls');
    await world.clock.settle();
    const next = await world.start(INTERRUPT);
    await world.clock.settle();
    expect(await first.event('cancelled')).toMatchObject({ reason: 'superseded' });
    const completes = (await first.events()).filter(({ type }) => type === 'tool_complete');
    expect(completes).toHaveLength(2);
    expect(world.tools.last('work').context.signal.aborted).toBe(true);
    expect(
      (await order(world, [first, next])).filter((e) => /queued|started|cancelled/.test(e)),
    ).toEqual(['0:started', '1:queued', '0:cancelled', '1:started']);
    await finish(world);
    expect(await stateOf(next)).toBe('finished');
    await expectIdle(world);
  });

  it('begins only when the old one has let go, however long that takes', async () => {
    const { world, first } = await busy({ tools: ['deaf'] });
    world.tools.deaf.add('deaf');
    world.model.turn.call('deaf', {}, 'd').finish('tool_calls');
    await world.clock.settle();
    const next = await world.start(INTERRUPT);
    await world.clock.advance(4_999);
    expect(await stateOf(first)).toBe('stopping');
    expect(await stateOf(next)).toBe('queued');
    await world.clock.advance(1);
    expect(await first.event('cancelled')).toMatchObject({ reason: 'superseded' });
    expect(await stateOf(next)).toBe('running');
    await finish(world);
    await expectIdle(world);
  });

  it('displaces parallel runs and those that wait, too', async () => {
    const world = new RunWorld();
    const old = [
      await world.start(PARALLEL),
      await world.start(PARALLEL),
      await world.start(ENQUEUE),
      await world.start(ENQUEUE),
    ];
    const next = await world.start(INTERRUPT);
    await world.clock.settle();
    for (const run of old) {
      expect(await run.event('cancelled')).toMatchObject({ reason: 'superseded' });
    }
    expect(
      await Promise.all(old.map(async (run) => (await run.types()).includes('started'))),
    ).toEqual([true, true, false, false]);
    await finish(world);
    expect(await stateOf(next)).toBe('finished');
    await expectIdle(world);
  });

  it('displaces parallel runs that nobody else had to reckon with', async () => {
    const world = new RunWorld();
    const old = [await world.start(PARALLEL), await world.start(PARALLEL)];
    const next = await world.start(INTERRUPT);
    await world.clock.settle();
    expect(await Promise.all(old.map(stateOf))).toEqual(['cancelled', 'cancelled']);
    await finish(world);
    expect(await stateOf(next)).toBe('finished');
    await expectIdle(world);
  });

  it('displaces those that wait, however short the one at work takes to go', async () => {
    const { world, first } = await busy({ tools: ['deaf'] });
    world.tools.deaf.add('deaf');
    world.model.turn.call('deaf', {}, 'd').finish('tool_calls');
    await world.clock.settle();
    const waits = await world.start(ENQUEUE);
    const next = await world.start(INTERRUPT);
    await world.clock.settle();
    expect(await waits.event('cancelled')).toMatchObject({ reason: 'superseded' });
    await world.clock.advance(5_000);
    expect(await stateOf(first)).toBe('cancelled');
    await finish(world);
    expect(await stateOf(next)).toBe('finished');
    await expectIdle(world);
  });

  it('displaces one that waits and is still being opened', async () => {
    const { world } = await busy();
    const [waits, next] = await Promise.all([world.start(ENQUEUE), world.start(INTERRUPT)]);
    await world.clock.settle();
    expect(await waits.event('cancelled')).toMatchObject({ reason: 'superseded' });
    expect(await stateOf(next)).toBe('running');
    await finish(world);
    await expectIdle(world);
  });

  it('of an interrupt, and of that one: only the last one is left', async () => {
    const { world, first } = await busy({ tools: ['deaf'] });
    world.tools.deaf.add('deaf');
    world.model.turn.call('deaf', {}, 'd').finish('tool_calls');
    await world.clock.settle();
    const chain: SimulatedRun[] = [];
    for (let at = 0; at < 5; at += 1) chain.push(await world.start(INTERRUPT));
    await world.clock.advance(5_000);
    expect(await stateOf(first)).toBe('cancelled');
    expect(await Promise.all(chain.map(stateOf))).toEqual([
      ...Array(4).fill('cancelled'),
      'running',
    ]);
    for (const run of chain.slice(0, 4)) expect(await run.types()).not.toContain('started');
    await finish(world);
    await expectIdle(world);
  });

  it('of a run that is still being opened ends that one before its model is asked', async () => {
    const world = new RunWorld();
    const [first, second] = await Promise.all([world.start(REJECT), world.start(INTERRUPT)]);
    await world.clock.settle();
    expect(await first.event('cancelled')).toMatchObject({ reason: 'superseded' });
    expect(await stateOf(second)).toBe('running');
    expect(world.model.turns.filter(({ signal }) => !signal.aborted)).toHaveLength(1);
    await finish(world);
    await expectIdle(world);
  });

  it('of a run in its setup tells that to stop (INV-21)', async () => {
    let signal: AbortSignal | undefined;
    const hung: ToolSource = {
      acquire: (request) => {
        if (signal !== undefined) {
          return Promise.resolve({ tools: [], servers: [], release: () => Promise.resolve() });
        }
        signal = request.signal;
        return new Promise((_, reject) => {
          request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
        });
      },
    };
    const { world, first } = await busy({ source: hung });
    expect(await stateOf(first)).toBe('preparing');
    const next = await world.start(INTERRUPT);
    await world.clock.settle();
    expect(signal?.aborted).toBe(true);
    expect(await first.event('cancelled')).toMatchObject({ reason: 'superseded' });
    await finish(world);
    expect(await stateOf(next)).toBe('finished');
    await expectIdle(world);
  });

  it('hits only the runs before it (INV-06)', async () => {
    const { world } = await busy();
    const next = await world.start(INTERRUPT);
    const behind = await world.start(ENQUEUE);
    await world.clock.settle();
    expect(await stateOf(next)).toBe('running');
    expect(await stateOf(behind)).toBe('queued');
    await finish(world);
    await finish(world);
    expect(await stateOf(behind)).toBe('finished');
    await expectIdle(world);
  });

  it('is reached by its own id when the one before it has let go (H-14)', async () => {
    const { world, first } = await busy({ tools: ['deaf'] });
    world.tools.deaf.add('deaf');
    world.model.turn.call('deaf', {}, 'd').finish('tool_calls');
    await world.clock.settle();
    const next = await world.start(INTERRUPT);
    await world.clock.advance(60_000);
    world.tools.last('deaf').answer('at last');
    await world.clock.settle();
    expect(await stateOf(first)).toBe('cancelled');
    expect(world.supervisor.claim(next.runId, 'second')).toBe(true);
    await next.cancel();
    expect(await next.event('cancelled')).toMatchObject({ reason: 'external' });
    await expectIdle(world);
  });

  it('leaves another session alone', async () => {
    const { world, first } = await busy();
    await world.start({ ...INTERRUPT, sessionId: 'two' });
    expect(await stateOf(first)).toBe('running');
    world.model.turns[0]?.finish();
    await finish(world);
    await expectIdle(world);
  });
});
