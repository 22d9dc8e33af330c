import { describe, expect, it } from 'vitest';
import { RunFeed, type RunFeedSink } from '../../src/http/run-feed.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import { FakeHandle, startCommand } from '../support/fake-handle.ts';

/** A feed of one run that keeps what it is given; `paused` makes it say that it is full. */
async function feedOf() {
  const handle = new FakeHandle();
  const clock = createVirtualClock();
  const { runId, sessionId } = await handle.start(startCommand());
  const run = handle.runs.get(runId);
  if (run === undefined) throw new Error('invariant: the fake keeps what it starts');
  const kept = { seqs: [] as number[], ended: 0, gaps: 0, paused: false, warned: 0 };
  const sink: RunFeedSink = {
    entries: (batch, ended) => {
      kept.seqs.push(...batch.map(({ seq }) => seq));
      if (ended) kept.ended += 1;
      return !kept.paused;
    },
    gap: () => {
      kept.gaps += 1;
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
      const [retry] = clock.pending;
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
    expect(clock.pending.map(({ delayMs }) => delayMs)).toEqual([250]);
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
});
