import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Lease, Store } from '../../src/stores/store.ts';

const ALL = { entriesMax: 1_000, bytesMax: 1_000_000 };
const BODY = '"0123456789"';

async function acquire(store: Store, key: string): Promise<Lease> {
  const outcome = await store.acquire({ key, owner: 'me', now: 0, ttlMs: 10 });
  if (!outcome.acquired) throw new Error('held');
  return outcome.lease;
}

const write = (store: Store, lease: Lease, firstSeq: number) =>
  store.append([{ lease, firstSeq, count: 1, body: BODY }]);

describe('memory store: bounds', () => {
  it('lets the oldest entries of the session idle longest go, and says so', async () => {
    const store = createMemoryStore({ journalBytesMax: 4 * BODY.length });
    const idle = await acquire(store, 'idle');
    const busy = await acquire(store, 'busy');
    for (const seq of [1, 2]) await write(store, idle, seq);
    for (const seq of [1, 2, 3]) await write(store, busy, seq);

    expect(await store.read('idle', 1, ALL)).toMatchObject({
      firstSeq: 2,
      floor: 1,
      lines: [BODY],
    });
    expect(await store.read('busy', 1, ALL)).toMatchObject({ floor: 0 });
    expect(await store.head('idle')).toBe(2);
  });

  it('counts a session that was written again as busy', async () => {
    const store = createMemoryStore({ journalBytesMax: 3 * BODY.length });
    const first = await acquire(store, 'first');
    const second = await acquire(store, 'second');
    await write(store, first, 1);
    await write(store, second, 1);
    await write(store, first, 2);
    await write(store, first, 3);

    expect(await store.read('first', 1, ALL)).toMatchObject({ floor: 0 });
    expect(await store.read('second', 1, ALL)).toMatchObject({ floor: 1 });
  });

  it('keeps what was written last however small the bound is', async () => {
    const store = createMemoryStore({ journalBytesMax: 1 });
    const lease = await acquire(store, 's');
    await write(store, lease, 1);

    expect(await store.read('s', 1, ALL)).toMatchObject({ lines: [BODY] });
  });

  it('counts trimmed entries no longer', async () => {
    const store = createMemoryStore({ journalBytesMax: 3 * BODY.length });
    const a = await acquire(store, 'a');
    const b = await acquire(store, 'b');
    for (const seq of [1, 2]) await write(store, a, seq);
    await store.trim('a', 1);
    for (const seq of [1, 2]) await write(store, b, seq);

    expect(await store.read('a', 1, ALL)).toMatchObject({ floor: 1, lines: [BODY] });
  });

  it('forgets the run that was settled first, and none that lives', async () => {
    const store = createMemoryStore({ settledRunsMax: 2 });
    const lease = await acquire(store, 's');
    await store.putRecord({ runId: 'live', sessionId: 's', record: '{}' }, lease);
    for (const [i, runId] of ['a', 'b', 'c'].entries()) {
      const terminal = { runId, line: BODY };
      await store.append([{ lease, firstSeq: i + 1, count: 0, body: '', terminal }]);
    }

    const runs = await store.listRecords({ limit: 10 });
    expect(runs.map(({ runId }) => runId)).toEqual(['live', 'c', 'b']);
  });

  it('forgets parked runs that wait for a resume only when there are no others', async () => {
    const store = createMemoryStore({ settledRunsMax: 2 });
    const lease = await acquire(store, 's');
    const end = async (runId: string, isParked: boolean) => {
      const firstSeq = (await store.head('s')) + 1;
      const parked = { checkpoint: runId, automatic: false, approvals: [] };
      const terminal = { runId, line: BODY, ...(isParked && { parked }) };
      await store.append([{ lease, firstSeq, count: 0, body: '', terminal }]);
    };
    const ids = async () => (await store.listRecords({ limit: 10 })).map(({ runId }) => runId);

    await end('a', true);
    await end('b', false);
    await end('c', false);
    expect(await ids()).toEqual(['c', 'a']);
    await end('d', true);
    expect(await ids()).toEqual(['d', 'a']);
    await end('e', true);
    expect(await ids()).toEqual(['e', 'd']);
    expect(await store.getCheckpoint('a')).toBeUndefined();

    const continues = { runId: 'd', by: 'f' };
    const firstSeq = (await store.head('s')) + 1;
    await store.append([{ lease, firstSeq, count: 0, body: '', continues }]);
    await end('g', true);
    expect(await ids()).toEqual(['g', 'e']);
  });

  it('forgets a session whose entries had to go after its runs', async () => {
    const store = createMemoryStore({ journalBytesMax: BODY.length, settledRunsMax: 1 });
    const lease = await acquire(store, 'first');
    const terminal = (runId: string) => ({ runId, line: BODY, transcript: runId });
    await store.append([{ lease, firstSeq: 1, count: 0, body: '', terminal: terminal('a') }]);
    expect(await store.getTranscript('first')).toBe('a');

    const next = await acquire(store, 'next');
    await store.append([{ lease: next, firstSeq: 1, count: 0, body: '', terminal: terminal('b') }]);

    expect(await store.getSession('first')).toBeUndefined();
    expect(await store.getTranscript('first')).toBeUndefined();
    expect(await store.getSession('next')).toMatchObject({ lastRunId: 'b' });
  });
});
