import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Grant, Lease, Store } from '../../src/stores/store.ts';
import { acquire, begin, NOW, park, step } from './store-contract-kit.ts';

/**
 * Hazard: a grant lets tools run that nobody is asked about. One that outlives its session, or covers
 * another one, is a hole that nobody sees.
 */
export function grantsContract(name: string, open: () => Promise<Store> | Store): void {
  let store: Store;
  let lease: Lease;

  beforeEach(async () => {
    store = await open();
    lease = await acquire(store, 's');
  });
  afterEach(async () => {
    await store.close();
  });

  const grant = (change: Partial<Grant> = {}): Grant => ({
    sessionId: 's',
    agent: 'a',
    toolName: 'write',
    matchedPattern: 'w*',
    decisionId: 'd1',
    at: NOW,
    ...change,
  });
  const all = async (sessionId = 's') =>
    [...(await store.listGrants(sessionId))].sort((a, b) => (a.decisionId < b.decisionId ? -1 : 1));

  describe(`${name} store: grants`, () => {
    it('keeps them by session', async () => {
      const other = await acquire(store, 't');
      await begin(store, lease, 'r');
      await begin(store, other, 'q');
      await store.putGrant(grant());
      await store.putGrant(grant({ sessionId: 't', decisionId: 'd2', at: NOW + 1 }));

      expect(await all()).toEqual([grant()]);
      expect(await all('t')).toEqual([grant({ sessionId: 't', decisionId: 'd2', at: NOW + 1 })]);
      expect(await all('nobody')).toEqual([]);
    });

    it('keeps the first of two for the same agent, tool and pattern, and each that differs', async () => {
      await begin(store, lease, 'r');
      const others = [{ agent: 'b' }, { toolName: 'wipe' }, { matchedPattern: '*' }].map(
        (change, at) => grant({ ...change, decisionId: `d${at + 3}` }),
      );

      for (const made of [grant(), grant({ decisionId: 'd2', at: NOW + 1 }), ...others]) {
        await store.putGrant(made);
      }

      expect(await all()).toEqual([grant(), ...others]);
    });

    it('does not take the names of one for those of another', async () => {
      await begin(store, lease, 'r');
      const names = [
        { agent: 'a', toolName: 'b","c' },
        { agent: 'a","b', toolName: 'c' },
      ].map((change, at) => grant({ ...change, decisionId: `d${at}` }));

      for (const made of names) await store.putGrant(made);

      expect(await all()).toEqual(names);
    });

    it('keeps none for a session that nobody knows', async () => {
      await store.putGrant(grant());
      expect(await all()).toEqual([]);

      await begin(store, lease, 'r');
      expect(await all()).toEqual([]);
    });

    it('lets them go with the last entry of the session, though a run of it is kept', async () => {
      const other = await acquire(store, 't');
      await begin(store, lease, 'r');
      await park(store, lease, 'r');
      await begin(store, other, 'q');
      await store.putGrant(grant());
      await store.putGrant(grant({ sessionId: 't' }));

      await store.trim('s', 1);
      expect(await all()).toHaveLength(1);
      await store.trim('s', 3);

      expect(await all()).toEqual([]);
      expect(await all('t')).toHaveLength(1);
      expect(await store.getRecord('r')).toMatchObject({ parked: true });
    });

    it('lets them go with the last run of a session that has no entries any more', async () => {
      await step(store, lease, { terminal: { runId: 'r' } });
      await store.trim('s', 2);
      await park(store, await acquire(store, 't'), 'q');
      await store.putGrant(grant());
      await store.putGrant(grant({ sessionId: 't' }));
      expect(await all()).toHaveLength(1);

      await store.forgetRuns('z', 9);

      expect(await store.getSession('s')).toBeUndefined();
      expect(await all()).toEqual([]);
      expect(await all('t')).toHaveLength(1);
    });

    it('keeps those that are given later, until entries of the session go again', async () => {
      await begin(store, lease, 'r');
      await store.trim('s', 1);
      await store.putGrant(grant());

      await store.trim('s', 1);
      expect(await all()).toHaveLength(1);
      await park(store, lease, 'r');
      await store.trim('s', 3);
      expect(await all()).toEqual([]);
    });

    it('keeps them when a run is discarded or forgotten and entries are left', async () => {
      await begin(store, lease, 'r');
      await park(store, lease, 'r');
      await store.putGrant(grant());

      await store.discard('r');
      await store.forgetRuns('z', 9);

      expect(await all()).toEqual([grant()]);
    });
  });
}
