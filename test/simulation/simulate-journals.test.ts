import { describe, expect, it } from 'vitest';
import { historyOf } from '../../src/testing/simulation/campaign.ts';
import { checkKept, entriesIn } from '../../src/testing/simulation/kept-journal.ts';
import { simulate } from '../../src/testing/simulation/simulate.ts';
import type { SimHistory, StartStep } from '../../src/testing/simulation/steps.ts';

/** Journals that were taken from a server are checked, and what they tell is made to happen again. */

const start = (change: Partial<StartStep>): StartStep => ({
  do: 'start',
  via: 'runs',
  agent: 'desk',
  session: 'one',
  policy: 'cancel',
  graceMs: 0,
  onBusy: 'parallel',
  script: [],
  setupMs: 0,
  ...change,
});

const history = (...steps: SimHistory['steps']): SimHistory => ({
  settings: { seed: 1, chat: { policy: 'cancel', graceMs: 5_000 }, chatOnBusy: 'parallel' },
  steps,
});

const asks = start({
  script: [
    {
      silenceMs: 300,
      deltas: 2,
      pauseMs: 200,
      chars: 5,
      ending: { end: 'tools', tools: [{ tool: 'danger', ms: 400, ends: 'ok' }] },
    },
  ],
});

const stalls = start({
  script: [{ silenceMs: 0, deltas: 1, pauseMs: 0, chars: 5, ending: { end: 'stall' } }],
});

const HISTORIES: Readonly<Record<string, SimHistory>> = {
  'an answer': history(start({})),
  'an approval': history(asks, { do: 'wait', ms: 1_000 }, { do: 'decide', nth: 0, how: 'approve' }),
  'a denial': history(asks, { do: 'wait', ms: 1_000 }, { do: 'decide', nth: 0, how: 'deny' }),
  'an approval that nobody gave': history(asks),
  'a silent model': history(stalls),
  'a cancel': history(stalls, { do: 'wait', ms: 700 }, { do: 'cancel', nth: 0 }),
  'a reader that left': history(
    { ...asks, via: 'stream' },
    { do: 'wait', ms: 700 },
    { do: 'leave', nth: 0 },
  ),
};

async function journalOf(played: SimHistory): Promise<readonly string[]> {
  const { journals, faults } = await simulate(played);
  expect(faults).toEqual([]);
  return [...journals.values()].flat();
}

describe('a journal from a file', () => {
  it.each(Object.entries(HISTORIES))('of %s is decided alike again', async (_name, played) => {
    const { report, faults } = await checkKept((await journalOf(played)).join('\n'));
    expect(faults).toEqual([]);
    expect(report).toMatch(/was played again: started, /);
  });

  it('is read from the text of an event stream too', async () => {
    const lines = await journalOf(history(asks));
    const stream = lines
      .map((json, at) => `data: ${json}\nid: ${at + 1}\n\n`)
      .join(': heartbeat\n');
    expect(entriesIn(`retry: 1000\n${stream}`)).toEqual(entriesIn(lines.join('\n')));
  });

  it('is told to be wrong when an invariant is broken', async () => {
    const lines = await journalOf(history(asks));
    const { faults } = await checkKept(lines.toSpliced(3, 1).join('\n'));
    expect(faults.length).toBeGreaterThan(0);
  });

  it('is told to be wrong when it is decided otherwise', async () => {
    const lines = await journalOf(HISTORIES['a reader that left'] ?? history());
    const other = lines.map((line) => line.replaceAll('unclaimed', 'external'));
    const { faults } = await checkKept(other.join('\n'));
    expect(faults.join()).toMatch(/when it is played again/);
  });

  it('without entries is no journal', async () => {
    expect((await checkKept('hello\n')).faults).toEqual(['the file has no entries']);
  });

  it('names what cannot happen again by itself', async () => {
    const crash = {
      do: 'crash',
      keeps: 0,
      downMs: 20_000,
      recover: 'fail',
      resumeOnStart: false,
    } as const;
    const lines = await journalOf(history(stalls, crash));
    expect((await checkKept(lines.join('\n'))).report).toMatch(
      /not played again: its process was lost/,
    );
  });
});

describe('histories', () => {
  it('are the same for a seed, and others for another', () => {
    expect(historyOf(5, 20)).toEqual(historyOf(5, 20));
    expect(historyOf(5, 20)).not.toEqual(historyOf(6, 20));
  });
});
