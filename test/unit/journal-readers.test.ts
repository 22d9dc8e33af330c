import { describe, expect, it } from 'vitest';
import type { JournalSink } from '../../src/journal/reader.ts';
import type { Store } from '../../src/stores/store.ts';
import { journalWorld, type RecordingSink, trickyStore, writtenWorld } from './journal-kit.ts';

describe('journal: readers that are full', () => {
  it('gives nothing more until the reader resumes, then everything', async () => {
    const { run, turns, follow } = await writtenWorld(0);
    const sink = follow();
    sink.room = 1;
    for (const delta of ['1', '2', '3']) {
      run.text(delta);
      await turns.all();
    }
    expect(sink.seqs).toEqual([1]);

    sink.room = 10;
    sink.resume();
    await turns.all();
    expect(sink.seqs).toEqual([1, 2, 3]);
    run.text('4');
    await turns.all();
    expect(sink.seqs).toEqual([1, 2, 3, 4]);
  });

  it('does not slow the run or another reader', async () => {
    const { run, turns, follow } = await writtenWorld(0);
    const slow = follow();
    slow.room = 1;
    const quick = follow();
    for (let i = 0; i < 50; i += 1) run.text('x');
    await turns.all();
    for (let i = 0; i < 50; i += 1) run.text('x');
    await Promise.all([run.flushed(), turns.all()]);

    expect(quick.seqs).toHaveLength(100);
    expect(slow.seqs).toHaveLength(50);
  });

  it('stays with a reader that makes room while it is being given something', async () => {
    const { run, turns, follow } = await writtenWorld(3, { limits: { pageEntriesMax: 1 } });
    const sink = follow();
    sink.room = 1;
    sink.onEntries = () => sink.resume();
    await turns.all();
    run.text('4');
    await turns.all();

    expect(sink.seqs).toEqual([1, 2, 3, 4]);
  });

  it('may make room right after it became full', async () => {
    const { turns, follow } = await writtenWorld(3, { limits: { pageEntriesMax: 1 } });
    const sink = follow();
    sink.room = 1;
    sink.onEntries = () => queueMicrotask(() => sink.resume());
    await turns.all();

    expect(sink.seqs).toEqual([1, 2, 3]);
  });

  it('may fill up in every page of a replay', async () => {
    const limits = { pageEntriesMax: 1 };
    const { store, journal } = await writtenWorld(5, { limits });
    await journal.close();
    // A journal that knows nothing of the session but what it reads.
    const { turns, follow } = journalWorld({ store, limits });
    const sink = follow();
    for (let i = 0; i < 8; i += 1) {
      sink.room = 1;
      sink.resume();
      await turns.all();
    }

    expect(sink.seqs).toEqual([1, 2, 3, 4, 5]);
  });

  it('passes over a resume of a reader that is not full', async () => {
    const { run, turns, follow } = await writtenWorld(1);
    const sink = follow();
    sink.resume();
    await turns.all();
    sink.resume();
    run.text('2');
    await turns.all();

    expect(sink.seqs).toEqual([1, 2]);
  });

  it('goes live at once when nothing was missed', async () => {
    const { run, store, turns, follow } = await writtenWorld(0);
    const sink = follow();
    sink.room = 1;
    run.text('1');
    await turns.all();
    let reads = 0;
    const { read } = store;
    store.read = (...args: Parameters<Store['read']>) => {
      reads += 1;
      return read(...args);
    };
    sink.room = 10;
    sink.resume();
    run.text('2');
    await turns.all();

    expect(sink.seqs).toEqual([1, 2]);
    expect(reads).toBe(0);
  });

  it('closes a reader that throws and harms nobody else', async () => {
    const logged: string[] = [];
    const log = { warn: () => {}, error: (_: object, message: string) => logged.push(message) };
    const { journal, run, turns, follow } = await writtenWorld(0, { log });
    const thrower: JournalSink = {
      entries() {
        throw new Error('a bug of the reader');
      },
      gap() {},
      failed() {},
    };
    journal.follow({ sessionId: 's', from: 1 }, thrower);
    const sink = follow();
    run.text('1');
    await turns.all();
    run.text('2');
    await Promise.all([run.flushed(), turns.all()]);

    expect(sink.seqs).toEqual([1, 2]);
    expect(logged).toEqual(['A journal reader threw and was closed.']);
  });

  it('lets a reader append and follow while it is being given something', async () => {
    const { run, turns, follow } = await writtenWorld(0);
    const sink = follow();
    const nested: RecordingSink[] = [];
    sink.onEntries = (batch) => {
      if (batch[0]?.seq === 1) {
        run.text('2');
        nested.push(follow());
      }
    };
    run.text('1');
    await turns.all();

    expect(sink.seqs).toEqual([1, 2]);
    expect(nested.map(({ seqs }) => seqs)).toEqual([[1, 2]]);
  });
});

describe('journal: closing with followers', () => {
  it('leaves no listener on the bus behind', async () => {
    const store = trickyStore();
    const { journal, follow, turns } = await writtenWorld(1, { store });
    const sinks = [follow(), follow(2)];
    await turns.all();
    sinks[0]?.close();
    await journal.close();

    const next = journalWorld({ store });
    const run = await next.journal.openRun('s', 'r');
    run.text('2');
    await next.turns.all();
    await turns.all();
    expect(sinks.map(({ seqs }) => seqs)).toEqual([[1], []]);
  });

  it('stops listening to a session when its last follower leaves', async () => {
    const store = trickyStore();
    const { subscribe } = store.bus;
    let listening = 0;
    store.bus.subscribe = (...args) => {
      const leave = subscribe(...args);
      listening += 1;
      return () => {
        listening -= 1;
        leave();
      };
    };
    const { follow } = await writtenWorld(0, { store });
    const [first, second] = [follow(), follow()];
    first.close();
    expect(listening).toBe(1);

    second.close();
    second.close();
    expect(listening).toBe(0);
  });
});
