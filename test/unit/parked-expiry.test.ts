import { afterAll, describe, expect, it } from 'vitest';
import { ENGINES, expiryWorld, NOW, removeDirectory } from './parked-expiry-kit.ts';

/**
 * Hazard: a run waits for a person who never comes. Nobody sends a request at that moment, so a timer must
 * bring it back, also weeks later and in another process.
 */

const DAY_MS = 86_400_000;

afterAll(removeDirectory);

describe.each(ENGINES)('approvals of parked runs that expire, %s', (_name, newStore) => {
  it('closes one when its time comes, and brings its run back', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [{ decisionId: 'd', afterMs: 5_000 }]);

    await world.clock.advance(4_999);
    expect([await world.outcome('d'), world.broughtBack]).toEqual([undefined, []]);
    await world.clock.advance(1);

    expect(await world.outcome('d')).toEqual({ kind: 'timed_out', waitedMs: 6_000 });
    expect(world.broughtBack).toEqual(['r']);
    expect(world.clock.pending).toEqual([]);
  });

  it('waits for thirty days, through one timer', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [{ decisionId: 'd', afterMs: 30 * DAY_MS }]);
    await world.clock.advance(30 * DAY_MS - 1);
    expect([world.broughtBack, world.clock.pending.length]).toEqual([[], 1]);
    await world.clock.advance(1);

    expect(world.broughtBack).toEqual(['r']);
  });

  it('waits for no approval that never expires', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [{ decisionId: 'd', afterMs: Number.POSITIVE_INFINITY }]);
    await world.clock.settle();

    expect(world.clock.pending).toEqual([]);
  });

  it('takes an earlier one that comes later first, and each in its time', async () => {
    const world = expiryWorld(newStore()());
    await world.park('slow', [{ decisionId: 'd1', afterMs: 9_000 }]);
    await world.clock.settle();
    await world.park('fast', [{ decisionId: 'd2', afterMs: 2_000 }]);
    await world.clock.advance(2_000);
    expect(world.broughtBack).toEqual(['fast']);
    expect(world.clock.pending).toHaveLength(1);
    await world.clock.advance(7_000);

    expect(world.broughtBack).toEqual(['fast', 'slow']);
  });

  it('brings a run back with the last of its approvals, decided or expired', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [
      { decisionId: 'd1', afterMs: 1_000 },
      { decisionId: 'd2', afterMs: 2_000 },
      { decisionId: 'd3', afterMs: 3_000 },
    ]);
    await world.store.decideApproval('d3', '{"kind":"approved"}', NOW);

    await world.clock.advance(1_999);
    expect([world.broughtBack, (await world.outcome('d1'))?.kind]).toEqual([[], 'timed_out']);
    expect(world.closed).toEqual(['d1']);
    await world.clock.advance(1);

    expect(world.broughtBack).toEqual(['r']);
    expect(await world.outcome('d3')).toEqual({ kind: 'approved' });
  });

  it('leaves a run to its decision when that comes first, and waits no longer', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [{ decisionId: 'd', afterMs: 1_000 }]);
    await world.clock.settle();
    await world.store.decideApproval('d', '{"kind":"denied"}', NOW);
    await world.clock.settle();
    expect(world.clock.pending).toEqual([]);
    await world.clock.advance(1_000);

    expect([world.broughtBack, await world.outcome('d')]).toEqual([[], { kind: 'denied' }]);
  });

  it.each(['goOn', 'discard'] as const)(
    'leaves a run alone after %s, and waits no longer',
    async (how) => {
      const world = expiryWorld(newStore()());
      await world.park('r', [{ decisionId: 'd', afterMs: 1_000 }]);
      await world.clock.settle();
      if (how === 'goOn') await world.goOn('r');
      else await world.store.discard('r');
      await world.clock.settle();
      expect(world.clock.pending).toEqual([]);
      await world.clock.advance(1_000);
      world.expiry.look();
      await world.clock.settle();

      expect([world.broughtBack, world.closed]).toEqual([[], []]);
    },
  );

  it('lets a run stay that was parked by hand', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [{ decisionId: 'd', afterMs: 1_000 }], { automatic: false });
    await world.clock.advance(1_000);

    expect([world.broughtBack, world.closed]).toEqual([[], ['d']]);
    expect(await world.outcome('d')).toMatchObject({ kind: 'timed_out' });
  });

  it('looks after what expired while no process was there', async () => {
    const open = newStore();
    const before = expiryWorld(open());
    await before.park('auto', [{ decisionId: 'd1', afterMs: 1_000 }]);
    await before.park('hand', [{ decisionId: 'd2', afterMs: 1_000 }], { automatic: false });
    await before.park('late', [{ decisionId: 'd3', afterMs: 9_000 }]);
    before.expiry.stop();

    const world = expiryWorld(open(), { startMs: NOW + 5_000 });
    await world.clock.settle();
    expect(world.broughtBack).toEqual(['auto']);
    expect(world.closed).toEqual(['d1', 'd2']);
    await world.clock.advance(4_000);

    expect(world.broughtBack).toEqual(['auto', 'late']);
  });

  it('closes one in one of two processes', async () => {
    const open = newStore();
    const [a, b] = [expiryWorld(open()), expiryWorld(open())];
    await a.park('r1', [{ decisionId: 'd1', afterMs: 1_000 }]);
    await b.park('r2', [{ decisionId: 'd2', afterMs: 1_000 }]);
    a.expiry.look();
    await a.clock.settle();
    await Promise.all([a.clock.advance(2_000), b.clock.advance(2_000)]);

    expect([...a.broughtBack, ...b.broughtBack].sort()).toEqual(['r1', 'r2']);
    expect([...a.closed, ...b.closed].sort()).toEqual(['d1', 'd2']);
  });

  it('leaves one to the process that closes it in the same moment', async () => {
    const open = newStore();
    const [world, other] = [expiryWorld(open()), open()];
    await world.park('r', [{ decisionId: 'd', afterMs: 1_000 }]);
    await world.clock.settle();
    const { expireApproval } = world.store;
    world.store.expireApproval = (id, outcome, now) => {
      void other.expireApproval(id, '{"kind":"timed_out"}', now);
      return expireApproval.call(world.store, id, outcome, now);
    };
    await world.clock.advance(1_000);

    expect(await world.outcome('d')).toEqual({ kind: 'timed_out' });
    expect([world.broughtBack, world.closed]).toEqual([[], []]);
  });

  it('sees what parks in the middle of a look', async () => {
    const world = expiryWorld(newStore()());
    await world.park('slow', [{ decisionId: 'd1', afterMs: 9_000 }]);
    const { listExpiring } = world.store;
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.store.listExpiring = async (limit) => {
      const listed = await listExpiring.call(world.store, limit);
      asked.resolve();
      await go.promise;
      return listed;
    };
    await asked.promise;
    await world.park('fast', [{ decisionId: 'd2', afterMs: 2_000 }]);
    go.resolve();
    await world.clock.settle();
    await world.clock.advance(2_000);

    expect(world.broughtBack).toEqual(['fast']);
  });

  it('closes as many as there are, page by page', async () => {
    const world = expiryWorld(newStore()());
    const ids = Array.from({ length: 120 }, (_, at) => `r${at + 100}`);
    for (const id of ids) await world.park(id, [{ decisionId: `d${id}`, afterMs: 1_000 }]);
    await world.park('later', [{ decisionId: 'd', afterMs: 5_000 }]);
    await world.clock.advance(1_000);
    while (world.broughtBack.length < ids.length) await world.clock.settle();
    await world.clock.settle();

    expect(world.broughtBack).toEqual(ids);
    await world.clock.advance(4_000);
    expect(world.broughtBack.at(-1)).toBe('later');
  });

  it.each(['listExpiring', 'expireApproval'] as const)(
    'tries again what the store refused: %s',
    async (call) => {
      const world = expiryWorld(newStore()());
      await world.park('r', [{ decisionId: 'd', afterMs: 1_000 }]);
      await world.clock.settle();
      world.refusing.add(call);
      await world.clock.advance(1_000 + 5_000 + 10_000);
      expect([world.broughtBack, world.closed, world.clock.pending.length]).toEqual([[], [], 1]);
      expect(world.warnings).toHaveLength(1);
      world.refusing.clear();
      await world.clock.advance(20_000);

      expect([world.broughtBack, world.closed]).toEqual([['r'], ['d']]);
      expect(world.clock.pending).toEqual([]);
    },
  );

  it('brings those back whose approvals it closed before the store failed', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r1', [{ decisionId: 'd1', afterMs: 1_000 }]);
    await world.park('r2', [{ decisionId: 'd2', afterMs: 1_000 }]);
    await world.clock.settle();
    const { expireApproval } = world.store;
    let calls = 0;
    world.store.expireApproval = (...args) => {
      calls += 1;
      if (calls === 2) throw new Error('no store');
      return expireApproval.apply(world.store, args);
    };
    await world.clock.advance(1_000);
    expect(world.broughtBack).toEqual(['r1']);
    await world.clock.advance(5_000);

    expect(world.broughtBack).toEqual(['r1', 'r2']);
  });

  it('says which run it could not look at, and goes on with the others', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [{ decisionId: 'd', afterMs: 1_000 }]);
    await world.clock.settle();
    world.refusing.add('getRecord');
    await world.clock.advance(1_000);

    expect(world.broughtBack).toEqual([]);
    expect(world.warnings).toHaveLength(1);
    expect(world.clock.pending).toEqual([]);
  });

  it('does nothing and waits for nothing once it is stopped', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [{ decisionId: 'd', afterMs: 1_000 }]);
    await world.clock.settle();
    world.expiry.stop();
    expect(world.clock.pending).toEqual([]);
    world.expiry.look();
    await world.clock.advance(2_000);

    expect([world.broughtBack, await world.outcome('d')]).toEqual([[], undefined]);
  });

  it('follows the clock of the machine when that is set forward', async () => {
    const world = expiryWorld(newStore()());
    await world.park('r', [{ decisionId: 'd', afterMs: 20 * DAY_MS }]);
    await world.clock.settle();
    const set = 20 * DAY_MS;
    const now = world.clock.now.bind(world.clock);
    world.clock.now = () => now() + set;
    await world.clock.advance(3_600_000);

    expect(world.broughtBack).toEqual(['r']);
  });
});
