import { describe, expect, it } from 'vitest';
import { readRun } from '../../src/explain/read-run.ts';
import { count, duration, list, quoted } from '../../src/explain/say.ts';
import type { JournalEvent } from '../../src/journal/events.ts';
import type { StoredEntry } from '../../src/journal/reader.ts';

const entry = (seq: number, event: JournalEvent, runId = 'run-1'): StoredEntry => ({
  sessionId: 'session',
  runId,
  seq,
  at: seq,
  kind: 'agent',
  type: event.type,
  event,
  json: '',
});

const text = (seq: number): StoredEntry => entry(seq, { type: 'text_delta', text: 'x' });

const call = (seq: number): StoredEntry =>
  entry(seq, { type: 'tool_start', tool_id: `c${seq}`, tool_name: 'search' });

/** A journal of a session that counts what is read of it. */
class CountingJournal {
  readonly entries: readonly StoredEntry[];
  taken = 0;

  constructor(entries: readonly StoredEntry[]) {
    this.entries = entries;
  }

  async read(_: string, from: number, limit: number): Promise<readonly StoredEntry[]> {
    const page = this.entries.filter(({ seq }) => seq >= from).slice(0, limit);
    this.taken += page.length;
    return page;
  }
}

const range = { sessionId: 'session', runId: 'run-1', evidence: [] };

const seqsOf = (entries: readonly { readonly seq: number }[]) => entries.map(({ seq }) => seq);

describe('the entries that an explanation is made of', () => {
  it('are the run’s own, without what only streams', async () => {
    const journal = new CountingJournal([
      call(3),
      text(4),
      entry(5, { type: 'tool_start', tool_id: 'x', tool_name: 'y' }, 'run-2'),
      call(6),
      call(7),
    ]);
    expect(seqsOf(await readRun(journal, { ...range, from: 3, to: 6 }))).toEqual([3, 6]);
  });

  it('have with them what the end names, also where it only streams', async () => {
    const journal = new CountingJournal([call(1), text(2), text(3)]);
    const read = await readRun(journal, { ...range, from: 1, to: 3, evidence: [3] });
    expect(seqsOf(read)).toEqual([1, 3]);
  });

  it('have with them what the end names, also of another run and behind the end', async () => {
    const other = entry(9, { type: 'tool_start', tool_id: 'x', tool_name: 'y' }, 'run-2');
    const journal = new CountingJournal([call(1), call(2), other]);
    const read = await readRun(journal, { ...range, from: 1, to: 2, evidence: [2, 9] });
    expect(read.map(({ seq, runId }) => [seq, runId])).toEqual([
      [1, 'run-1'],
      [2, 'run-1'],
      [9, 'run-2'],
    ]);
  });

  it('are read from both ends of a long run, and its evidence from between', async () => {
    const journal = new CountingJournal([
      call(1),
      ...Array.from({ length: 29_998 }, (_, n) => (n === 7_998 ? call(8_000) : text(n + 2))),
      call(30_000),
    ]);
    const read = await readRun(journal, { ...range, from: 1, to: 30_000, evidence: [8_000] });
    expect(seqsOf(read)).toEqual([1, 8_000, 30_000]);
    expect(journal.taken).toBeLessThan(20_000);
  });

  it('are bounded in number, the first and the last of them kept', async () => {
    const journal = new CountingJournal(Array.from({ length: 20_000 }, (_, n) => call(n + 1)));
    const seqs = seqsOf(await readRun(journal, { ...range, from: 1, to: 20_000 }));
    expect(seqs.length).toBeLessThan(5_000);
    expect([seqs[0], seqs.at(-1)]).toEqual([1, 20_000]);
    expect(new Set(seqs).size).toBe(seqs.length);
  });

  it('are what is left where the journal was trimmed', async () => {
    const journal = new CountingJournal([call(50), call(51)]);
    const read = await readRun(journal, { ...range, from: 1, to: 51, evidence: [3, 50] });
    expect(seqsOf(read)).toEqual([50, 51]);
  });

  it('are none where nothing is left', async () => {
    const journal = new CountingJournal([]);
    expect(await readRun(journal, { ...range, from: 1, to: 9, evidence: [3] })).toEqual([]);
  });
});

describe('the words of an explanation', () => {
  it.each([
    [-5, '0 ms'],
    [350, '350 ms'],
    [999.6, '1 s'],
    [2_449, '2.4 s'],
    [45_000, '45 s'],
    [60_000, '1 min'],
    [90_400, '1 min 30 s'],
    [3_600_000, '1 h'],
    [7_500_000, '2 h 5 min'],
  ])('tell %d ms as %s', (ms, words) => {
    expect(duration(ms)).toBe(words);
  });

  it('name a few and count the rest', () => {
    expect(list([])).toBe('');
    expect(list(['a'])).toBe('a');
    expect(list(['a', 'b'])).toBe('a and b');
    expect(list(['a', 'b', 'c', 'd', 'e', 'f'])).toBe('a, b, c, d and 2 more');
    expect([count(1, 'call'), count(2, 'call')]).toEqual(['1 call', '2 calls']);
  });

  it('keep text from outside on one line and short', () => {
    expect(quoted('a\n b')).toBe('“a b”');
    expect(quoted('x'.repeat(1_000)).length).toBeLessThan(210);
  });
});
