import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../src/errors.ts';
import type { Store } from '../../src/stores/store.ts';
import { finished, journalWorld, microtasks, RecordingSink, writtenWorld } from './journal-kit.ts';

/** The first entry of the session, as another version of the product may have written it. */
async function writeForeign(store: Store, line: string): Promise<void> {
  const outcome = await store.acquire({ key: 's', owner: 'newer', now: 0, ttlMs: 1 });
  if (!outcome.acquired) throw new Error('the session is held');
  await store.append([{ lease: outcome.lease, firstSeq: 1, count: 1, body: line }]);
}

describe('journal: following live', () => {
  it('gives entries after the store took them, and not before (persist, then publish)', async () => {
    const { run, store, turns, follow } = await writtenWorld(0);
    store.held = true;
    const sink = follow();
    run.text('x');
    await turns.all();
    expect(sink.seqs).toEqual([]);

    await store.answer();
    expect(sink.seqs).toEqual([1]);
  });

  it('never gives what the store refused', async () => {
    const { journal, run, store, turns, follow } = await writtenWorld(1);
    const sink = follow();
    await turns.all();
    store.fates = ['refused'];
    run.text('lost');
    await turns.all();
    const again = await journal.openRun('s', 'r');
    again.text('kept');
    await turns.all();

    expect(sink.told.map((told) => 'event' in told && told.event)).toEqual([
      { type: 'text_delta', text: '1' },
      { type: 'text_delta', text: 'kept' },
    ]);
  });

  it('gives what was stored though its answer was lost', async () => {
    const { journal, run, store, turns, follow } = await writtenWorld(0);
    const sink = follow();
    store.fates = ['unanswered'];
    run.text('1');
    await turns.all();
    expect(sink.seqs).toEqual([]);
    const again = await journal.openRun('s', 'r');
    again.text('2');
    await turns.all();

    expect(sink.seqs).toEqual([1, 2]);
  });

  it('gives what one turn brought in one batch', async () => {
    const { run, turns, follow } = await writtenWorld(0);
    const sink = follow();
    for (const delta of ['a', 'b', 'c']) run.text(delta);
    await turns.all();

    expect(sink.batches.map((batch) => batch.length)).toEqual([3]);
  });

  it('gives no more than a page at a time, however much one turn brought', async () => {
    const { run, turns, follow } = await writtenWorld(0, { limits: { pageBytesMax: 1_000 } });
    const sink = follow();
    for (const size of [300, 300, 300, 2_000, 1, 1]) run.text('x'.repeat(size));
    await turns.all();

    expect(sink.batches.map((batch) => batch.map(({ seq }) => seq))).toEqual([
      [1, 2],
      [3],
      [4],
      [5, 6],
    ]);
  });

  it('keeps what a full reader was not given yet, of what one turn brought', async () => {
    const { run, turns, follow } = await writtenWorld(0, { limits: { pageBytesMax: 1_000 } });
    const sink = follow();
    sink.room = 1;
    for (let n = 0; n < 6; n += 1) run.text('x'.repeat(300));
    await turns.all();
    expect(sink.seqs).toEqual([1, 2]);
    sink.room = Number.POSITIVE_INFINITY;
    sink.resume();
    await turns.all();

    expect(sink.seqs).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('gives the terminal entry as the last of its group', async () => {
    const { run, turns, follow } = await writtenWorld(0);
    const sink = follow();
    run.text('x');
    await Promise.all([run.settle(finished), turns.all()]);

    expect(sink.batches.map((batch) => batch.map(({ type }) => type))).toEqual([
      ['text_delta', 'finished'],
    ]);
  });

  it('does not read the store where it is known to have nothing more', async () => {
    const { run, store, turns, follow } = await writtenWorld(2);
    let reads = 0;
    const { read } = store;
    store.read = (...args: Parameters<Store['read']>) => {
      reads += 1;
      return read(...args);
    };
    const sink = follow(3);
    run.text('3');
    await turns.all();

    expect(sink.seqs).toEqual([3]);
    expect(reads).toBe(0);
  });

  it('gives every follower everything, however they differ', async () => {
    const { run, turns, follow } = await writtenWorld(2);
    const sinks = [follow(1), follow(2), follow(3), follow(5)];
    await turns.all();
    for (const delta of ['3', '4', '5']) {
      run.text(delta);
      await turns.all();
    }

    expect(sinks.map(({ seqs }) => seqs)).toEqual([[1, 2, 3, 4, 5], [2, 3, 4, 5], [3, 4, 5], [5]]);
  });

  it('waits for a position beyond the head', async () => {
    const { run, turns, follow } = await writtenWorld(1);
    const sink = follow(4);
    for (const delta of ['2', '3', '4', '5']) run.text(delta);
    await turns.all();

    expect(sink.seqs).toEqual([4, 5]);
  });

  it('gives one run its own entries and keeps the numbers of the session', async () => {
    const { journal, run, turns, follow } = await writtenWorld(1);
    const other = await journal.openRun('s', 'other');
    const replayed = follow(1, 'r');
    await turns.all();
    const live = follow(2, 'other');
    other.text('2');
    run.text('3');
    other.text('4');
    await turns.all();

    expect(replayed.seqs).toEqual([1, 3]);
    expect(live.seqs).toEqual([2, 4]);
  });

  it('gives nothing after it was closed, even in the middle of a batch’s delivery', async () => {
    const { run, turns, follow } = await writtenWorld(0);
    const closed = follow();
    const leaving = follow();
    leaving.onEntries = () => leaving.close();
    closed.close();
    run.text('1');
    await turns.all();
    run.text('2');
    await turns.all();

    expect(closed.seqs).toEqual([]);
    expect(leaving.seqs).toEqual([1]);
  });

  it('refuses a position that is no number', async () => {
    const { journal } = await writtenWorld(0);
    const options = { sessionId: 's', from: Number.NaN };

    expect(() => journal.follow(options, new RecordingSink())).toThrow(/"from"/);
  });

  it('takes a position before the first for the first', async () => {
    const { turns, follow } = await writtenWorld(1);
    const sink = follow(-5);
    await turns.all();

    expect(sink.seqs).toEqual([1]);
  });
});

describe('journal: replaying', () => {
  it('gives the bytes that live followers got', async () => {
    const { run, turns, follow } = await writtenWorld(0);
    const live = follow();
    run.text('ä "quoted"');
    run.append('agent', { type: 'reasoning', content: 'x' });
    await Promise.all([run.settle(finished), turns.all()]);
    const late = follow();
    await turns.all();

    expect(late.json).toEqual(live.json);
    expect(late.told.map((told) => 'event' in told && told.event)).toEqual(
      live.told.map((told) => 'event' in told && told.event),
    );
  });

  it('goes page by page and joins the live entries without a gap or a double', async () => {
    const { run, turns, follow } = await writtenWorld(7, { limits: { pageEntriesMax: 2 } });
    const sink = follow();
    for (let i = 8; i <= 12; i += 1) {
      run.text(`${i}`);
      await turns.one();
    }
    await turns.all();

    expect(sink.seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it('gives nothing within the call of follow', async () => {
    const { journal } = await writtenWorld(1);
    const sink = new RecordingSink();
    journal.follow({ sessionId: 's', from: 1 }, sink);

    expect(sink.seqs).toEqual([]);
    await microtasks();
    expect(sink.seqs).toEqual([1]);
  });

  it('keeps the place and the bytes of events it does not know', async () => {
    const { journal, store, turns, follow } = journalWorld();
    const foreign =
      '{"session_id":"s","seq":1,"at":5,"new":true,"payload":{"kind":"agent","event":{"x":[1],"type":"from_2030"}}}';
    await writeForeign(store, foreign);
    const run = await journal.openRun('s', 'r');
    run.text('2');
    const sink = follow();
    await turns.all();

    expect(sink.seqs).toEqual([1, 2]);
    expect(sink.json[0]).toBe(foreign);
    expect(sink.told[0]).toMatchObject({ type: 'from_2030', runId: undefined, kind: 'agent' });
  });

  it('tells of trimmed entries once, then goes on', async () => {
    const { journal, run, turns, follow } = await writtenWorld(5);
    await journal.trim('s', 3);
    const sink = follow(2);
    await turns.all();
    run.text('6');
    await turns.all();

    expect(sink.seqs).toEqual(['2-3', 4, 5, 6]);
  });

  it('tells of the gap when nothing is left', async () => {
    const { journal, run, turns, follow } = await writtenWorld(2);
    await journal.trim('s', 2);
    const sink = follow(1);
    await turns.all();
    expect(sink.seqs).toEqual(['1-2']);
    run.text('3');
    await turns.all();

    expect(sink.seqs).toEqual(['1-2', 3]);
  });

  it('tells of entries that were trimmed while the reader was full', async () => {
    const { journal, run, turns, follow } = await writtenWorld(1);
    const sink = follow();
    sink.room = 1;
    await turns.all();
    for (const delta of ['2', '3', '4']) {
      run.text(delta);
      await turns.all();
    }
    await journal.trim('s', 3);
    sink.room = 10;
    sink.resume();
    await turns.all();

    expect(sink.seqs).toEqual([1, '2-3', 4]);
  });

  it('tells a reader when the store fails, once, and gives nothing more', async () => {
    const { run, store, turns, follow } = await writtenWorld(2);
    const { read } = store;
    store.read = () => {
      throw new Error('out of order');
    };
    const sink = follow(1);
    await turns.all();
    store.read = read;
    run.text('3');
    await turns.all();

    expect(sink.failure).toBeInstanceOf(StoreUnavailableError);
    expect(sink.seqs).toEqual([]);
  });

  it('tells a reader when an entry in the store is damaged', async () => {
    const { journal, store, turns, follow } = journalWorld();
    await writeForeign(store, '{"seq":1');
    const sink = follow();
    await turns.all();

    expect(sink.failure).toMatchObject({ cause: { message: expect.stringContaining('not JSON') } });
    await expect(journal.read('s', 1, 1)).rejects.toThrow();
  });

  it('follows a store that answers later, with entries arriving during the read', async () => {
    const { run, store, turns, follow } = await writtenWorld(2);
    const { read } = store;
    const answers: (() => void)[] = [];
    store.read = (...args: Parameters<Store['read']>) => {
      const page = read(...args);
      return new Promise((resolve) => answers.push(() => resolve(page)));
    };
    store.bus.publish = () => {}; // A hint is best effort.
    const sink = follow(1);
    await turns.all();
    run.text('3');
    await turns.all();
    expect(sink.seqs).toEqual([]);
    while (answers.length > 0) {
      answers.shift()?.();
      await turns.all();
    }

    expect(sink.seqs).toEqual([1, 2, 3]);
  });

  it('gives nothing after it was closed in the middle of a read', async () => {
    const { store, turns, follow } = await writtenWorld(2);
    const { read } = store;
    let answer = () => {};
    store.read = (...args: Parameters<Store['read']>) =>
      new Promise((resolve) => {
        answer = () => resolve(read(...args));
      });
    const sink = follow(1);
    await turns.all();
    sink.close();
    answer();
    await turns.all();

    expect(sink.seqs).toEqual([]);
  });

  it('learns from the bus what another journal wrote to the same store', async () => {
    const { store, turns, follow } = await writtenWorld(0);
    const sink = follow();
    await turns.all();
    const other = journalWorld({ store });
    const run = await other.journal.openRun('s', 'elsewhere');
    run.text('1');
    await other.turns.all();
    await turns.all();

    expect(sink.seqs).toEqual([1]);
  });
});
