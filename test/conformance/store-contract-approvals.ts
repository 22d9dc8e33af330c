import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease, Store } from '../../src/stores/store.ts';
import { acquire, approvalLine, begin, NOW, park, step } from './store-contract-kit.ts';

/** Hazard: two people decide at the same time, one of them after a restart. One decision counts. */
export function approvalsContract(name: string, open: () => Promise<Store> | Store): void {
  let store: Store;
  let lease: Lease;

  beforeEach(async () => {
    store = await open();
    lease = await acquire(store, 's');
  });
  afterEach(async () => {
    await store.close();
  });

  const ids = async (query: object = {}) =>
    (await store.listApprovals({ limit: 10, ...query })).map(({ decisionId }) => decisionId);

  describe(`${name} store: approvals`, () => {
    it('has the approvals of a run from its parking on', async () => {
      await begin(store, lease, 'r');
      expect(await ids()).toEqual([]);

      const approvals = [approvalLine('d1', '{"tool":"a"}'), approvalLine('d2', '{"tool":"b"}')];
      const parked = { checkpoint: '{}', automatic: false, approvals };
      await step(store, lease, { terminal: { runId: 'r', parked } });

      expect(await store.getApproval('d1')).toEqual({
        decisionId: 'd1',
        runId: 'r',
        sessionId: 's',
        record: '{"tool":"a"}',
        expiresAt: NOW + 1_000,
        outcome: undefined,
      });
      expect(await store.listApprovals({ limit: 1 })).toEqual([await store.getApproval('d2')]);
      expect(await store.getApproval('d3')).toBeUndefined();
    });

    it('takes the first decision and answers every later one with it', async () => {
      await park(store, lease, 'r', { decisionIds: ['d'] });

      expect(await store.decideApproval('d', '"approved"', NOW)).toMatchObject({
        won: true,
        approval: { decisionId: 'd', outcome: '"approved"' },
      });
      for (const outcome of ['"denied"', '"approved"']) {
        expect(await store.decideApproval('d', outcome, NOW)).toMatchObject({
          won: false,
          approval: { outcome: '"approved"' },
        });
      }
      expect(await store.getApproval('d')).toMatchObject({ outcome: '"approved"' });
    });

    it('takes no decision at the time it expires or after', async () => {
      await park(store, lease, 'r', { decisionIds: ['d'] });

      for (const now of [NOW + 1_000, NOW + 9_000]) {
        expect(await store.decideApproval('d', '"approved"', now)).toMatchObject({
          won: false,
          approval: { outcome: undefined },
        });
      }
      expect(await store.decideApproval('d', '"denied"', NOW + 999)).toMatchObject({ won: true });
    });

    it('takes a decision at any time on one that never expires', async () => {
      const approvals = [{ ...approvalLine('d'), expiresAt: Number.POSITIVE_INFINITY }];
      const parked = { checkpoint: '{}', automatic: false, approvals };
      await step(store, lease, { terminal: { runId: 'r', parked } });

      expect(await store.getApproval('d')).toMatchObject({ expiresAt: Number.POSITIVE_INFINITY });
      expect(await store.decideApproval('d', '{}', 9 * NOW)).toMatchObject({ won: true });
    });

    it('knows of no decision that nobody asked for', async () => {
      expect(await store.decideApproval('d', '"approved"', NOW)).toBeUndefined();
      expect(await store.getApproval('d')).toBeUndefined();
    });

    it('decides one approval and no other', async () => {
      await park(store, lease, 'r', { decisionIds: ['d1', 'd2'] });

      await store.decideApproval('d1', '"approved"', NOW);

      expect(await store.getApproval('d2')).toMatchObject({ outcome: undefined });
    });

    it('gives an approval to the run that parks with it next, as it was decided', async () => {
      await park(store, lease, 'r1', { decisionIds: ['d1', 'd2'] });
      await store.decideApproval('d1', '"approved"', NOW);
      await begin(store, lease, 'r2', { continues: { runId: 'r1', by: 'r2' } });
      await park(store, lease, 'r2', { decisionIds: ['d1', 'd2', 'd3'] });

      expect(await ids({ runId: 'r1' })).toEqual([]);
      expect(await ids({ runId: 'r2' })).toEqual(['d3', 'd2', 'd1']);
      expect(await store.getApproval('d1')).toMatchObject({ runId: 'r2', outcome: '"approved"' });

      await store.forgetRuns('r2', 10);
      expect(await ids()).toEqual(['d3', 'd2', 'd1']);
    });

    it('lets go of what nobody decided when a run goes on with it, and keeps the rest', async () => {
      await park(store, lease, 'r1', { decisionIds: ['d1', 'd2'] });
      await store.decideApproval('d1', '"approved"', NOW);
      await begin(store, lease, 'r2', { continues: { runId: 'r1', by: 'r2' } });

      expect(await ids()).toEqual(['d1']);
      expect(await store.decideApproval('d2', '"approved"', NOW)).toBeUndefined();
      expect(await store.decideApproval('d1', '"denied"', NOW)).toMatchObject({
        won: false,
        approval: { outcome: '"approved"' },
      });
    });

    it('lists them greatest id first, by page, realm, run and whether they wait', async () => {
      const acme = await acquire(store, 'acme\u001f1');
      await park(store, lease, 'r1', { decisionIds: ['d1', 'd4'] });
      await park(store, acme, 'r2', { decisionIds: ['d2', 'd5'] });
      await park(store, lease, 'r3', { decisionIds: ['d3'] });
      await store.decideApproval('d4', '"denied"', NOW);

      expect(await ids()).toEqual(['d5', 'd4', 'd3', 'd2', 'd1']);
      expect(await ids({ limit: 2 })).toEqual(['d5', 'd4']);
      expect(await ids({ before: 'd4', limit: 2 })).toEqual(['d3', 'd2']);
      expect(await ids({ runId: 'r1' })).toEqual(['d4', 'd1']);
      expect(await ids({ realm: 'acme\u001f' })).toEqual(['d5', 'd2']);
      expect(await ids({ realm: 'acme\u001f', before: 'd5' })).toEqual(['d2']);
      expect(await ids({ realm: '' })).toEqual(['d4', 'd3', 'd1']);
      expect(await ids({ realm: '', limit: 1 })).toEqual(['d4']);
      expect(await ids({ realm: 's' })).toEqual([]);
      expect(await ids({ realm: 'acme\u001f', runId: 'r1' })).toEqual([]);
      expect(await ids({ realm: '', runId: 'r2' })).toEqual([]);
      expect(await ids({ realm: '', runId: 'r1' })).toEqual(['d4', 'd1']);
      expect(await ids({ pendingAt: NOW })).toEqual(['d5', 'd3', 'd2', 'd1']);
      expect(await ids({ pendingAt: NOW, realm: '' })).toEqual(['d3', 'd1']);
      expect(await ids({ pendingAt: NOW, realm: '', before: 'd3' })).toEqual(['d1']);
      expect(await ids({ pendingAt: NOW, realm: 'acme\u001f' })).toEqual(['d5', 'd2']);
      expect(await ids({ pendingAt: NOW, runId: 'r1' })).toEqual(['d1']);
      expect(await ids({ pendingAt: NOW + 999 })).toHaveLength(4);
      expect(await ids({ pendingAt: NOW + 1_000 })).toEqual([]);
    });
  });
}
