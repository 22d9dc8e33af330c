import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AppendPart, Lease, Store } from '../../src/stores/store.ts';
import { acquire, begin, lineOf, park, partOf, step, WRITTEN } from './store-contract-kit.ts';

/**
 * Hazard: a run that is to go on later is worth what is left of it. One that is resumed twice does
 * its work twice; one whose checkpoint is gone too early is lost.
 */
export function parkingContract(name: string, open: () => Promise<Store> | Store): void {
  let store: Store;
  let lease: Lease;

  beforeEach(async () => {
    store = await open();
    lease = await acquire(store, 's');
  });
  afterEach(async () => {
    await store.close();
  });

  const stateOf = async (runId: string) => {
    const run = await store.getRecord(runId);
    return run && { parked: run.parked, automatic: run.automatic, continuedBy: run.continuedBy };
  };
  const resumable = async (query: object = {}) =>
    (await store.listRecords({ resumable: true, limit: 10, ...query })).map(({ runId }) => runId);

  describe(`${name} store: checkpoints`, () => {
    it('replaces the checkpoint of a run with each part that has one', async () => {
      await begin(store, lease, 'r');
      expect(await store.getCheckpoint('r')).toBe('first of r');

      await step(store, lease, { checkpoints: [{ runId: 'r', checkpoint: '{"turn":2}' }] });
      await step(store, lease);

      expect(await store.getCheckpoint('r')).toBe('{"turn":2}');
      expect(await store.getCheckpoint('nobody')).toBeUndefined();
    });

    it('writes checkpoints with the lines of a part, or neither', async () => {
      const checkpoints = [{ runId: 'r', checkpoint: '{}' }];
      await store.append([{ ...partOf(lease, 7, 1), checkpoints }]);
      expect(await store.getCheckpoint('r')).toBeUndefined();

      await store.release([lease]);
      expect(await step(store, lease, { checkpoints })).toEqual({ status: 'fenced' });
      expect(await store.getCheckpoint('r')).toBeUndefined();
    });

    it('deletes the checkpoint of a run that ends, that of the same part included', async () => {
      await begin(store, lease, 'r');
      await begin(store, lease, 'other');

      const checkpoints = [{ runId: 'r', checkpoint: 'late' }];
      await step(store, lease, { checkpoints, terminal: { runId: 'r' } });

      expect(await store.getCheckpoint('r')).toBeUndefined();
      expect(await store.getCheckpoint('other')).toBe('first of other');
    });

    it('keeps the checkpoint of the end of a run that parks', async () => {
      await begin(store, lease, 'r');
      const checkpoints = [{ runId: 'r', checkpoint: 'of the same part' }];
      const parked = { checkpoint: 'last of r', automatic: false, approvals: [] };

      await step(store, lease, { checkpoints, terminal: { runId: 'r', parked } });

      expect(await store.getCheckpoint('r')).toBe('last of r');
    });

    it('changes no checkpoint of a run that has been settled', async () => {
      await begin(store, lease, 'ended');
      await step(store, lease, { terminal: { runId: 'ended' } });
      await park(store, lease, 'parked');

      const checkpoints = ['ended', 'parked'].map((runId) => ({ runId, checkpoint: 'late' }));
      expect(await step(store, lease, { checkpoints })).toEqual(WRITTEN);

      expect(await store.getCheckpoint('ended')).toBeUndefined();
      expect(await store.getCheckpoint('parked')).toBe('last of parked');
    });
  });

  describe(`${name} store: parking`, () => {
    it('marks the run as parked, and whether it is resumed without being asked for', async () => {
      await begin(store, lease, 'r1');
      await park(store, lease, 'r1');
      await park(store, lease, 'r2', { automatic: true });
      await step(store, lease, { terminal: { runId: 'r3' } });

      expect(await stateOf('r1')).toEqual({
        parked: true,
        automatic: false,
        continuedBy: undefined,
      });
      expect(await stateOf('r2')).toMatchObject({ parked: true, automatic: true });
      expect(await stateOf('r3')).toMatchObject({ parked: false, automatic: false });
    });

    it('writes nothing of a parked end that came second (INV-45)', async () => {
      await begin(store, lease, 'r');
      await step(store, lease, { terminal: { runId: 'r', transcript: 'first', log: 'first' } });
      const approvals = [{ decisionId: 'd', record: '{}', expiresAt: 1 }];
      const parked = { checkpoint: 'late', automatic: true, approvals };

      const outcome = await step(store, lease, {
        terminal: { runId: 'r', parked, transcript: 'late', log: 'late' },
      });

      expect(outcome).toEqual({ status: 'lost', settledSeq: 3 });
      expect(await stateOf('r')).toMatchObject({ parked: false, automatic: false });
      expect(await store.getCheckpoint('r')).toBeUndefined();
      expect(await store.getApproval('d')).toBeUndefined();
      expect(await store.getTranscript('s')).toBe('first');
      expect(await store.getLog('r')).toBe('first');
    });

    it('does not unpark a run whose end comes a second time', async () => {
      await park(store, lease, 'r', { automatic: true });

      await step(store, lease, { terminal: { runId: 'r' } });

      expect(await stateOf('r')).toMatchObject({ parked: true, automatic: true });
      expect(await store.getCheckpoint('r')).toBe('last of r');
    });

    it('keeps a run parked when its record is replaced', async () => {
      await park(store, lease, 'r', { automatic: true });

      await store.putRecord({ runId: 'r', sessionId: 's', record: '{"v":2}' }, lease);

      expect(await store.getRecord('r')).toMatchObject({ record: '{"v":2}', settledSeq: 2 });
      expect(await stateOf('r')).toMatchObject({ parked: true, automatic: true });
    });

    it('lists the parked runs that nobody goes on with, newest first', async () => {
      const other = await acquire(store, 'other');
      for (const runId of ['r1', 'r3', 'r5']) await park(store, lease, runId);
      await park(store, other, 'r4');
      await step(store, lease, { terminal: { runId: 'r2' } });
      await begin(store, lease, 'r6', { continues: { runId: 'r3', by: 'r6' } });

      expect(await resumable()).toEqual(['r5', 'r4', 'r1']);
      expect(await resumable({ limit: 1 })).toEqual(['r5']);
      expect(await resumable({ before: 'r5' })).toEqual(['r4', 'r1']);
      expect(await resumable({ sessionId: 's' })).toEqual(['r5', 'r1']);
      expect(await resumable({ realm: '', before: 'r4' })).toEqual(['r1']);
      expect(await resumable({ realm: 'acme\u001f' })).toEqual([]);
    });
  });

  describe(`${name} store: going on with a parked run`, () => {
    const resume = (by: string, runId = 'r'): Pick<AppendPart, 'continues'> => ({
      continues: { runId, by },
    });

    it('lets exactly one run go on with a parked one', async () => {
      await park(store, lease, 'r', { automatic: true });

      expect(await begin(store, lease, 'n1', resume('n1'))).toEqual(WRITTEN);
      expect(await begin(store, lease, 'n2', resume('n2'))).toEqual({ status: 'taken', by: 'n1' });
      expect(await begin(store, lease, 'n1', resume('n1'))).toEqual({ status: 'taken', by: 'n1' });

      expect(await stateOf('r')).toEqual({ parked: true, automatic: true, continuedBy: 'n1' });
      expect(await store.getRecord('n2')).toBeUndefined();
    });

    it('takes no run for parked that lives, has ended or is unknown', async () => {
      await begin(store, lease, 'live');
      await step(store, lease, { terminal: { runId: 'ended' } });

      for (const runId of ['live', 'ended', 'nobody']) {
        expect(await begin(store, lease, 'n', resume('n', runId))).toEqual({
          status: 'taken',
          by: undefined,
        });
      }
      expect(await stateOf('live')).toMatchObject({ continuedBy: undefined });
    });

    it('writes nothing of a part that is taken, and every other part of its group', async () => {
      const other = await acquire(store, 'other');
      await park(store, lease, 'r');
      await begin(store, lease, 'n1', resume('n1'));
      const head = await store.head('s');
      const startKey = { key: 'k', digest: 'd' };
      const parked = { checkpoint: '{}', automatic: true, approvals: [] };
      const late: AppendPart = {
        ...partOf(lease, head + 1, 1),
        ...resume('n2'),
        records: [{ runId: 'n2', record: '{}', startKey }],
        checkpoints: [{ runId: 'n1', checkpoint: 'not of n1' }],
        terminal: { runId: 'n1', line: lineOf(head + 2), transcript: 't', log: 'l', parked },
      };

      expect(await store.append([late, partOf(other, 1, 2)])).toEqual([
        { status: 'taken', by: 'n1' },
        WRITTEN,
      ]);

      expect(await store.head('s')).toBe(head);
      expect(await store.head('other')).toBe(2);
      expect(await store.getRecord('n2')).toBeUndefined();
      expect(await store.getStart('k')).toBeUndefined();
      expect(await store.getCheckpoint('n1')).toBe('first of n1');
      expect(await store.getRecord('n1')).toMatchObject({ settledSeq: undefined, parked: false });
      expect(await store.getLog('n1')).toBeUndefined();
      expect(await store.getTranscript('s')).toBeUndefined();
    });

    it('does not go on with a run for a part that is refused for another reason', async () => {
      await park(store, lease, 'r');
      const head = await store.head('s');

      expect(await store.append([{ ...partOf(lease, head + 2, 1), ...resume('n') }])).toEqual([
        { status: 'conflict', head },
      ]);
      await store.release([lease]);
      expect(await begin(store, lease, 'n', resume('n'))).toEqual({ status: 'fenced' });

      expect(await resumable()).toEqual(['r']);
    });

    it('keeps the checkpoint until the run that goes on has its own', async () => {
      for (const runId of ['r', 'q']) await park(store, lease, runId);

      await begin(store, lease, 'n', { ...resume('n'), checkpoints: [] });
      await begin(store, lease, 'm', resume('m', 'q'));

      expect(await store.getCheckpoint('r')).toBe('last of r');
      expect(await store.getCheckpoint('q')).toBeUndefined();
      expect(await store.getCheckpoint('m')).toBe('first of m');
    });

    it('goes on and on', async () => {
      await park(store, lease, 'r1');
      await begin(store, lease, 'r2', resume('r2', 'r1'));
      await park(store, lease, 'r2');

      expect(await begin(store, lease, 'r3', resume('r3', 'r2'))).toEqual(WRITTEN);
      expect(await resumable()).toEqual([]);
    });
  });
}
