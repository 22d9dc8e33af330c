import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease, Store } from '../../src/stores/store.ts';
import { acquire, begin, NOW, park, step, WRITTEN } from './store-contract-kit.ts';

/**
 * Hazard: whoever gives a parked run up, decides its approval or goes on with it may do so at the same
 * time as another. A run that was given up and comes back all the same does what nobody wants any more.
 */
export function discardingContract(name: string, open: () => Promise<Store> | Store): void {
  let store: Store;
  let lease: Lease;

  beforeEach(async () => {
    store = await open();
    lease = await acquire(store, 's');
  });
  afterEach(async () => {
    await store.close();
  });

  const parked = (decisionIds: string[] = []) =>
    park(store, lease, 'r', { automatic: true, decisionIds });
  const resume = { continues: { runId: 'r', by: 'n' } };

  describe(`${name} store: discarding a parked run`, () => {
    it('takes it out of those that may be resumed, and keeps what it was', async () => {
      await begin(store, lease, 'r');
      await step(store, lease, { records: [{ runId: 'r', record: '{"v":2}' }] });
      await parked();
      await park(store, lease, 'other');

      expect(await store.discard('r')).toBe(true);

      expect(await store.getRecord('r')).toEqual({
        runId: 'r',
        sessionId: 's',
        record: '{"v":2}',
        settledSeq: 4,
        parked: false,
        automatic: false,
        continuedBy: undefined,
      });
      const resumable = await store.listRecords({ resumable: true, limit: 10 });
      expect(resumable.map(({ runId }) => runId)).toEqual(['other']);
      expect(await store.head('s')).toBe(6);
    });

    it('deletes its checkpoint and the approvals that nobody decided, expired or not', async () => {
      const ends = { d1: NOW + 1_000, d2: 1, d3: NOW + 1_000 };
      const approvals = Object.entries(ends).map(([decisionId, expiresAt]) => ({
        decisionId,
        expiresAt,
        record: '{}',
      }));
      const end = { checkpoint: '{}', automatic: true, approvals };
      await step(store, lease, { terminal: { runId: 'r', parked: end } });
      await park(store, lease, 'other', { decisionIds: ['d4'] });
      await store.decideApproval('d3', '"approved"', NOW);

      await store.discard('r');

      expect(await store.getCheckpoint('r')).toBeUndefined();
      expect(await store.getCheckpoint('other')).toBe('last of other');
      const left = await store.listApprovals({ limit: 10 });
      expect(left.map(({ decisionId }) => decisionId)).toEqual(['d4', 'd3']);
      expect(await store.listApprovals({ runId: 'r', limit: 10 })).toMatchObject([
        { decisionId: 'd3', outcome: '"approved"' },
      ]);
    });

    it('is done once', async () => {
      await parked();

      expect(await store.discard('r')).toBe(true);
      expect(await store.discard('r')).toBe(false);
    });

    it('does nothing to a run that lives, has ended, is gone on with or is unknown', async () => {
      await begin(store, lease, 'live');
      await step(store, lease, { terminal: { runId: 'ended' } });
      await park(store, lease, 'r', { automatic: true, decisionIds: ['d'] });
      await store.decideApproval('d', '"approved"', NOW);
      await begin(store, lease, 'n', { ...resume, checkpoints: [] });
      const before = await store.listRecords({ limit: 10 });

      for (const runId of ['live', 'ended', 'r', 'nobody']) {
        expect(await store.discard(runId)).toBe(false);
      }

      expect(await store.listRecords({ limit: 10 })).toEqual(before);
      expect(await store.getCheckpoint('live')).toBe('first of live');
      expect(await store.getCheckpoint('r')).toBe('last of r');
      expect(await store.getApproval('d')).toMatchObject({ outcome: '"approved"' });
    });

    it('lets no run go on with it, and takes no decision of it any more', async () => {
      await parked(['d']);

      await store.discard('r');

      expect(await begin(store, lease, 'n', resume)).toEqual({ status: 'taken', by: undefined });
      expect(await store.getRecord('n')).toBeUndefined();
      expect(await store.decideApproval('d', '"approved"', NOW)).toBeUndefined();
    });

    it('comes too late for the run that goes on, and for what was decided of it', async () => {
      await parked(['d']);
      await store.decideApproval('d', '"approved"', NOW);

      expect(await begin(store, lease, 'n', resume)).toEqual(WRITTEN);
      expect(await store.discard('r')).toBe(false);

      expect(await store.getRecord('r')).toMatchObject({ parked: true, continuedBy: 'n' });
      expect(await store.getApproval('d')).toMatchObject({ outcome: '"approved"' });
    });

    it.each(['decided', 'discarded'] as const)(
      'of two at a time one wins: %s first',
      async (order) => {
        await parked(['d']);
        const decide = () => store.decideApproval('d', '"approved"', NOW);
        const discard = () => store.discard('r');

        const [decided, isDiscarded] =
          order === 'decided'
            ? await Promise.all([decide(), discard()])
            : (await Promise.all([discard(), decide()])).toReversed();

        expect(isDiscarded).toBe(true);
        expect((decided as { won: boolean } | undefined)?.won).toBe(
          order === 'decided' ? true : undefined,
        );
        expect((await store.getApproval('d'))?.outcome).toBe(
          order === 'decided' ? '"approved"' : undefined,
        );
      },
    );

    it('may be done by a process that does not write the session', async () => {
      await parked();
      await store.release([lease]);
      await acquire(store, 's', 'other');

      expect(await store.discard('r')).toBe(true);
    });

    it('lets the run be forgotten with what is left of it', async () => {
      await parked(['d1', 'd2']);
      await store.decideApproval('d1', '"denied"', NOW);
      await store.discard('r');

      expect(await store.forgetRuns('z', 10)).toBe(1);

      expect(await store.getRecord('r')).toBeUndefined();
      expect(await store.listApprovals({ limit: 10 })).toEqual([]);
    });

    it('keeps an approval that a later run of the chain has taken over', async () => {
      await parked(['d']);
      await begin(store, lease, 'n', resume);
      await park(store, lease, 'n', { decisionIds: ['d'] });

      expect(await store.discard('r')).toBe(false);
      expect(await store.getApproval('d')).toMatchObject({ runId: 'n' });
      expect(await store.discard('n')).toBe(true);
      expect(await store.getApproval('d')).toBeUndefined();
    });
  });
}
