import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { StoreError } from '../../src/stores/store.ts';
import { RunWorld } from '../support/run-world.ts';

/**
 * Hazards that no chart can see: a tool that is quicker than the store, and a process that is too busy to
 * notice that a time is over.
 */

describe('a tool', () => {
  it('is not begun before the store has what was asked for', async () => {
    const store = createMemoryStore();
    const world = new RunWorld({ tools: ['work'], store });
    const run = await world.start();
    const { append } = store;
    store.append = () => {
      throw new StoreError('The disk is full.');
    };
    world.model.turn.call('work', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    expect(world.tools.executions).toEqual([]);
    store.append = append;
    await world.clock.advance(60_000);
    expect(await run.event('failed')).toMatchObject({ error: { code: 'store_unavailable' } });
    expect(world.tools.executions).toEqual([]);
  });
});

describe('a decision', () => {
  it('does not count that is read after the expiry, though the expiry has yet to be noticed', async () => {
    const world = new RunWorld({
      tools: ['danger'],
      requireApproval: ['danger'],
      approvalTimeoutMs: 60_000,
    });
    const run = await world.start();
    world.model.turn.call('danger', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    const { decision_id: id } = await run.event('approval_pending');
    const { steady } = world.clock;
    Object.assign(world.clock, { steady: () => world.clock.now() + 60_000 });
    expect(await world.supervisor.decide(id, { approved: true })).toBe('unknown');
    Object.assign(world.clock, { steady });
    await world.clock.advance(60_000);
    expect(await run.event('approval_completed')).toMatchObject({ outcome: { kind: 'timed_out' } });
    expect(world.tools.executions).toEqual([]);
    world.model.turn.say('too late').finish();
    await world.expectSound();
  });
});
