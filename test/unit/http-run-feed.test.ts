import { describe, expect, it } from 'vitest';
import { RunFeed, type RunFeedSink } from '../../src/http/run-feed.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import { FakeHandle, startCommand } from '../support/fake-handle.ts';

/** How often the record of a run is looked at that tells nothing. */
const CHECK_MS = 15_000;

/** A feed of one run that keeps what it is given; `paused` makes it say that it is full. */
async function feedOf() {
  const handle = new FakeHandle();
  const clock = createVirtualClock();
  const { runId, sessionId } = await handle.start(startCommand());
  const run = handle.runs.get(runId);
  if (run === undefined) throw new Error('invariant: the fake keeps what it starts');
  const kept = { seqs: [] as number[], ended: 0, gaps: 0, lost: 0, paused: false, warned: 0 };
  const sink: RunFeedSink = {
    entries: (batch, ended) => {
      kept.seqs.push(...batch.map(({ seq }) => seq));
      if (ended) kept.ended += 1;
      return !kept.paused;
    },
    gap: () => {
      kept.gaps += 1;
    },
    lost: () => {
      kept.lost += 1;
    },
  };
  const log = { debug: () => {}, info: () => {}, error: () => {} };
  const warn = () => {
    kept.warned += 1;
  };
  const options = { handle, clock, log: { ...log, warn }, sessionId, runId, from: 1 };
  return { handle, clock, run, kept, feed: new RunFeed(options, sink) };
}

describe('feed of a run', () => {
  it('lets go of the journal by itself after the terminal entry', async () => {
    const { handle, clock, run, kept } = await feedOf();
    run.text('a');
    run.finish();
    await clock.settle();
    expect([kept.seqs, kept.ended, handle.journal.followers]).toEqual([[1, 2, 3], 1, 0]);
  });

  it('waits while the reader is full', async () => {
    const { clock, run, kept, feed } = await feedOf();
    kept.paused = true;
    run.text('fills it');
    await clock.settle();
    run.text('waits');
    await clock.settle();
    expect(kept.seqs).toEqual([1, 2]);
    kept.paused = false;
    feed.resume();
    await clock.settle();
    expect(kept.seqs).toEqual([1, 2, 3]);
  });

  it('asks a store that fails again, ever more slowly, from where it was', async () => {
    const { handle, clock, run, kept } = await feedOf();
    await clock.settle();
    const waits: number[] = [];
    for (let failure = 0; failure < 7; failure++) {
      handle.journal.fail(new Error('disk'));
      const retry = clock.pending.find(({ delayMs }) => delayMs !== CHECK_MS);
      waits.push(retry?.delayMs ?? 0);
      await clock.advance(retry?.delayMs ?? 0);
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
    run.finish();
    await clock.settle();
    expect([kept.seqs, kept.warned]).toEqual([[1, 2], 7]);
  });

  it('asks soon again once entries have come', async () => {
    const { handle, clock, run } = await feedOf();
    await clock.settle();
    handle.journal.fail(new Error('disk'));
    await clock.advance(250);
    run.text('a');
    await clock.settle();
    handle.journal.fail(new Error('disk'));
    expect(clock.pending.map(({ delayMs }) => delayMs)).toEqual([CHECK_MS, 250]);
  });

  it('is silent once it is closed, also between two tries', async () => {
    const { handle, clock, run, kept, feed } = await feedOf();
    await clock.settle();
    handle.journal.fail(new Error('disk'));
    feed.close();
    run.finish();
    await clock.advance(10_000);
    expect([kept.seqs, kept.ended, clock.pending, handle.journal.followers]).toEqual([
      [1],
      0,
      [],
      0,
    ]);
  });

  it('tells at once of a run whose end the store did not take', async () => {
    const { handle, clock, run, kept } = await feedOf();
    run.text('a');
    await clock.settle();
    run.lose();
    await clock.settle();
    expect([kept.seqs, kept.lost, kept.ended]).toEqual([[1, 2], 1, 0]);
    expect([clock.pending, handle.journal.followers, run.lossListeners.size]).toEqual([[], 0, 0]);
  });

  it('tells of it when the store cannot be read either', async () => {
    const { handle, clock, run, kept } = await feedOf();
    await clock.settle();
    handle.journal.read = () => Promise.reject(new Error('disk'));
    handle.journal.fail(new Error('disk'));
    run.lose();
    await clock.settle();
    expect([kept.lost, clock.pending]).toEqual([1, []]);
  });

  it('gives a reader that is behind all that is stored before it tells of the loss', async () => {
    const { clock, run, kept, feed } = await feedOf();
    kept.paused = true;
    run.text('fills it');
    await clock.settle();
    run.text('waits');
    run.lose();
    await clock.settle();
    expect([kept.seqs, kept.lost]).toEqual([[1, 2], 0]);
    kept.paused = false;
    feed.resume();
    await clock.settle();
    expect([kept.seqs, kept.lost]).toEqual([[1, 2, 3], 1]);
  });

  it('looks past what other runs of the session have told since', async () => {
    const { handle, clock, run, kept } = await feedOf();
    await clock.settle();
    const text = (value: string) => ({ type: 'text_delta', text: value }) as const;
    for (let n = 0; n < 600; n++) handle.journal.append('cs_1', 'other', text('x'));
    handle.journal.append('cs_1', run.runId, text('mine'));
    run.lose();
    await clock.settle();
    expect([kept.seqs, kept.lost]).toEqual([[1, 602], 1]);
  });

  it('learns of a lost end from the record too, when nothing says so', async () => {
    const { clock, run, kept } = await feedOf();
    run.text('a');
    await clock.settle();
    run.state = 'failed';
    await clock.advance(CHECK_MS);
    expect([kept.seqs, kept.lost]).toEqual([[1, 2], 1]);
  });

  it('does not take an end that a slow reader has still to read for a lost one', async () => {
    const { handle, clock, run, kept, feed } = await feedOf();
    kept.paused = true;
    run.text('fills it');
    await clock.settle();
    run.finish();
    await clock.advance(2 * CHECK_MS);
    handle.journal.read = () => Promise.reject(new Error('disk'));
    await clock.advance(2 * CHECK_MS);
    expect(kept.lost).toBe(0);
    kept.paused = false;
    feed.resume();
    await clock.settle();
    expect([kept.seqs, kept.ended, kept.lost, clock.pending]).toEqual([[1, 2, 3], 1, 0, []]);
  });

  it('waits on while the record cannot be read', async () => {
    const { handle, clock, kept } = await feedOf();
    await clock.settle();
    handle.record = () => Promise.reject(new Error('disk'));
    await clock.advance(10 * CHECK_MS);
    expect(kept.lost).toBe(0);
  });
});
