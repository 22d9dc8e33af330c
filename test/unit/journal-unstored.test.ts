import { describe, expect, it } from 'vitest';
import type { RunJournal } from '../../src/journal/run-journal.ts';
import { finished, journalWorld, reasoning, started } from './journal-kit.ts';
import { complete, progress, requested } from './journal-samples.ts';
import type { AgentEvent } from '../../src/journal/events.ts';

const agent = (run: RunJournal, ...events: unknown[]) =>
  events.map((event) => run.append('agent', event as AgentEvent));

const unstored = ({ unstored: events }: RunJournal) =>
  events.map(({ payload, seq }) => [payload.event.type, seq]);

describe('journal: what a failure costs', () => {
  it('is nothing while the store takes everything, and nothing is kept for long', async () => {
    const { journal, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    for (let at = 0; at < 5; at += 1) {
      agent(run, requested(`${at}`), complete(`${at}`));
      await turns.all();
    }
    run.append('lifecycle', started);
    expect(unstored(run)).toEqual([['started', 11]]);
  });

  it('is what the refused group had and what came after it, in order', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    run.append('lifecycle', started);
    await turns.all();
    store.fates = ['refused'];
    agent(run, requested());
    await turns.all();
    agent(run, complete());
    expect(unstored(run)).toEqual([
      ['tool_requested', 2],
      ['tool_complete', 0],
    ]);
    expect(run.dropped).toBe(1);
  });

  it('counts neither text nor reasoning nor progress', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    store.fates = ['refused'];
    for (let refused = 0; refused < 2; refused += 1) {
      run.text('x');
      agent(run, reasoning('because'), progress());
      await turns.all();
    }
    expect(unstored(run)).toEqual([]);
  });

  it('counts nothing that came after the settlement, or after the run let go', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    store.fates = ['refused'];
    agent(run, requested());
    const settled = run.settle(finished);
    agent(run, complete());
    await Promise.all([turns.all(), expect(settled).rejects.toThrow()]);
    agent(run, complete());
    await run.release();
    agent(run, complete());
    expect(unstored(run)).toEqual([['tool_requested', 1]]);
  });

  it('may be stored all the same when only the answer was lost', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    store.fates = ['unanswered'];
    agent(run, requested());
    await turns.all();
    expect(unstored(run)).toEqual([['tool_requested', 1]]);
    expect(store.head('s')).toBe(1);
  });
});
