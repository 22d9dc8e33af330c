import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EndedApprovalLine, Lease, Store } from '../../src/stores/store.ts';
import { acquire, approvalLine, begin, NOW, park, step, WRITTEN } from './store-contract-kit.ts';

/**
 * Hazard: an entry tells that somebody decided, and nobody can find who; or the other way round. What is
 * kept of an approval that has ended is stored with the lines of its part, and goes with its run.
 */
export function endedContract(name: string, open: () => Promise<Store> | Store): void {
  let store: Store;
  let lease: Lease;

  beforeEach(async () => {
    store = await open();
    lease = await acquire(store, 's');
  });
  afterEach(async () => {
    await store.close();
  });

  const line = (decisionId: string, runId = 'r', outcome = '"approved"'): EndedApprovalLine => ({
    ...approvalLine(decisionId),
    runId,
    outcome,
  });
  const end = (of: Lease, ...endedApprovals: EndedApprovalLine[]) =>
    step(store, of, { endedApprovals });
  const ids = async (query: object = {}) =>
    (await store.listEnded({ limit: 10, ...query })).map(({ decisionId }) => decisionId);

  describe(`${name} store: approvals that have ended`, () => {
    it('has them as they were written, and not among those of parked runs', async () => {
      await begin(store, lease, 'r');
      expect(await store.getEnded('d')).toBeUndefined();

      await end(lease, {
        ...line('d'),
        record: '{"tool":"a"}',
        expiresAt: Number.POSITIVE_INFINITY,
      });

      const ended = {
        decisionId: 'd',
        runId: 'r',
        sessionId: 's',
        record: '{"tool":"a"}',
        expiresAt: Number.POSITIVE_INFINITY,
        outcome: '"approved"',
      };
      expect(await store.getEnded('d')).toEqual(ended);
      expect(await store.listEnded({ limit: 10 })).toEqual([ended]);
      expect(await store.getApproval('d')).toBeUndefined();
      expect(await store.listApprovals({ limit: 10 })).toEqual([]);
      expect(await store.listExpiring(10)).toEqual([]);
      expect(await store.decideApproval('d', '"denied"', NOW)).toBeUndefined();
    });

    it('keeps the first of two for the same decision', async () => {
      await begin(store, lease, 'r');
      await end(lease, line('d'), line('d', 'r', '"denied"'));
      await end(lease, line('d', 'other', '"cancelled"'));

      expect(await store.getEnded('d')).toMatchObject({ runId: 'r', outcome: '"approved"' });
      expect(await ids()).toEqual(['d']);
      expect(await ids({ runId: 'other' })).toEqual([]);
    });

    it('takes none of a part of which nothing is written', async () => {
      await park(store, lease, 'r');
      await begin(store, lease, 'n', { continues: { runId: 'r', by: 'n' } });
      const stale = { ...lease, generation: lease.generation - 1 };
      const firstSeq = (await store.head('s')) + 1;
      const part = { lease, firstSeq, count: 0, body: '', endedApprovals: [line('d')] };

      expect(
        await store.append([
          { ...part, lease: stale },
          { ...part, firstSeq: firstSeq + 1 },
          { ...part, continues: { runId: 'r', by: 'm' } },
        ]),
      ).toMatchObject([{ status: 'fenced' }, { status: 'conflict' }, { status: 'taken' }]);
      expect(await store.getEnded('d')).toBeUndefined();

      expect(await store.append([part])).toEqual([WRITTEN]);
      expect(await ids()).toEqual(['d']);
    });

    it('has them when the terminal of their part comes too late', async () => {
      await step(store, lease, { terminal: { runId: 'r' } });
      const late = await step(store, lease, {
        terminal: { runId: 'r' },
        endedApprovals: [line('d')],
      });

      expect(late.status).toBe('lost');
      expect(await ids()).toEqual(['d']);
    });

    it('lists them greatest id first, by page, realm and run', async () => {
      const acme = await acquire(store, 'acme\u001f1');
      await end(lease, line('d1', 'r1'), line('d4', 'r1'));
      await end(acme, line('d2', 'r2'), line('d5', 'r2'));
      await end(lease, line('d3', 'r3'));

      expect(await ids()).toEqual(['d5', 'd4', 'd3', 'd2', 'd1']);
      expect(await ids({ limit: 2 })).toEqual(['d5', 'd4']);
      expect(await ids({ before: 'd4', limit: 2 })).toEqual(['d3', 'd2']);
      expect(await ids({ runId: 'r1' })).toEqual(['d4', 'd1']);
      expect(await ids({ runId: 'r1', before: 'd4' })).toEqual(['d1']);
      expect(await ids({ realm: 'acme\u001f' })).toEqual(['d5', 'd2']);
      expect(await ids({ realm: 'acme\u001f', before: 'd5' })).toEqual(['d2']);
      expect(await ids({ realm: '' })).toEqual(['d4', 'd3', 'd1']);
      expect(await ids({ realm: '', limit: 1 })).toEqual(['d4']);
      expect(await ids({ realm: 'acme' })).toEqual([]);
      expect(await ids({ realm: '', runId: 'r2' })).toEqual([]);
      expect(await ids({ realm: '', runId: 'r1' })).toEqual(['d4', 'd1']);
    });

    it('keeps them as long as their run, and no longer', async () => {
      await begin(store, lease, 'r1');
      await end(lease, line('d1', 'r1'), line('d2', 'r1'));
      await begin(store, lease, 'r2');
      await end(lease, line('d3', 'r2'));
      await step(store, lease, { terminal: { runId: 'r1' } });
      expect(await store.forgetRuns('r1', 10)).toBe(0);
      expect(await ids()).toEqual(['d3', 'd2', 'd1']);

      expect(await store.forgetRuns('r9', 10)).toBe(1);

      expect(await ids()).toEqual(['d3']);
      expect(await ids({ realm: '' })).toEqual(['d3']);
      expect(await store.getEnded('d1')).toBeUndefined();
      expect(await store.getEnded('d3')).toMatchObject({ runId: 'r2' });
    });

    it('keeps what nobody decided of a run that is given up, with the outcome it is given', async () => {
      await park(store, lease, 'r', { decisionIds: ['d1', 'd2', 'd3'] });
      await park(store, lease, 'other', { decisionIds: ['d4'] });
      await store.decideApproval('d2', '"approved"', NOW);
      await end(lease, line('d3'));

      expect(await store.discard('r', '"cancelled"')).toBe(true);

      expect(await ids()).toEqual(['d3', 'd1']);
      expect(await store.getEnded('d1')).toEqual({
        decisionId: 'd1',
        runId: 'r',
        sessionId: 's',
        record: '{}',
        expiresAt: NOW + 1_000,
        outcome: '"cancelled"',
      });
      expect(await store.getEnded('d3')).toMatchObject({ outcome: '"approved"' });
      expect(await store.getApproval('d1')).toBeUndefined();
      expect(await store.getApproval('d2')).toMatchObject({ outcome: '"approved"' });
      expect(await store.discard('r', '"again"')).toBe(false);
      expect(await store.forgetRuns('s', 10)).toBe(1);
      expect(await ids()).toEqual([]);
    });

    it('ends none that a run goes on with, and none of a run that is not given up', async () => {
      await park(store, lease, 'r', { decisionIds: ['d1'] });
      await begin(store, lease, 'n', { continues: { runId: 'r', by: 'n' } });
      await park(store, lease, 'n', { decisionIds: ['d1'] });

      expect(await store.discard('r', '"cancelled"')).toBe(false);

      expect(await ids()).toEqual([]);
      expect(await store.getApproval('d1')).toMatchObject({ runId: 'n', outcome: undefined });
    });
  });
}
