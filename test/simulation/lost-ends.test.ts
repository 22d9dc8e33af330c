import { describe, expect, it } from 'vitest';
import type { FinishReason } from '../../src/model.ts';
import { RunFeed } from '../../src/http/run-feed.ts';
import { RunWorld } from '../support/run-world.ts';
import { type AppendFate, trickyStore } from '../unit/journal-kit.ts';

/** What readers are told of an end: how the model stopped, and that an end will not come. */

const LONG = 120_000;

/** A run on a store that a test makes fail, and a reader of it as HTTP has them. */
async function readRun() {
  const store = trickyStore();
  const world = new RunWorld({ store });
  const run = await world.start();
  const { supervisor: handle, clock } = world;
  const told: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const { sessionId, runId } = run;
  const feed = new RunFeed(
    { handle, clock, log, sessionId, runId, from: 1 },
    {
      entries: (batch) => {
        for (const { type } of batch) told.push(type);
        return true;
      },
      gap: () => told.push('gap'),
      lost: () => told.push('lost'),
    },
  );
  await clock.settle();
  return { store, world, run, told, feed };
}

describe('a run whose end the store refuses', () => {
  it('tells its readers the moment it gives up, after all that was stored', async () => {
    const { store, world, told } = await readRun();
    store.fates = Array.from({ length: 100 }, (): AppendFate => 'refused');
    world.model.turn.say('lost').finish();
    await world.clock.advance(1_500);
    expect(told).not.toContain('lost');
    await world.clock.advance(1_000);
    expect(told.at(-1)).toBe('lost');
    expect(told.filter((what) => what === 'lost')).toHaveLength(1);
    expect(told).toContain('started');
  });

  it('tells nobody of it whose end came after all', async () => {
    const { store, world, told } = await readRun();
    store.fates = ['refused'];
    world.model.turn.say('lost').finish();
    await world.clock.advance(LONG);
    expect(told).not.toContain('lost');
    expect(told.at(-1)).toBe('finished');
  });

  it('tells nobody who has left', async () => {
    const { store, world, told, feed } = await readRun();
    feed.close();
    store.fates = Array.from({ length: 100 }, (): AppendFate => 'refused');
    world.model.turn.say('lost').finish();
    await world.clock.advance(LONG);
    expect(told).not.toContain('lost');
  });
});

describe('the end of a run that finished', () => {
  it.each(['stop', 'length', 'content_filter'] satisfies FinishReason[])(
    'says that the model stopped for %s',
    async (reason) => {
      const world = new RunWorld();
      const run = await world.start();
      world.model.turn.say('x').finish(reason);
      expect(await run.event('finished')).toMatchObject({ finish_reason: reason });
      await world.expectSound();
    },
  );

  it('says it of the last turn alone', async () => {
    const world = new RunWorld({ tools: ['work'] });
    const run = await world.start();
    world.model.turn.call('work').finish('tool_calls');
    await world.clock.settle();
    world.tools.last('work').answer('done');
    await world.clock.settle();
    world.model.turn.say('x').finish('length');
    expect(await run.event('finished')).toMatchObject({ finish_reason: 'length' });
    await world.expectSound();
  });
});

describe('a claim', () => {
  it.each(['released', 'expired'] as const)('that is gone is told as %s', async (because) => {
    const world = new RunWorld();
    const run = await world.start();
    world.supervisor.release(run.runId, 'reader', because);
    expect(await run.event('observer_detached')).toMatchObject({ because });
    await run.event('cancelled');
    await world.expectSound();
  });
});
