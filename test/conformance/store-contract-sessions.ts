import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease, Store } from '../../src/stores/store.ts';
import {
  acquire,
  begin,
  lineOf,
  NOW,
  park,
  partOf,
  step,
  TTL_MS,
  WRITTEN,
} from './store-contract-kit.ts';

/** Two realms, one that begins like the other, and an id that has a realm's name without its end. */
const ACME = 'acme\u001f';
const ACME_CORP = 'acme corp\u001f';

/** What the store keeps of sessions and of runs by other names than their ids. */
export function sessionsContract(name: string, open: () => Promise<Store> | Store): void {
  let store: Store;
  let lease: Lease;

  beforeEach(async () => {
    store = await open();
    lease = await acquire(store, 's');
  });
  afterEach(async () => {
    await store.close();
  });

  /** One session for each id, each with a run whose id is `r` and its place in the list. */
  async function sessionsOf(...ids: readonly string[]): Promise<void> {
    for (const [at, id] of ids.entries()) {
      await begin(store, await acquire(store, id), `r${at + 1}`);
    }
  }

  describe(`${name} store: sessions`, () => {
    const ids = async (query: object = {}) =>
      (await store.listSessions({ limit: 10, ...query })).map(({ sessionId }) => sessionId);

    it('has a session from its first run on, with its first and its newest run', async () => {
      expect(await store.getSession('s')).toBeUndefined();
      await step(store, lease);
      expect(await store.getSession('s')).toBeUndefined();

      await begin(store, lease, 'r2');
      await begin(store, lease, 'r3');
      await begin(store, lease, 'r1');
      await step(store, lease, { records: [{ runId: 'r2', record: '{"v":2}' }] });
      await step(store, lease, { terminal: { runId: 'r3' } });

      expect(await store.getSession('s')).toEqual({
        sessionId: 's',
        firstRunId: 'r1',
        lastRunId: 'r3',
        runs: 3,
      });
    });

    it('counts a run however it became known, and once', async () => {
      await step(store, lease, { terminal: { runId: 'r1' } });
      await store.putRecord({ runId: 'r2', sessionId: 's', record: '{}' }, lease);
      await store.putRecord({ runId: 'r2', sessionId: 's', record: '{"v":2}' }, lease);
      await step(store, lease, { terminal: { runId: 'r2' } });
      await step(store, lease, { terminal: { runId: 'r2' } });

      expect(await store.getSession('s')).toMatchObject({ lastRunId: 'r2', runs: 2 });
    });

    it('lists the session whose newest run is the greatest first, by page', async () => {
      await sessionsOf('a', 'b', 'c');
      await begin(store, await acquire(store, 'a'), 'r4');

      expect(await ids()).toEqual(['a', 'c', 'b']);
      expect(await ids({ limit: 2 })).toEqual(['a', 'c']);
      expect(await ids({ before: 'r4' })).toEqual(['c', 'b']);
      expect(await ids({ before: 'r2' })).toEqual([]);
    });

    it('lists them the other way round too', async () => {
      await sessionsOf('a', 'b', 'c', 'd');

      expect(await ids({ after: '' })).toEqual(['a', 'b', 'c', 'd']);
      expect(await ids({ after: 'r1', limit: 2 })).toEqual(['b', 'c']);
      expect(await ids({ after: 'r1', before: 'r3' })).toEqual(['b']);
      expect(await ids({ after: 'r4' })).toEqual([]);
    });

    it('finds the sessions and the runs of a realm, and no others', async () => {
      await sessionsOf(`${ACME}1`, 'acme', `${ACME_CORP}1`, `${ACME}2\u001fb`, 'b', `x${ACME}1`);
      const runs = async (query: object) =>
        (await store.listRecords({ limit: 10, ...query })).map(({ runId }) => runId);

      expect(await ids({ realm: ACME })).toEqual([`${ACME}2\u001fb`, `${ACME}1`]);
      expect(await ids({ realm: ACME, before: 'r4' })).toEqual([`${ACME}1`]);
      expect(await ids({ realm: ACME, after: '' })).toEqual([`${ACME}1`, `${ACME}2\u001fb`]);
      expect(await ids({ realm: '' })).toEqual(['b', 'acme']);
      expect(await ids({ realm: '', before: 'r5' })).toEqual(['acme']);
      expect(await ids({ realm: '', after: 'r2' })).toEqual(['b']);
      expect(await ids()).toHaveLength(6);

      expect(await runs({ realm: ACME })).toEqual(['r4', 'r1']);
      expect(await runs({ realm: ACME, before: 'r4' })).toEqual(['r1']);
      expect(await runs({ realm: ACME_CORP, unsettled: true })).toEqual(['r3']);
      expect(await runs({ realm: '' })).toEqual(['r5', 'r2']);
      expect(await runs({ realm: '', limit: 1 })).toEqual(['r5']);
      expect(await runs({ realm: '', before: 'r5' })).toEqual(['r2']);
      expect(await runs({ realm: '', unsettled: true })).toEqual(['r5', 'r2']);
      expect(await runs({ realm: ACME, sessionId: `${ACME}1` })).toEqual(['r1']);
      for (const realm of [ACME, '']) {
        expect(await runs({ realm, sessionId: `x${ACME}1` })).toEqual([]);
      }
      expect(await runs({ realm: ACME, sessionId: 'acme' })).toEqual([]);
      expect(await runs({})).toHaveLength(6);
    });

    it('takes what is no realm for one without sessions', async () => {
      await sessionsOf(`${ACME}1`, 'acme', `${ACME}2\u001fb`);

      for (const realm of ['acme', 'a', 'acme%', `${ACME}2`, `${ACME}2\u001f`, '\u001f']) {
        expect(await ids({ realm })).toEqual([]);
        expect(await store.listRecords({ limit: 10, realm })).toEqual([]);
        expect(await store.totalBytes(realm)).toBe(0);
      }
    });

    it('finds a session of a realm at its newest run, and not any more once it is forgotten', async () => {
      await sessionsOf(`${ACME}1`, 'b', `${ACME}2`, 'c');
      await begin(store, await acquire(store, `${ACME}1`), 'r5');
      const end = { terminal: { runId: 'r4' } };
      const leaseOfC = await acquire(store, 'c');
      await step(store, leaseOfC, end);

      expect(await ids({ realm: ACME })).toEqual([`${ACME}1`, `${ACME}2`]);
      expect(await ids({ realm: ACME, before: 'r5' })).toEqual([`${ACME}2`]);

      await store.forgetRuns('s', 10);
      await store.trim('c', await store.head('c'));
      expect(await ids({ realm: '' })).toEqual(['b']);
    });

    it('keeps the transcript and the log that the last end brought', async () => {
      const end = (runId: string, texts: object) =>
        step(store, lease, { terminal: { runId, ...texts } });

      await end('r1', { transcript: 'one', log: 'log of r1' });
      await end('r2', { transcript: 'two' });
      await end('r3', { log: 'log of r3' });

      expect(await store.getTranscript('s')).toBe('two');
      expect(await store.getTranscript('nobody')).toBeUndefined();
      expect(await store.getLog('r1')).toBe('log of r1');
      expect(await store.getLog('r2')).toBeUndefined();
      expect(await store.getLog('r3')).toBe('log of r3');
    });
  });

  describe(`${name} store: start keys`, () => {
    const start = (runId: string, key: string, digest = `digest of ${runId}`) =>
      step(store, lease, { records: [{ runId, record: '{}', startKey: { key, digest } }] });

    it('finds the run that was started under a key', async () => {
      await start('r', 'k');

      expect(await store.getStart('k')).toEqual({ runId: 'r', digest: 'digest of r' });
      expect(await store.getStart('other')).toBeUndefined();
    });

    it('keeps the first run under a key, and writes the second all the same', async () => {
      await start('r1', 'k');

      expect(await start('r2', 'k')).toEqual(WRITTEN);
      expect(await start('r1', 'k', 'another')).toEqual(WRITTEN);

      expect(await store.getStart('k')).toEqual({ runId: 'r1', digest: 'digest of r1' });
      expect(await store.getRecord('r2')).toBeDefined();
    });

    it('is taken by no part that is refused', async () => {
      const records = [{ runId: 'r', record: '{}', startKey: { key: 'k', digest: 'd' } }];

      await store.append([{ ...partOf(lease, 5, 1), records }]);

      expect(await store.getStart('k')).toBeUndefined();
    });
  });

  describe(`${name} store: sizes`, () => {
    const sizeOf = (...lines: readonly string[]) => lines.join('').length;

    it('counts the characters of entries, and not those that were trimmed', async () => {
      await store.append([partOf(lease, 1, 2)]);
      await store.append([partOf(lease, 3, 1)]);
      await step(store, lease, { terminal: { runId: 'r' } });

      const rest = [lineOf(4), lineOf(5, 'end')];
      expect(await store.bytes('s')).toBe(sizeOf(lineOf(1), lineOf(2), lineOf(3), ...rest));
      expect(await store.totalBytes()).toBe(await store.bytes('s'));

      const floor = await store.trim('s', 3);
      expect(floor).toBe(3);
      expect(await store.bytes('s')).toBe(sizeOf(...rest));
      expect(await store.totalBytes()).toBe(sizeOf(...rest));

      await store.trim('s', 5);
      expect(await store.bytes('s')).toBe(0);
      expect(await store.totalBytes()).toBe(0);
    });

    it('counts what is written after a trim', async () => {
      for (const _ of [1, 2, 3]) await step(store, lease);
      await store.trim('s', 2);
      await store.append([{ lease, firstSeq: 4, count: 2, body: `"ä€😀"\n{}` }]);

      expect(await store.bytes('s')).toBe(sizeOf(lineOf(3), '"ä€😀"', '{}'));
    });

    it('counts no entry that was refused, nor the line of an end that came second', async () => {
      await store.append([partOf(lease, 9, 1)]);
      await step(store, lease, { terminal: { runId: 'r' } });
      const before = await store.bytes('s');
      await step(store, lease, { terminal: { runId: 'r' } });

      expect(await store.bytes('s')).toBe(before + sizeOf(lineOf(3)));
      expect(await store.bytes('nobody')).toBe(0);
    });

    it('adds up the sessions of a realm', async () => {
      const sessions = [`${ACME}1`, `${ACME}2`, `${ACME_CORP}1`, 'acme'];
      for (const id of sessions) await store.append([partOf(await acquire(store, id), 1, 3)]);
      await store.trim(`${ACME}2`, 3);
      const one = sizeOf(lineOf(1), lineOf(2), lineOf(3));

      expect(await store.totalBytes(ACME)).toBe(one);
      expect(await store.totalBytes(ACME_CORP)).toBe(one);
      expect(await store.totalBytes('')).toBe(one);
      expect(await store.totalBytes('nobody\u001f')).toBe(0);
      expect(await store.totalBytes()).toBe(3 * one);

      await store.trim('acme', 3);
      expect(await store.totalBytes('')).toBe(0);
      expect(await store.totalBytes(ACME)).toBe(one);
    });
  });

  describe(`${name} store: forgetting runs`, () => {
    const runIds = async () => (await store.listRecords({ limit: 20 })).map(({ runId }) => runId);

    it('forgets settled runs below an id, the smallest first and not too many', async () => {
      for (const runId of ['r1', 'r2', 'r3', 'r4', 'r5']) {
        await step(store, lease, { terminal: { runId } });
      }

      expect(await store.forgetRuns('r5', 3)).toBe(3);
      expect(await runIds()).toEqual(['r5', 'r4']);
      expect(await store.forgetRuns('r5', 3)).toBe(1);
      expect(await store.forgetRuns('r5', 3)).toBe(0);
      expect(await runIds()).toEqual(['r5']);
    });

    it('forgets no run that lives, and none that waits for a resume', async () => {
      await begin(store, lease, 'r1');
      await park(store, lease, 'r2', { decisionIds: ['d2'] });
      await park(store, lease, 'r3', { decisionIds: ['d3'] });
      await begin(store, lease, 'r4', { continues: { runId: 'r3', by: 'r4' } });

      expect(await store.forgetRuns('s', 1)).toBe(1);
      expect(await store.forgetRuns('s', 10)).toBe(0);

      expect(await runIds()).toEqual(['r4', 'r2', 'r1']);
      expect(await store.getCheckpoint('r2')).toBe('last of r2');
      expect(await store.getApproval('d2')).toBeDefined();
      expect(await store.getApproval('d3')).toBeUndefined();
    });

    it('takes along what belonged to the run, and nothing of others', async () => {
      for (const runId of ['r1', 'r2']) {
        const startKey = { key: `key of ${runId}`, digest: 'd' };
        await step(store, lease, { records: [{ runId, record: '{}', startKey }] });
        await step(store, lease, { terminal: { runId, log: `log of ${runId}` } });
      }
      await park(store, lease, 'r0');
      await begin(store, lease, 'r3', { continues: { runId: 'r0', by: 'r3' }, checkpoints: [] });

      expect(await store.forgetRuns('r2', 10)).toBe(2);

      expect(await store.getLog('r1')).toBeUndefined();
      expect(await store.getStart('key of r1')).toBeUndefined();
      expect(await store.getCheckpoint('r0')).toBeUndefined();
      expect(await store.getLog('r2')).toBe('log of r2');
      expect(await store.getStart('key of r2')).toMatchObject({ runId: 'r2' });
      expect(await store.getSession('s')).toMatchObject({ firstRunId: 'r0', runs: 4 });
    });

    it('forgets a session that has neither runs nor entries', async () => {
      await step(store, lease, { terminal: { runId: 'r1', transcript: 't' } });
      const other = await acquire(store, 'other');
      await step(store, other, { terminal: { runId: 'r2', transcript: 'o' } });

      await store.trim('s', 2);
      expect(await store.getTranscript('s')).toBe('t');
      await store.forgetRuns('r9', 10);

      expect(await store.getSession('s')).toBeUndefined();
      expect(await store.getTranscript('s')).toBeUndefined();
      expect(await store.listSessions({ limit: 9 })).toMatchObject([{ sessionId: 'other' }]);
      expect(await store.getTranscript('other')).toBe('o');
    });

    it('forgets a session that loses its entries after its runs', async () => {
      await step(store, lease, { terminal: { runId: 'r1', transcript: 't' } });
      await store.forgetRuns('r9', 10);
      expect(await store.getSession('s')).toMatchObject({ lastRunId: 'r1', runs: 1 });

      await store.trim('s', 2);

      expect(await store.getSession('s')).toBeUndefined();
      expect(await store.getTranscript('s')).toBeUndefined();
    });

    it('goes on counting in a session that was forgotten', async () => {
      await step(store, lease, { terminal: { runId: 'r1' } });
      await store.trim('s', 2);
      await store.forgetRuns('r9', 10);

      expect(await begin(store, lease, 'r2')).toEqual(WRITTEN);
      expect(await store.head('s')).toBe(3);
      expect(await store.getSession('s')).toMatchObject({ firstRunId: 'r2', runs: 1 });
      const later = await acquire(store, 's', 'other', NOW + TTL_MS);
      expect(later.generation).toBeGreaterThan(lease.generation);
    });
  });
}
