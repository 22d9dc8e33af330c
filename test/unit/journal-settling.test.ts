import { describe, expect, it } from 'vitest';
import { parseEnvelope } from '../../src/journal/envelope.ts';
import { StoreUnavailableError } from '../../src/errors.ts';
import { finished, journalWorld, microtasks, NOW, reasoning, started } from './journal-kit.ts';

const stored = async (world: ReturnType<typeof journalWorld>) =>
  (await world.journal.read('s', 1, 100)).map(({ json }) => parseEnvelope(json));

describe('journal: settling', () => {
  it('gives a run one terminal entry, behind everything it appended', async () => {
    const world = journalWorld();
    const run = await world.journal.openRun('s', 'r');
    run.append('lifecycle', started);

    const [settlement] = await Promise.all([run.settle(finished), world.turns.all()]);

    expect(settlement).toEqual({ won: true, seq: 2 });
    expect((await stored(world)).map(({ payload }) => payload.event.type)).toEqual([
      'started',
      'finished',
    ]);
  });

  it('drops and counts what comes late (INV-23)', async () => {
    const { journal, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const settled = run.settle(finished);

    expect(run.settled).toBe(true);
    expect([run.text('late'), run.append('agent', reasoning('late'))]).toEqual([0, 0]);
    await Promise.all([settled, turns.all()]);
    expect(run.dropped).toBe(2);
    expect(await journal.head('s')).toBe(1);
  });

  it('loses the second time and writes nothing (INV-02, INV-45)', async () => {
    const { journal, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');

    const both = Promise.all([run.settle(finished), run.settle(finished)]);
    await turns.all();

    expect(await both).toEqual([
      { won: true, seq: 1 },
      { won: false, seq: 1 },
    ]);
    expect(await journal.head('s')).toBe(1);
  });

  it('opens a run that was settled before as settled (INV-46)', async () => {
    const { journal, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    await Promise.all([run.settle(finished), turns.all()]);
    await run.release();

    const again = await journal.openRun('s', 'r');

    expect(again.settled).toBe(true);
    expect(again.text('late')).toBe(0);
    expect(await again.settle(finished)).toEqual({ won: false, seq: 1 });
    expect(await journal.head('s')).toBe(1);
  });

  it('leaves no hole when two writers of one run race to the store', async () => {
    const { journal, turns } = journalWorld();
    const a = await journal.openRun('s', 'r');
    const b = await journal.openRun('s', 'r');

    const both = Promise.all([a.settle(finished), b.settle(finished)]);
    await turns.all();

    expect(await both).toEqual([
      { won: true, seq: 1 },
      { won: false, seq: 1 },
    ]);
    const next = await journal.openRun('s', 'next');
    expect(next.text('x')).toBe(2);
  });

  it('fails the session when others minted behind a terminal that lost', async () => {
    const { journal, store, turns } = journalWorld();
    const a = await journal.openRun('s', 'r');
    const b = await journal.openRun('s', 'r');
    const other = await journal.openRun('s', 'other');
    const first = a.settle(finished);
    await turns.all();
    store.held = true;
    const second = b.settle(finished);
    await turns.all();
    other.text('behind');
    await store.answer();

    expect(await first).toEqual({ won: true, seq: 1 });
    expect(await second).toEqual({ won: false, seq: 1 });
    await expect(other.flushed()).rejects.toThrow(StoreUnavailableError);
    store.held = false;
    const again = await journal.openRun('s', 'other');
    expect(again.text('again')).toBe(2);
  });

  it('settles several runs of a session in one turn each', async () => {
    const { journal, turns } = journalWorld();
    const runs = await Promise.all(['a', 'b', 'c'].map((id) => journal.openRun('s', id)));

    const all = Promise.all(runs.map((run) => run.settle(finished)));
    await turns.all();

    expect((await all).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it('stores the record in the same transaction, with the seq of the end (INV-44)', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    await journal.putRecord('r', 's', '{"state":"running"}');
    let atEnd: unknown;
    store.onWritten = () => {
      atEnd = store.getRecord('r');
    };

    await Promise.all([
      run.settle(finished, { record: (seq, at) => JSON.stringify({ seq, at }) }),
      turns.all(),
    ]);

    expect(atEnd).toMatchObject({ record: JSON.stringify({ seq: 1, at: NOW }), settledSeq: 1 });
  });

  it('rejects when the record cannot be made, and writes the others', async () => {
    const { journal, turns } = journalWorld();
    const broken = await journal.openRun('s', 'broken');
    const good = await journal.openRun('s', 'good');
    const settled = broken.settle(finished, {
      record: () => {
        throw new Error('no record');
      },
    });
    const other = good.settle(finished);
    await Promise.all([turns.all(), expect(settled).rejects.toThrow('no record')]);

    expect(await other).toEqual({ won: true, seq: 1 });
  });

  it('rejects when the store fails, and may be tried on the session opened again (INV-53)', async () => {
    const { journal, store, turns } = journalWorld();
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    const settled = run.settle(finished);
    await Promise.all([turns.all(), expect(settled).rejects.toThrow(StoreUnavailableError)]);
    await run.release();

    const again = await journal.openRun('s', 'r');
    const [settlement] = await Promise.all([again.settle(finished), turns.all()]);

    expect(settlement).toEqual({ won: true, seq: 1 });
  });

  it('rejects when the group before it fails', async () => {
    const { journal, store, turns } = journalWorld();
    store.held = true;
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    run.text('x');
    await turns.all();
    const settled = run.settle(finished);

    await Promise.all([store.answer(), expect(settled).rejects.toThrow(StoreUnavailableError)]);
  });

  it('rejects at once when the session has failed before', async () => {
    const { journal, store, turns } = journalWorld();
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    run.text('x');
    await turns.all();

    await expect(run.settle(finished)).rejects.toThrow(StoreUnavailableError);
    expect(run.settled).toBe(false);
  });

  it('finds a run settled whose answer was lost', async () => {
    const { journal, store, turns } = journalWorld();
    store.fates = ['unanswered'];
    const run = await journal.openRun('s', 'r');
    const settled = run.settle(finished);
    await Promise.all([turns.all(), expect(settled).rejects.toThrow(StoreUnavailableError)]);

    const again = await journal.openRun('s', 'r');

    expect(await again.settle(finished)).toEqual({ won: false, seq: 1 });
  });
});

describe('journal: records', () => {
  it('puts, gets and lists records of runs', async () => {
    const { journal } = journalWorld();
    await journal.openRun('s', 'r');

    expect(await journal.putRecord('r', 's', '{"v":1}')).toBe(true);

    expect(await journal.getRecord('r')).toMatchObject({ sessionId: 's', record: '{"v":1}' });
    expect(await journal.listRecords({ limit: 5 })).toHaveLength(1);
    expect(await journal.getRecord('unknown')).toBeUndefined();
  });

  it('stores the record of a run with its entries, in their transaction', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    run.append('lifecycle', started);
    run.record('{"v":1}');
    expect(await journal.getRecord('r')).toBeUndefined();
    await turns.all();
    await run.flushed();

    expect(await journal.getRecord('r')).toMatchObject({
      record: '{"v":1}',
      settledSeq: undefined,
    });
    expect(store.appends).toBe(1);
  });

  it('stores a record once, so that a later one stays', async () => {
    const { journal, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    run.record('{"v":1}');
    await turns.all();
    await journal.putRecord('r', 's', '{"v":2}');
    run.text('x');
    await turns.all();

    expect(await journal.getRecord('r')).toMatchObject({ record: '{"v":2}' });
  });

  it('stores a record that comes alone, and one that comes with the end under it', async () => {
    const { journal, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    run.record('{"v":1}');
    await turns.all();
    expect(await journal.getRecord('r')).toMatchObject({ record: '{"v":1}' });
    run.record('{"v":2}');
    await Promise.all([run.settle(finished, { record: () => '{"v":3}' }), turns.all()]);

    expect(await journal.getRecord('r')).toMatchObject({ record: '{"v":3}', settledSeq: 1 });
  });

  it('takes no record after the end, and loses one with the entries of its group', async () => {
    const { journal, store, turns } = journalWorld();
    const [ended, failing] = [await journal.openRun('s', 'ended'), await journal.openRun('s', 'f')];
    await Promise.all([ended.settle(finished, { record: () => '{"end":1}' }), turns.all()]);
    ended.record('{"v":1}');
    await turns.all();
    store.fates = ['refused'];
    failing.record('{"v":1}');
    failing.append('lifecycle', started);
    await turns.all();
    failing.record('{"v":2}');
    await turns.all();

    expect(await journal.getRecord('ended')).toMatchObject({ record: '{"end":1}' });
    expect(await journal.getRecord('f')).toBeUndefined();
  });

  it('maps a store that cannot be reached', async () => {
    const { journal, store } = journalWorld();
    await store.close();

    await expect(journal.getRecord('r')).rejects.toThrow(StoreUnavailableError);
    await expect(journal.head('s')).rejects.toThrow(StoreUnavailableError);
    await expect(journal.openRun('s', 'r')).rejects.toThrow(StoreUnavailableError);
  });
});

describe('journal: closing', () => {
  it('writes what is queued, gives the leases back and takes no more', async () => {
    const { journal, store } = journalWorld();
    const run = await journal.openRun('s', 'r');
    run.append('lifecycle', started);

    await journal.close();

    expect(store.head('s')).toBe(1);
    const other = { key: 's', owner: 'other', now: NOW, ttlMs: 1 };
    expect(store.acquire(other)).toMatchObject({ acquired: true });
    expect(run.text('late')).toBe(0);
    await expect(journal.openRun('s', 'r2')).rejects.toThrow(/closed/);
    await journal.close();
  });

  it('waits for the group under way', async () => {
    const { journal, store, turns } = journalWorld();
    store.held = true;
    const run = await journal.openRun('s', 'r');
    run.text('x');
    await turns.all();
    const heard: string[] = [];
    void journal.close().then(() => heard.push('closed'));
    await microtasks();
    expect(heard).toEqual([]);

    await store.answer();
    await microtasks();
    expect(heard).toEqual(['closed']);
    expect(store.head('s')).toBe(1);
  });
});
