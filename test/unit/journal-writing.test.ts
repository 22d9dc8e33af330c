import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../src/errors.ts';
import { parseEnvelope } from '../../src/journal/envelope.ts';
import { journalWorld, NOW, reasoning, started } from './journal-kit.ts';

const stored = async (world: ReturnType<typeof journalWorld>) =>
  (await world.journal.read('s', 1, 100)).map(({ json }) => parseEnvelope(json));

describe('journal: appending', () => {
  it('numbers the entries of all runs of a session densely from 1', async () => {
    const { journal, turns } = journalWorld();
    const a = await journal.openRun('s', 'a');
    const b = await journal.openRun('s', 'b');

    const seqs = [a.append('lifecycle', started), b.append('lifecycle', started), a.text('x')];
    await turns.all();

    expect(seqs).toEqual([1, 2, 3]);
    expect((await journal.read('s', 1, 10)).map(({ runId }) => runId)).toEqual(['a', 'b', 'a']);
  });

  it('stores whole envelopes, stamped by the clock', async () => {
    const world = journalWorld();
    const run = await world.journal.openRun('s', 'r');

    run.append('agent', reasoning('because'));
    await world.turns.all();

    expect(await stored(world)).toEqual([
      {
        session_id: 's',
        run_id: 'r',
        seq: 1,
        at: NOW,
        payload: { kind: 'agent', event: { type: 'reasoning', content: 'because' } },
      },
    ]);
  });

  it.each(['plain', '"quoted" \\ back', 'line\nfeed\u2028', '\u0000\u001f', 'ä€😀', '\ud800', ''])(
    'writes a text delta with the same bytes as any event: %j',
    async (delta) => {
      const { journal, turns } = journalWorld();
      const run = await journal.openRun('s"ä', 'r"1');

      run.text(delta);
      run.append('agent', { type: 'text_delta', text: delta });
      await turns.all();

      const [fast, slow] = await journal.read('s"ä', 1, 2);
      expect(fast?.json.replace('"seq":1', '"seq":2')).toBe(slow?.json);
      expect(fast?.event).toEqual({ type: 'text_delta', text: delta });
    },
  );

  it('takes one transaction for all entries of one turn', async () => {
    const { journal, store, turns } = journalWorld();
    const a = await journal.openRun('s', 'a');
    const b = await journal.openRun('other', 'b');

    for (const run of [a, b, a]) run.text('x');
    expect(store.appends).toBe(0);
    await turns.one();

    expect(store.appends).toBe(1);
    expect(await journal.head('s')).toBe(2);
    expect(await journal.head('other')).toBe(1);
  });

  it('goes on behind what earlier processes stored', async () => {
    const first = journalWorld();
    const old = await first.journal.openRun('s', 'old');
    old.text('x');
    await first.journal.close();

    const second = journalWorld({ store: first.store, ownerId: 'next' });
    const run = await second.journal.openRun('s', 'new');

    expect(run.text('y')).toBe(2);
  });

  it('mints nothing for an event that is not JSON', async () => {
    const { journal, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const odd = { type: 'reasoning', content: 1n as unknown as string } as const;

    expect(() => run.append('agent', odd)).toThrow(TypeError);
    expect(run.text('x')).toBe(1);
    await turns.all();
    expect(await journal.head('s')).toBe(1);
  });

  it.each(['', 'a\u0000b', '\ud800', 'x'.repeat(1_025)])(
    'refuses an id that a store would not give back: %j',
    async (id) => {
      const { journal } = journalWorld();

      await expect(journal.openRun(id, 'r')).rejects.toThrow(/"sessionId"/);
      await expect(journal.openRun('s', id)).rejects.toThrow(/"runId"/);
    },
  );
});

describe('journal: waiting for the store', () => {
  it('resolves flushed when the store has everything so far, and not before', async () => {
    const { journal, store, turns } = journalWorld();
    store.held = true;
    const run = await journal.openRun('s', 'r');
    run.text('x');
    const heard: string[] = [];
    void run.flushed().then(() => heard.push('flushed'));
    await turns.all();

    expect(heard).toEqual([]);
    await store.answer();
    expect(heard).toEqual(['flushed']);
  });

  it('resolves flushed at once when nothing is queued', async () => {
    const { journal } = journalWorld();
    const run = await journal.openRun('s', 'r');

    await expect(run.flushed()).resolves.toBeUndefined();
  });

  it('lets one group be under way and gathers the next meanwhile', async () => {
    const { journal, store, turns } = journalWorld();
    store.held = true;
    const run = await journal.openRun('s', 'r');
    run.text('1');
    await turns.all();
    run.text('2');
    run.text('3');
    await turns.all();
    expect(store.appends).toBe(1);

    await store.answer();
    await turns.all();
    expect(store.appends).toBe(2);
    await store.answer();
    expect(await journal.head('s')).toBe(3);
  });

  it('lets one group be under way when it left before its turn', async () => {
    const { journal, store, turns } = journalWorld();
    store.held = true;
    const run = await journal.openRun('s', 'r');
    run.text('1');
    const drained = journal.drain();
    run.text('2');
    await turns.all();
    expect(store.appends).toBe(1);

    await store.answer();
    await store.answer();
    await drained;
    expect(store.appends).toBe(2);
  });

  it('is full at the bound of the queue until the store has caught up', async () => {
    const { journal, store, turns } = journalWorld({ limits: { queueBytesMax: 400 } });
    store.held = true;
    const run = await journal.openRun('s', 'r');
    const heard: string[] = [];

    run.text('a');
    expect(run.full()).toBeUndefined();
    run.text('x'.repeat(400));
    void run.full()?.then(() => heard.push('room'));
    await turns.all();
    expect(heard).toEqual([]);

    await store.answer();
    expect(heard).toEqual(['room']);
    expect(run.full()).toBeUndefined();
  });

  it('makes room when a store fails, so that nobody waits for ever', async () => {
    const { journal, store, turns } = journalWorld({ limits: { queueBytesMax: 1 } });
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    run.text('x');
    const room = run.full();
    await turns.all();

    await expect(room).resolves.toBeUndefined();
    expect(run.full()).toBeUndefined();
  });
});

describe('journal: a store that fails', () => {
  it('tells every run of the session once, and whoever waits', async () => {
    const { journal, store, turns } = journalWorld();
    store.fates = ['refused'];
    const a = await journal.openRun('s', 'a');
    const b = await journal.openRun('s', 'b');
    const heard: string[] = [];
    a.onFailure((error) => heard.push(`a ${error.name}`));
    b.onFailure((error) => heard.push(`b ${error.name}`));
    a.text('x');
    const flushed = a.flushed();
    await Promise.all([turns.all(), expect(flushed).rejects.toThrow(StoreUnavailableError)]);

    expect(heard).toEqual(['a StoreUnavailableError', 'b StoreUnavailableError']);
    await expect(b.flushed()).rejects.toThrow(StoreUnavailableError);
  });

  it('drops what the failed session still appends, and never calls it flushed', async () => {
    const { journal, store, turns } = journalWorld();
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    run.text('x');
    await turns.all();

    expect(run.text('y')).toBe(0);
    expect(run.append('agent', reasoning('z'))).toBe(0);
    expect(run.dropped).toBe(2);
    await expect(run.flushed()).rejects.toThrow(StoreUnavailableError);
    await turns.all();
    expect(await journal.head('s')).toBe(0);
  });

  it('tells a listener that comes late', async () => {
    const { journal, store, turns } = journalWorld();
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    run.text('x');
    await turns.all();
    const heard: string[] = [];

    run.onFailure((error) => heard.push(error.name));

    expect(heard).toEqual(['StoreUnavailableError']);
  });

  it('does not touch sessions that had nothing in the group', async () => {
    const { journal, store, turns } = journalWorld();
    const idle = await journal.openRun('idle', 'i');
    const run = await journal.openRun('s', 'r');
    store.fates = ['refused'];
    run.text('x');
    await turns.all();

    expect(idle.text('y')).toBe(1);
    await turns.all();
    expect(await journal.head('idle')).toBe(1);
  });

  it('goes on without a hole when the session is opened again', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    run.text('1');
    await turns.all();
    store.fates = ['refused'];
    run.text('2');
    run.text('3');
    await turns.all();

    const again = await journal.openRun('s', 'r');

    expect(again.text('2 again')).toBe(2);
    await turns.all();
    expect(await journal.head('s')).toBe(2);
  });

  it('goes on behind entries whose answer was lost', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    store.fates = ['unanswered'];
    run.text('1');
    await turns.all();
    await run.release();

    const again = await journal.openRun('s', 'r');

    expect(again.text('2')).toBe(2);
  });

  it('drops the entries queued behind a group that fails', async () => {
    const { journal, store, turns } = journalWorld();
    store.held = true;
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    run.text('1');
    await turns.all();
    run.text('2');
    await store.answer();
    await turns.all();

    expect(store.appends).toBe(1);
    expect(await journal.head('s')).toBe(0);
  });

  it('keeps the lease of a session that was opened again when the old run lets go', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    store.fates = ['refused'];
    run.text('1');
    await turns.all();
    const again = await journal.openRun('s', 'r');

    await run.release();
    const third = await journal.openRun('s', 'third');

    expect([again.text('1 again'), third.text('2')]).toEqual([1, 2]);
    await turns.all();
    await expect(again.flushed()).resolves.toBeUndefined();
  });

  it('survives a listener that throws', async () => {
    const { journal, store, turns } = journalWorld();
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    const heard: string[] = [];
    run.onFailure(() => {
      throw new Error('a bug of the listener');
    });
    run.onFailure(() => heard.push('second'));
    run.text('x');
    await turns.all();

    expect(heard).toEqual(['second']);
  });
});
