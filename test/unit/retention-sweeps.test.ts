import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/stores/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { DAY_MS, NOW, retentionWorld, runIdOf } from './retention-kit.ts';

/** When sweeps come, what they do beside the process's work, and what becomes of a failure. */

const WEEK = { retentionMs: 7 * DAY_MS };

describe('retention in time', () => {
  it('sweeps each minute, the first time after one (RT6)', async () => {
    const world = retentionWorld(createMemoryStore(), { limits: WEEK });
    await world.begin('s', runIdOf(8));
    await world.end('s', runIdOf(8));

    await world.clock.advance(59_999);
    expect(await world.runIds()).toHaveLength(1);
    await world.clock.advance(1);
    expect(await world.runIds()).toEqual([]);
    expect(world.clock.pending).toMatchObject([{ dueAt: NOW + 120_000 }]);
    expect(world.logged).toEqual(['info: Old entries and runs have been let go']);
    await world.retention.stop();
    expect(world.clock.pending).toEqual([]);
  });

  it('joins the sweep that is under way (RT6)', async () => {
    const store = createMemoryStore();
    let calls = 0;
    const world = retentionWorld(store, {
      limits: { totalBytesMax: 1 },
      trim: (id, through) => {
        calls += 1;
        return store.trim(id, through);
      },
    });
    await world.begin('s', runIdOf(8));
    await world.end('s', runIdOf(8));

    await Promise.all([world.retention.sweep(), world.retention.sweep()]);

    expect(calls).toBe(1);
  });

  it('gives the process its turn while it sweeps (RT6)', async () => {
    const world = retentionWorld(createMemoryStore(), { limits: { totalBytesMax: 1 } });
    for (let n = 0; n < 450; n += 1) await world.begin(`s${n}`, runIdOf(8, n));
    let turns = 0;
    let over = false;
    const count = () => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    setImmediate(count);

    await world.retention.sweep();
    over = true;

    expect(turns).toBeGreaterThan(1);
  });

  it('ends early when it is stopped, and waits for that (RT6)', async () => {
    const store = createMemoryStore();
    const trimmed: string[] = [];
    const world = retentionWorld(store, {
      limits: WEEK,
      trim: (id, through) => {
        trimmed.push(id);
        stopping ??= world.retention.stop();
        return store.trim(id, through);
      },
    });
    let stopping: Promise<void> | undefined;
    for (const n of [1, 2, 3]) {
      await world.begin(`s${n}`, runIdOf(8, n));
      await world.end(`s${n}`, runIdOf(8, n));
    }

    await world.clock.advance(60_000);
    await stopping;

    expect(trimmed).toEqual(['s1']);
    expect(world.clock.pending).toEqual([]);
  });

  it('is not stopped before the store was left alone (RT6)', async () => {
    const store = createMemoryStore();
    const gate = Promise.withResolvers<void>();
    const steps: string[] = [];
    const world = retentionWorld(store, {
      limits: WEEK,
      trim: async (id, through) => {
        steps.push('trims');
        await gate.promise;
        steps.push('trimmed');
        return store.trim(id, through);
      },
    });
    await world.begin('s', runIdOf(8));
    await world.end('s', runIdOf(8));

    await world.clock.advance(60_000);
    const stopped = world.retention.stop().then(() => steps.push('stopped'));
    await world.clock.settle();
    gate.resolve();
    await stopped;

    expect(steps).toEqual(['trims', 'trimmed', 'stopped']);
  });

  it('finds entries again that came to a session which had none (RT4)', async () => {
    const world = retentionWorld(createMemoryStore(), { limits: { totalBytesMax: 1 } });
    await world.begin('s', runIdOf(8));
    await world.end('s', runIdOf(8));
    await world.retention.sweep();
    await world.lines('s', 3);

    await world.retention.sweep();
    await world.retention.sweep();

    expect(await world.store.totalBytes()).toBe(0);
  });

  it('says once that the store fails, and goes on when it does not (RT7)', async () => {
    const store = createMemoryStore();
    let fails = true;
    const world = retentionWorld(store, {
      limits: WEEK,
      trim: (id, through) => {
        if (fails) throw new StoreError('The disk is full.');
        return store.trim(id, through);
      },
    });
    await world.begin('s', runIdOf(8));
    await world.end('s', runIdOf(8));

    await world.clock.advance(180_000);
    const failure = 'warn: Old entries could not be let go; that is tried again';
    expect(world.logged).toEqual([failure]);
    fails = false;
    await world.clock.advance(60_000);
    expect(world.logged).toEqual([failure, 'info: Old entries and runs have been let go']);
    expect(await world.runIds()).toEqual([]);
    fails = true;
    await world.begin('s', runIdOf(8, 1));
    await world.end('s', runIdOf(8, 1));
    await world.clock.advance(120_000);
    expect(world.logged.slice(2)).toEqual([failure]);
  });
});
