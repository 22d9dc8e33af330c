import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/stores/store.ts';
import {
  DAY_MS,
  ENGINES,
  LINE,
  removeDirectory,
  retentionWorld,
  runIdOf,
  type WorldOptions,
} from './retention-kit.ts';

/**
 * Hazard: what is let go is gone. A sweep that runs beside live runs must never take what their
 * readers have not seen, and one that fails or is large must not take the process along.
 */

afterAll(removeDirectory);

const WEEK = { retentionMs: 7 * DAY_MS };

describe.each(ENGINES)('retention on %s', (_name, open) => {
  let store: Store;
  beforeEach(() => {
    store = open();
  });
  afterEach(async () => {
    await store.close();
  });
  const worldOf = (options: WorldOptions) => retentionWorld(store, options);
  const bytes = async (sessionId: string) => await store.bytes(sessionId);

  it('never takes an entry that a live run of this process needs (RT1)', async () => {
    const world = worldOf({ limits: { ...WEEK, sessionBytesMax: 1, totalBytesMax: 1 } });
    await world.begin('s', runIdOf(30));
    await world.lines('s', 3);
    await world.end('s', runIdOf(30));
    await world.lines('s', 4);
    world.pins.set('s', 6);

    await world.retention.sweep();

    const { floor, lines } = await store.read('s', 1, { entriesMax: 99, bytesMax: 9_999 });
    expect(floor).toBeLessThanOrEqual(5);
    expect(lines.length).toBe(9 - floor);
    expect(await bytes('s')).toBe((9 - floor) * LINE.length);
  });

  it('takes what is before a live run (RT1, RT3)', async () => {
    const world = worldOf({ limits: WEEK });
    await world.lines('s', 2);
    await world.begin('s', runIdOf(30));
    await world.lines('s', 1);

    await world.retention.sweep();

    expect(await world.floor('s')).toBe(2);
    expect(await world.runIds()).toEqual([runIdOf(30)]);
  });

  it('takes nothing that an unsettled run of another process needs (RT1)', async () => {
    const world = worldOf({ limits: { ...WEEK, sessionBytesMax: 1, totalBytesMax: 1 } });
    await world.lines('s', 1);
    // The oldest of them is on the second page of the index.
    for (let n = 0; n < 52; n += 1) await world.begin('s', runIdOf(30, n));

    await world.retention.sweep();

    expect(await world.floor('s')).toBe(1);
  });

  it('takes nothing of a session with a record that does not say where its run is (RT1)', async () => {
    const world = worldOf({ limits: { ...WEEK, totalBytesMax: 1 } });
    for (const [id, record] of Object.entries({ a: '{}', b: 'not JSON' })) {
      await world.lines(id, 2);
      await world.begin(id, `${runIdOf(30)}${id}`, { records: [{ runId: runIdOf(9), record }] });
    }

    await world.retention.sweep();

    expect(await bytes('a')).toBe(3 * LINE.length);
    expect(await bytes('b')).toBe(3 * LINE.length);
  });

  it('takes nothing of a run that begins while it looks (RT1)', async () => {
    const world = worldOf({
      limits: WEEK,
      trim: async (id, through) => {
        await world.begin('s', runIdOf(0));
        return store.trim(id, through);
      },
    });
    await world.begin('s', runIdOf(30));
    await world.end('s', runIdOf(30));

    await world.retention.sweep();

    expect(await world.floor('s')).toBe(2);
    expect(await bytes('s')).toBeGreaterThan(0);
  });

  it('keeps a parked run that nobody goes on with, however old (RT2)', async () => {
    const world = worldOf({ limits: { ...WEEK, totalBytesMax: 1 } });
    const parked = { checkpoint: 'from here', automatic: false, approvals: [] };
    await world.begin('s', runIdOf(400, 1));
    await world.end('s', runIdOf(400, 1), { parked, transcript: 'said' });
    await world.begin('t', runIdOf(400, 2));
    await world.end('t', runIdOf(400, 2), { parked });
    await world.begin('t', runIdOf(0), { continues: { runId: runIdOf(400, 2), by: runIdOf(0) } });

    await world.retention.sweep();

    expect(await world.runIds()).toEqual([runIdOf(0), runIdOf(400, 1)]);
    expect(await store.getCheckpoint(runIdOf(400, 1))).toBe('from here');
    expect(await store.getTranscript('s')).toBe('said');
    expect(await bytes('s')).toBe(0);
  });

  it('takes entries, records and sessions when all runs are too old (RT3)', async () => {
    const world = worldOf({ limits: WEEK });
    for (const [id, daysAgo] of [['old', 8] as const, ['young', 6] as const]) {
      await world.begin(id, runIdOf(daysAgo));
      await world.end(id, runIdOf(daysAgo));
    }

    await world.retention.sweep();

    expect(await bytes('old')).toBe(0);
    expect(await store.getSession('old')).toBeUndefined();
    expect(await world.runIds()).toEqual([runIdOf(6)]);
    expect(await bytes('young')).toBe(2 * LINE.length);
  });

  it('keeps the entries of a session with one young run, and forgets its old ones (RT3)', async () => {
    const world = worldOf({ limits: WEEK });
    for (const daysAgo of [8, 6]) {
      await world.begin('s', runIdOf(daysAgo));
      await world.end('s', runIdOf(daysAgo));
    }

    await world.retention.sweep();

    expect(await world.floor('s')).toBe(0);
    expect(await world.runIds()).toEqual([runIdOf(6)]);
  });

  it('takes a run to be old from the millisecond on in which its age is reached (RT3)', async () => {
    const world = worldOf({ limits: WEEK });
    await world.begin('s', runIdOf(7));
    await world.end('s', runIdOf(7));

    await world.retention.sweep();
    expect(await world.runIds()).toHaveLength(1);
    await world.clock.advance(1);
    await world.retention.sweep();
    expect(await world.runIds()).toEqual([]);
  });

  it('takes the oldest entries of a session that is too large (RT4)', async () => {
    const world = worldOf({ limits: { sessionBytesMax: 5 * LINE.length } });
    for (const [id, count] of [['large', 20] as const, ['small', 4] as const]) {
      await world.begin(id, `${runIdOf(1)}${id}`);
      await world.end(id, `${runIdOf(1)}${id}`);
      await world.lines(id, count - 2);
    }

    await world.retention.sweep();

    expect(await bytes('large')).toBe(5 * LINE.length);
    expect(await world.floor('large')).toBe(15);
    expect(await bytes('small')).toBe(4 * LINE.length);
  });

  it('takes from the sessions used least recently when all are too large (RT4)', async () => {
    const world = worldOf({ limits: { totalBytesMax: 9 * LINE.length } });
    for (const [id, daysAgo] of [['b', 2] as const, ['c', 1] as const, ['a', 3] as const]) {
      await world.begin(id, runIdOf(daysAgo));
      await world.end(id, runIdOf(daysAgo));
      await world.lines(id, 3);
    }

    await world.retention.sweep();

    expect([await bytes('a'), await bytes('b'), await bytes('c')]).toEqual([0, 40, 50]);
    await world.lines('c', 3);
    await world.retention.sweep();
    expect([await bytes('b'), await bytes('c')]).toEqual([10, 80]);
    await world.lines('c', 3);
    await world.retention.sweep();
    expect([await bytes('b'), await bytes('c')]).toEqual([0, 90]);
  });

  it('comes back to a session that was pinned before it takes from a newer one (RT4)', async () => {
    const world = worldOf({ limits: { totalBytesMax: 4 * LINE.length } });
    for (const [id, daysAgo] of [['old', 2] as const, ['new', 1] as const]) {
      await world.begin(id, runIdOf(daysAgo));
      await world.end(id, runIdOf(daysAgo));
      await world.lines(id, 1);
    }
    world.pins.set('old', 1);
    await world.retention.sweep();
    expect([await bytes('old'), await bytes('new')]).toEqual([30, 10]);

    world.pins.clear();
    await world.lines('new', 2);
    await world.retention.sweep();

    expect([await bytes('old'), await bytes('new')]).toEqual([10, 30]);
  });

  it('lets go together what was stored together, and not much more (RT4)', async () => {
    const world = worldOf({ limits: { sessionBytesMax: 300_000 } });
    const line = JSON.stringify('x'.repeat(998));
    const body = Array.from({ length: 200 }, () => line).join('\n');
    await world.begin('s', runIdOf(1), { body, count: 200 });
    for (let n = 0; n < 200; n += 1) await world.begin('s', runIdOf(1), { body: line });
    await world.end('s', runIdOf(1));

    await world.retention.sweep();

    expect(await world.floor('s')).toBeGreaterThanOrEqual(200);
    expect(await bytes('s')).toBeLessThanOrEqual(300_000);
    expect(await bytes('s')).toBeGreaterThan(100_000);
  });

  it('lets nothing go without a limit, and sets no timer (RT5)', async () => {
    const world = worldOf({ limits: {} });
    await world.begin('s', runIdOf(1_000));
    await world.end('s', runIdOf(1_000));
    await world.lines('s', 100);

    await world.retention.sweep();

    expect(await world.floor('s')).toBe(0);
    expect(await world.runIds()).toHaveLength(1);
    expect(world.clock.pending).toEqual([]);
  });

  it('lets nothing go by the limits that are off (RT5)', async () => {
    const world = worldOf({ limits: { retentionMs: 2_000 * DAY_MS } });
    await world.begin('s', runIdOf(1_000));
    await world.end('s', runIdOf(1_000));
    await world.retention.sweep();
    expect(await bytes('s')).toBe(2 * LINE.length);
  });

  it('looks at every session, however many there are (RT6)', async () => {
    const world = worldOf({ limits: { ...WEEK, totalBytesMax: 1_000 } });
    const ids = Array.from({ length: 450 }, (_, n) => `s${n}`);
    for (const [n, id] of ids.entries()) {
      await world.begin(id, runIdOf(n % 2 === 0 ? 9 : 1, n));
      await world.end(id, runIdOf(n % 2 === 0 ? 9 : 1, n));
    }

    await world.retention.sweep();

    const kept = await Promise.all(ids.map(bytes));
    expect(kept.filter((_, n) => n % 2 === 0).every((size) => size === 0)).toBe(true);
    expect(await store.totalBytes()).toBe(1_000);
    expect((await world.runIds()).length).toBe(225);
  });
});
