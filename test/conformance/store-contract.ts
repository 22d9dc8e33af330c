import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/stores/store.ts';
import { acquire, ALL, lineOf, NOW, partOf, terminalAfter, TTL_MS } from './store-contract-kit.ts';

/** What every engine must do, so that the journal need not know which one it has. */
export function storeContract(name: string, open: () => Promise<Store> | Store): void {
  let store: Store;
  const lines = async (sessionId: string, from = 1) =>
    (await store.read(sessionId, from, ALL)).lines;

  beforeEach(async () => {
    store = await open();
  });
  afterEach(async () => {
    await store.close();
  });

  describe(`${name} store: journal`, () => {
    it('gives back the bytes it was given, in order', async () => {
      const lease = await acquire(store, 's');
      const odd = ['{"a":"\\ud800 \\u0000"}', '{"b":"ä€😀"}', '{}'];

      await store.append([partOf(lease, 1, 2)]);
      await store.append([{ lease, firstSeq: 3, count: 3, body: odd.join('\n') }]);

      expect(await lines('s')).toEqual([lineOf(1), lineOf(2), ...odd]);
      expect(await lines('s', 4)).toEqual(odd.slice(1));
    });

    it('knows nothing of a session that nobody wrote', async () => {
      const page = await store.read('nobody', 7, ALL);

      expect(page).toMatchObject({ lines: [], floor: 0, complete: true });
      expect(await store.head('nobody')).toBe(0);
      expect(await store.trim('nobody', 5)).toBe(0);
      expect(await store.getRecord('nobody')).toBeUndefined();
    });

    it('takes the parts of several sessions in one group', async () => {
      const a = await acquire(store, 'a');
      const b = await acquire(store, 'b');

      const outcomes = await store.append([partOf(a, 1, 2), partOf(b, 1, 1)]);

      expect(outcomes).toEqual([{ status: 'written' }, { status: 'written' }]);
      expect(await lines('a')).toHaveLength(2);
      expect(await lines('b')).toHaveLength(1);
    });

    it('ends a page at the number of entries and says that there is more', async () => {
      const lease = await acquire(store, 's');
      await store.append([partOf(lease, 1, 5)]);

      const page = await store.read('s', 2, { entriesMax: 2, bytesMax: 1_000_000 });

      expect(page).toMatchObject({ firstSeq: 2, complete: false });
      expect(page.lines).toEqual([lineOf(2), lineOf(3)]);
    });

    it('ends a page at the number of bytes but gives at least one entry', async () => {
      const lease = await acquire(store, 's');
      await store.append([partOf(lease, 1, 5)]);

      const page = await store.read('s', 1, { entriesMax: 100, bytesMax: 1 });

      expect(page.lines).toEqual([lineOf(1)]);
      expect(page.complete).toBe(false);
    });

    it('says that a page which reaches the head is complete', async () => {
      const lease = await acquire(store, 's');
      await store.append([partOf(lease, 1, 2)]);

      expect(await store.read('s', 1, { entriesMax: 2, bytesMax: 1_000 })).toMatchObject({
        complete: true,
      });
      expect(await store.read('s', 3, ALL)).toMatchObject({ lines: [], complete: true });
    });

    it.each([
      ['leaves a hole', 3],
      ['repeats an entry', 1],
    ])('refuses a part that %s', async (_, firstSeq) => {
      const lease = await acquire(store, 's');
      await store.append([partOf(lease, 1, 1)]);

      const outcomes = await store.append([partOf(lease, firstSeq, 1)]);

      expect(outcomes).toEqual([{ status: 'conflict', head: 1 }]);
      expect(await lines('s')).toEqual([lineOf(1)]);
    });
  });

  describe(`${name} store: trimming`, () => {
    it('lets old entries go and keeps the rest and the head', async () => {
      const lease = await acquire(store, 's');
      for (const seq of [1, 2, 3, 4]) await store.append([partOf(lease, seq, 1)]);

      const floor = await store.trim('s', 2);

      expect(floor).toBeLessThanOrEqual(2);
      expect(await store.read('s', 1, ALL)).toMatchObject({ floor, firstSeq: floor + 1 });
      expect(await lines('s', 3)).toEqual([lineOf(3), lineOf(4)]);
      expect(await store.head('s')).toBe(4);
    });

    it('goes on counting after everything was trimmed', async () => {
      const lease = await acquire(store, 's');
      await store.append([partOf(lease, 1, 3)]);

      expect(await store.trim('s', 3)).toBe(3);
      expect(await store.head('s')).toBe(3);
      expect(await store.append([partOf(lease, 4, 1)])).toEqual([{ status: 'written' }]);
      expect(await store.read('s', 1, ALL)).toEqual({
        firstSeq: 4,
        lines: [lineOf(4)],
        floor: 3,
        complete: true,
      });
    });

    it('never lowers the floor and never touches another session', async () => {
      const lease = await acquire(store, 's');
      const other = await acquire(store, 'other');
      await store.append([partOf(lease, 1, 1), partOf(other, 1, 1)]);
      await store.append([partOf(lease, 2, 1)]);
      await store.trim('s', 2);

      expect(await store.trim('s', 1)).toBe(2);
      expect(await lines('other')).toEqual([lineOf(1)]);
    });
  });

  describe(`${name} store: runs`, () => {
    const record = (runId: string, sessionId = 's') => ({ runId, sessionId, record: '{"v":1}' });
    const unparked = { parked: false, automatic: false, continuedBy: undefined };

    it('settles a run once (INV-45, INV-46)', async () => {
      const lease = await acquire(store, 's');
      await store.putRecord(record('r'), lease);

      const [first] = await store.append([terminalAfter(lease, 1, 'r', '{"v":2}')]);
      const [second] = await store.append([
        { ...terminalAfter(lease, 3, 'r', '{"v":3}'), firstSeq: 2, count: 1, body: lineOf(2) },
      ]);

      expect(first).toEqual({ status: 'written' });
      expect(second).toEqual({ status: 'lost', settledSeq: 1 });
      expect(await lines('s')).toEqual([lineOf(1, 'end'), lineOf(2)]);
      expect(await store.getRecord('r')).toEqual({
        ...record('r'),
        ...unparked,
        record: '{"v":2}',
        settledSeq: 1,
      });
    });

    it('puts records with the lines of a part, or neither', async () => {
      const lease = await acquire(store, 's');
      const records = [
        { runId: 'r', record: '{"v":1}' },
        { runId: 'q', record: '{"v":2}' },
      ];

      await store.append([{ ...partOf(lease, 1, 1), records }]);
      await store.append([{ ...partOf(lease, 9, 1), records: [{ runId: 'hole', record: '{}' }] }]);
      await store.release([lease]);
      await store.append([{ ...partOf(lease, 2, 1), records: [{ runId: 'late', record: '{}' }] }]);

      expect(await store.listRecords({ limit: 9 })).toEqual([
        { ...record('r'), ...unparked, settledSeq: undefined },
        { ...record('q'), ...unparked, record: '{"v":2}', settledSeq: undefined },
      ]);
    });

    it('puts records without lines too, and the one of a terminal last', async () => {
      const lease = await acquire(store, 's');
      const records = [{ runId: 'r', record: '{"v":1}' }];

      expect(await store.append([{ ...partOf(lease, 1, 0), records }])).toEqual([
        { status: 'written' },
      ]);
      expect(await store.head('s')).toBe(0);
      await store.append([{ ...terminalAfter(lease, 1, 'r', '{"v":2}'), records }]);

      expect(await store.getRecord('r')).toMatchObject({ record: '{"v":2}', settledSeq: 1 });
    });

    it('settles a run whose record was never put, and keeps the record of one without a new one', async () => {
      const lease = await acquire(store, 's');
      await store.putRecord(record('kept'), lease);

      await store.append([terminalAfter(lease, 1, 'new')]);
      await store.append([terminalAfter(lease, 2, 'kept')]);

      expect(await store.getRecord('new')).toMatchObject({ sessionId: 's', settledSeq: 1 });
      expect(await store.getRecord('kept')).toMatchObject({ record: '{"v":1}', settledSeq: 2 });
    });

    it('writes lines and terminal of one part behind each other', async () => {
      const lease = await acquire(store, 's');
      const terminal = { runId: 'r', line: lineOf(3, 'end') };

      await store.append([{ ...partOf(lease, 1, 2), terminal }]);

      expect(await lines('s')).toEqual([lineOf(1), lineOf(2), lineOf(3, 'end')]);
      expect(await store.head('s')).toBe(3);
    });

    it('replaces a record and keeps what settled it', async () => {
      const lease = await acquire(store, 's');
      await store.append([terminalAfter(lease, 1, 'r', '{"v":1}')]);

      expect(await store.putRecord({ ...record('r'), record: '{"v":9}' }, lease)).toBe(true);

      expect(await store.getRecord('r')).toMatchObject({ record: '{"v":9}', settledSeq: 1 });
    });

    it('takes a record without a lease only while nobody holds the session', async () => {
      expect(await store.putRecord(record('r'), undefined)).toBe(true);
      const lease = await acquire(store, 's');
      expect(await store.putRecord(record('r'), undefined)).toBe(false);
      await store.release([lease]);
      expect(await store.putRecord(record('r'), undefined)).toBe(true);
    });

    it('refuses a record from a writer whose lease is stale', async () => {
      const stale = await acquire(store, 's');
      await acquire(store, 's', 'other', NOW + TTL_MS);

      expect(await store.putRecord(record('r'), stale)).toBe(false);
      expect(await store.getRecord('r')).toBeUndefined();
    });

    it('lists runs newest first, by page, session and state', async () => {
      const lease = await acquire(store, 's');
      for (const id of ['r1', 'r2', 'r3']) await store.putRecord(record(id), lease);
      await store.putRecord(record('r4', 'free'), undefined);
      await store.append([terminalAfter(lease, 1, 'r2')]);
      const ids = async (query: object) =>
        (await store.listRecords({ limit: 10, ...query })).map(({ runId }) => runId);

      expect(await ids({})).toEqual(['r4', 'r3', 'r2', 'r1']);
      expect(await ids({ limit: 2 })).toEqual(['r4', 'r3']);
      expect(await ids({ before: 'r3' })).toEqual(['r2', 'r1']);
      expect(await ids({ sessionId: 's' })).toEqual(['r3', 'r2', 'r1']);
      expect(await ids({ unsettled: true })).toEqual(['r4', 'r3', 'r1']);
      expect(await ids({ sessionId: 's', unsettled: true, before: 'r3' })).toEqual(['r1']);
    });
  });

  describe(`${name} store: leases`, () => {
    it('gives a free key, and the owner its own key again, with a higher generation', async () => {
      const first = await acquire(store, 'k');
      const second = await acquire(store, 'k');

      expect(first).toMatchObject({ key: 'k', owner: 'me' });
      expect(second.generation).toBeGreaterThan(first.generation);
    });

    it('refuses a key that another owner holds and says until when', async () => {
      await acquire(store, 'k');

      const request = { key: 'k', owner: 'other', now: NOW + TTL_MS - 1, ttlMs: TTL_MS };

      expect(await store.acquire(request)).toEqual({
        acquired: false,
        owner: 'me',
        expiresAt: NOW + TTL_MS,
      });
    });

    it('fences the writer whose expired lease was taken over (INV-56, INV-58)', async () => {
      const stale = await acquire(store, 's');
      await store.append([partOf(stale, 1, 1)]);
      const current = await acquire(store, 's', 'other', NOW + TTL_MS);

      const outcomes = await store.append([partOf(stale, 2, 1)]);

      expect(current.generation).toBeGreaterThan(stale.generation);
      expect(outcomes).toEqual([{ status: 'fenced' }]);
      expect(await lines('s')).toEqual([lineOf(1)]);
      expect(await store.append([partOf(current, 2, 1)])).toEqual([{ status: 'written' }]);
    });

    it('fences an earlier acquisition of the same owner', async () => {
      const stale = await acquire(store, 's');
      const current = await acquire(store, 's');

      expect(await store.append([partOf(stale, 1, 1)])).toEqual([{ status: 'fenced' }]);
      expect(await store.append([partOf(current, 1, 1)])).toEqual([{ status: 'written' }]);
      expect(await store.append([partOf(stale, 2, 1)])).toEqual([{ status: 'fenced' }]);
    });

    it('writes the other parts of a group of which one is fenced', async () => {
      const stale = await acquire(store, 'a');
      const good = await acquire(store, 'b');
      await store.release([stale]);

      const outcomes = await store.append([partOf(stale, 1, 1), partOf(good, 1, 1)]);

      expect(outcomes).toEqual([{ status: 'fenced' }, { status: 'written' }]);
      expect(await lines('a')).toEqual([]);
      expect(await lines('b')).toEqual([lineOf(1)]);
    });

    it('fences a writer that gave its lease back', async () => {
      const lease = await acquire(store, 's');
      await store.append([partOf(lease, 1, 1)]);
      await store.release([lease]);

      expect(await store.append([partOf(lease, 2, 1)])).toEqual([{ status: 'fenced' }]);
    });

    it('does not settle a run for a fenced writer', async () => {
      const stale = await acquire(store, 's');
      await store.release([stale]);

      await store.append([terminalAfter(stale, 1, 'r', '{}')]);

      expect(await store.getRecord('r')).toBeUndefined();
    });

    it('lets a writer go on whose lease has expired and was not taken', async () => {
      const lease = await acquire(store, 's');

      expect(await store.renew([lease], NOW + 10 * TTL_MS)).toEqual([true]);
      expect(await store.append([partOf(lease, 1, 1)])).toEqual([{ status: 'written' }]);
    });

    it('moves the expiry of those leases that are current', async () => {
      const mine = await acquire(store, 'a');
      const stale = await acquire(store, 'b');
      await acquire(store, 'b', 'other', NOW + TTL_MS);

      expect(await store.renew([mine, stale], NOW + 9 * TTL_MS)).toEqual([true, false]);

      const later = { owner: 'other', now: NOW + 8 * TTL_MS, ttlMs: TTL_MS };
      expect(await store.acquire({ key: 'a', ...later })).toMatchObject({ acquired: false });
    });

    it('frees a key for its owner alone (INV-51, INV-52)', async () => {
      const stale = await acquire(store, 'k');
      const current = await acquire(store, 'k', 'other', NOW + TTL_MS);

      expect(await store.release([stale])).toEqual([false]);
      expect(await store.append([partOf(current, 1, 1)])).toEqual([{ status: 'written' }]);
      expect(await store.release([current])).toEqual([true]);
      expect(await store.release([current])).toEqual([false]);
      expect(await acquire(store, 'k', 'third')).toMatchObject({ owner: 'third' });
    });
  });

  describe(`${name} store: the rest`, () => {
    it('tells listeners of the session, and no longer when they left', () => {
      const heard: number[] = [];
      const leave = store.bus.subscribe('s', (head) => heard.push(head));

      store.bus.publish('s', 4);
      store.bus.publish('other', 5);
      leave();
      store.bus.publish('s', 6);

      expect(heard).toEqual([4]);
    });

    it('answers a ping while it is open, and nothing when it is closed', async () => {
      await store.ping();
      await store.close();
      await store.close();

      await expect(async () => store.ping()).rejects.toThrow(/closed/);
      await expect(async () => store.head('s')).rejects.toThrow(/closed/);
      await expect(async () => store.append([])).rejects.toThrow(/closed/);
    });
  });
}
