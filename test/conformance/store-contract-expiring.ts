import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease, Store } from '../../src/stores/store.ts';
import { acquire, begin, NOW, park, step } from './store-contract-kit.ts';

/**
 * Hazard: several processes see that an approval expires, at the moment at which a person decides it or
 * somebody goes on with its run. One of them is told that it closed it, and whoever decided is not overruled.
 */
export function expiringContract(name: string, open: () => Promise<Store> | Store): void {
  let store: Store;
  let lease: Lease;

  beforeEach(async () => {
    store = await open();
    lease = await acquire(store, 's');
  });
  afterEach(async () => {
    await store.close();
  });

  const parkUntil = (runId: string, ends: Record<string, number>, of = lease) => {
    const approvals = Object.entries(ends).map(([decisionId, expiresAt]) => ({
      decisionId,
      expiresAt,
      record: `"${decisionId}"`,
    }));
    const parked = { checkpoint: '{}', automatic: true, approvals };
    return step(store, of, { terminal: { runId, parked } });
  };
  const ids = async (limit = 10) =>
    (await store.listExpiring(limit)).map(({ decisionId }) => decisionId);

  describe(`${name} store: approvals that expire`, () => {
    it('lists them over all realms, the one that expires first first', async () => {
      const acme = await acquire(store, 'acme\u001f1');
      await parkUntil('r1', { d1: NOW + 5, d4: Number.POSITIVE_INFINITY, d5: 9 });
      await parkUntil('r2', { d3: NOW + 5, d2: NOW - 5 }, acme);

      expect(await ids()).toEqual(['d5', 'd2', 'd1', 'd3', 'd4']);
      expect(await ids(2)).toEqual(['d5', 'd2']);
      expect(await store.listExpiring(1)).toEqual([
        {
          decisionId: 'd5',
          runId: 'r1',
          sessionId: 's',
          record: '"d5"',
          expiresAt: 9,
          outcome: undefined,
        },
      ]);
    });

    it('lists none that was decided, nor any of a run that is discarded or gone on with', async () => {
      await parkUntil('r1', { d1: NOW, d2: NOW + 1 });
      await parkUntil('r2', { d3: NOW });
      await parkUntil('r3', { d4: NOW });
      await store.decideApproval('d2', '"denied"', NOW);
      await store.discard('r2');
      await begin(store, lease, 'r4', { continues: { runId: 'r3', by: 'r4' } });

      expect(await ids()).toEqual(['d1']);
    });

    it('lists one again that a run of the chain parks with, by its own expiry', async () => {
      await parkUntil('r1', { d1: NOW + 9, d2: NOW + 5 });
      await begin(store, lease, 'r2', { continues: { runId: 'r1', by: 'r2' } });
      await parkUntil('r2', { d1: NOW + 2 });

      expect(await store.listExpiring(9)).toMatchObject([{ decisionId: 'd1', runId: 'r2' }]);
      expect(await store.expireApproval('d2', '"out"', NOW + 5)).toBe(false);
    });

    it('closes one that has expired, once', async () => {
      await parkUntil('r', { d: NOW });

      expect(await store.expireApproval('d', '"out"', NOW - 1)).toBe(false);
      expect(await store.getApproval('d')).toMatchObject({ outcome: undefined });
      expect(await store.expireApproval('d', '"out"', NOW)).toBe(true);
      expect(await store.expireApproval('d', '"again"', NOW + 1)).toBe(false);

      expect(await store.getApproval('d')).toMatchObject({ outcome: '"out"' });
      expect(await ids()).toEqual([]);
      expect(await store.decideApproval('d', '"approved"', NOW - 1)).toMatchObject({ won: false });
    });

    it('closes none that was decided in time, is gone on with, discarded or unknown', async () => {
      await parkUntil('r1', { d1: NOW });
      await parkUntil('r2', { d2: NOW });
      await parkUntil('r3', { d3: NOW });
      await store.decideApproval('d1', '"approved"', NOW - 1);
      await begin(store, lease, 'r4', { continues: { runId: 'r2', by: 'r4' } });
      await store.discard('r3');

      for (const id of ['d1', 'd2', 'd3', 'd4']) {
        expect(await store.expireApproval(id, '"out"', NOW)).toBe(false);
      }
      expect(await store.getApproval('d1')).toMatchObject({ outcome: '"approved"' });
      expect(await store.getApproval('d2')).toBeUndefined();
    });

    it('closes one of a run and no other, and lists the rest', async () => {
      await park(store, lease, 'r', { decisionIds: ['d1', 'd2'] });

      expect(await store.expireApproval('d1', '"out"', NOW + 1_000)).toBe(true);

      expect(await ids()).toEqual(['d2']);
      expect(await store.listApprovals({ runId: 'r', limit: 9 })).toMatchObject([
        { decisionId: 'd2', outcome: undefined },
        { decisionId: 'd1', outcome: '"out"' },
      ]);
    });

    it('forgets them with their run', async () => {
      await park(store, lease, 'r', { decisionIds: ['d'] });
      await begin(store, lease, 'n', { continues: { runId: 'r', by: 'n' } });
      await store.forgetRuns('s', 9);

      expect(await ids()).toEqual([]);
      expect(await store.expireApproval('d', '"out"', NOW + 1_000)).toBe(false);
    });
  });
}
