import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../src/errors.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { RunWorld } from '../support/run-world.ts';

/**
 * A stop is addressed to one run, is durable before it acts, and reaches it whenever it comes:
 * before the first work, between two turns, or after the last.
 */

/** A store of which one call behaves otherwise. */
function storeWith(change: Partial<Store>): Store {
  const store = createMemoryStore();
  return new Proxy(store, {
    get: (target, key) => {
      if (key in change) return Reflect.get(change, key);
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('a stop request', () => {
  it('that comes before any work is done keeps the model from being asked (INV-03, INV-04, INV-05, INV-07)', async () => {
    const setup = Promise.withResolvers<void>();
    const world = new RunWorld({
      source: {
        acquire: async ({ signal }) => {
          await setup.promise;
          signal.throwIfAborted();
          return { tools: [], servers: [], release: () => Promise.resolve() };
        },
      },
    });
    const run = await world.start();
    await world.clock.advance(25_000);
    await run.cancel('changed my mind');
    setup.resolve();
    await world.clock.settle();
    expect(world.model.turns).toEqual([]);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'external' });
    await world.expectSound();
  });

  it('is for its own run and never for the next one of the session (INV-06, H-1)', async () => {
    const world = new RunWorld();
    const first = await world.start({ sessionId: 'one' });
    const stopping = first.cancel();
    const second = await world.start({ sessionId: 'one' });
    await stopping;
    expect(await first.event('cancelled')).toMatchObject({ reason: 'external' });
    world.model.turn.say('still here').finish();
    await second.event('finished');
    await first.cancel('again');
    await world.expectSound();
  });

  it('for a run that nobody knows changes nothing and leaves nothing behind (INV-09)', async () => {
    const world = new RunWorld();
    expect(await world.supervisor.cancel('no-such-run', {})).toBeUndefined();
    const run = await world.start();
    world.model.turn.say('x').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('that cannot be made durable is refused and stops nothing (INV-11)', async () => {
    const change: { putRecord?: Store['putRecord'] } = {};
    const world = new RunWorld({ store: storeWith(change) });
    const run = await world.start();
    change.putRecord = () => {
      throw new Error('disk full');
    };
    await expect(world.supervisor.cancel(run.runId, {})).rejects.toBeInstanceOf(
      StoreUnavailableError,
    );
    await world.clock.settle();
    expect((await run.record()).state).toBe('running');
    world.model.turn.say('going on').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('works without the bus that would wake others up (INV-08)', async () => {
    const bus = {
      publish: () => {
        throw new Error('the bus is down');
      },
      subscribe: () => () => {},
    };
    const world = new RunWorld({ store: storeWith({ bus }) });
    const run = await world.start();
    await run.cancel();
    expect(await run.event('cancelled')).toMatchObject({ reason: 'external' });
    await world.expectSound();
  });

  it('is told at once, apart from the end that follows (INV-12, INV-14, H-4)', async () => {
    const world = new RunWorld();
    world.model.deaf = true;
    const run = await world.start();
    await run.cancel();
    expect(await run.types()).toContain('stopping');
    expect((await run.types()).at(-1)).toBe('obligation');
    const record = await run.record();
    expect(record).toMatchObject({ state: 'stopping', ended_at: null, end: null });
    expect(record.obligations).toEqual([{ what: 'model', id: 'turn-1', state: 'asked' }]);
    world.model.turn.close();
    await world.clock.settle();
    expect((await run.record()).state).toBe('cancelled');
    await world.expectSound();
  });

  it('has one effect, whichever ways it comes and however often (INV-02, INV-13)', async () => {
    const world = new RunWorld({ tools: ['work'] });
    const run = await world.start();
    world.model.turn.call('work').finish('tool_calls');
    await world.clock.settle();
    world.supervisor.release(run.runId, 'reader');
    await Promise.all([run.cancel(), run.cancel(), run.release()]);
    const types = await run.types();
    for (const once of ['stopping', 'claims_exhausted', 'tool_complete', 'cancelled']) {
      expect(types.filter((type) => type === once)).toEqual([once]);
    }
    await world.expectSound();
  });

  it('reaches model and tools by one signal, whose reason is the cause (INV-01, INV-16)', async () => {
    const world = new RunWorld({ tools: ['work'] });
    const run = await world.start();
    const first = world.model.turn;
    first.call('work').finish('tool_calls');
    await world.clock.settle();
    await run.cancel('because');
    const reasons = [first.signal.reason, world.tools.last('work').context.signal.reason];
    for (const reason of reasons) {
      expect(reason).toMatchObject({ cause: { kind: 'external', message: 'because' } });
    }
    expect(reasons[0]).toBe(reasons[1]);
    await world.expectSound();
  });
});

describe('the cause of an end', () => {
  const ways = {
    unclaimed: (world: RunWorld, runId: string) => world.supervisor.release(runId, 'reader'),
    external: (world: RunWorld, runId: string) => void world.supervisor.cancel(runId, {}),
    shutdown: (world: RunWorld) => world.supervisor.shutdown('SIGTERM'),
    deadline: () => {},
  } as const;

  it.each(Object.entries(ways))('is on record for %s (INV-32, H-7)', async (reason, stop) => {
    const world = new RunWorld({ graceMs: 0, limits: { totalMs: 7_000 } });
    const run = await world.start();
    stop(world, run.runId);
    await world.clock.advance(7_000);
    expect(await run.event('cancelled')).toMatchObject({ reason });
    expect((await run.record()).end).toMatchObject({ reason });
    await world.expectSound();
  });
});
