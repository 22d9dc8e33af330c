import { describe, expect, it } from 'vitest';
import { InvariantWatch } from '../../src/invariant-watch.ts';
import type { JournalEvent } from '../../src/journal/events.ts';
import type { StoredEntry } from '../../src/journal/reader.ts';
import type { StoredRun } from '../../src/stores/store.ts';
import { microtasks } from './journal-kit.ts';
import { finished, journalOf, of, started, text, type Step } from './journal-samples.ts';

const entriesOf = (...steps: Step[]): StoredEntry[] =>
  journalOf(...steps).map((envelope) => {
    const { run_id: runId, seq, at, payload } = envelope;
    const { kind } = payload;
    const event: JournalEvent = payload.event;
    const json = JSON.stringify(envelope);
    return { sessionId: 's', runId, seq, at, kind, type: event.type, event, json };
  });

interface Known {
  readonly firstSeq?: number;
  readonly continues?: string;
  readonly isOver?: boolean;
}

/** A watch over one session, whose store may lack its beginning. */
function world(entries: readonly StoredEntry[], runs: Readonly<Record<string, Known>>) {
  const told: { run_id: string; invariant: string }[] = [];
  const warned: string[] = [];
  const quarantined: string[] = [];
  const reads: number[] = [];
  const watch = new InvariantWatch({
    journal: {
      getRecord: (runId) => Promise.resolve(runs[runId] && storedRun(runId, runs[runId])),
      read: (_, from, limit) => {
        reads.push(from);
        return Promise.resolve(entries.filter(({ seq }) => seq >= from).slice(0, limit));
      },
    },
    log: {
      error: (fields: never) => void told.push(fields),
      warn: (_: unknown, text: string) => void warned.push(text),
    } as never,
    quarantine: ({ runId }, { code }) => {
      quarantined.push(`${runId} ${code}`);
      return Promise.resolve();
    },
  });
  const heard = async (...some: StoredEntry[]) => {
    watch.heard(some);
    for (let turn = 0; turn < 10; turn += 1) await microtasks();
  };
  return { watch, heard, told, warned, quarantined, reads };
}

function storedRun(runId: string, { firstSeq = 1, continues, isOver }: Known): StoredRun {
  const record = JSON.stringify({
    run_id: runId,
    first_seq: firstSeq,
    continues: continues ?? null,
  });
  const settledSeq = isOver === true ? 99 : undefined;
  const rest = { parked: false, automatic: false, continuedBy: undefined };
  return { runId, sessionId: 's', record, settledSeq, ...rest };
}

const TWICE = entriesOf(started, started, finished);

describe('the watch over the invariants', () => {
  it('tells of a violation once and quarantines its run', async () => {
    const { heard, told, quarantined } = world(TWICE, { r: {} });
    await heard(...TWICE);
    await heard(...TWICE.slice(2));

    expect(told).toMatchObject([{ run_id: 'r', invariant: 'JN-01', seq: 2 }]);
    expect(new Set(quarantined)).toEqual(new Set(['r invariant_violated']));
  });

  it('says nothing of a run that is right', async () => {
    const entries = entriesOf(started, text, finished);
    const { heard, told, quarantined } = world(entries, { r: { isOver: true } });
    await heard(...entries);
    expect([told, quarantined]).toEqual([[], []]);
  });

  it('does not look where only text has come', async () => {
    const entries = entriesOf(started, text);
    const { heard, reads } = world(entries, { r: {} });
    await heard(...entries.slice(1));
    expect(reads).toEqual([]);
  });

  it('blames a run for nothing that another did', async () => {
    const entries = entriesOf(of('a', started), of('a', started), of('b', started));
    const { heard, told } = world(entries, { a: {}, b: { firstSeq: 3 } });
    await heard(...entries.slice(2));
    expect(told).toEqual([]);
  });

  it('reads those before it that a run goes on with', async () => {
    const entries = entriesOf(
      ...[of('x', started), of('a', started), of('b', { ...started, continues: 'a' } as never)],
    );
    const { heard, told, reads } = world(entries, {
      a: { firstSeq: 2, isOver: true },
      b: { firstSeq: 3, continues: 'a' },
    });
    await heard(...entries.slice(2));
    expect(reads[0]).toBe(2);
    expect(told).toMatchObject([{ run_id: 'b', because: expect.stringContaining('not parked') }]);
  });

  it.each([
    ['whose first entries are trimmed', TWICE.slice(1), { r: {} }],
    ['that nobody knows', TWICE, {}],
    ['that goes on with one that is forgotten', TWICE, { r: { continues: 'gone' } }],
  ])('does not judge a run %s', async (_, entries, runs) => {
    const { heard, told, quarantined } = world(entries, runs);
    await heard(...TWICE);
    expect([told, quarantined]).toEqual([[], []]);
  });

  it('goes on with the next run when the store fails', async () => {
    const { heard, watch, told, warned } = world(TWICE, {
      get bad(): never {
        throw new Error('disk');
      },
      r: {},
    } as never);
    const [first] = TWICE as [StoredEntry];
    await heard({ ...first, runId: 'bad' }, ...TWICE);
    expect(warned).toEqual(['A run could not be checked']);
    expect(told).toHaveLength(1);
    await watch.stop();
  });

  it('looks at nothing more once it is stopped', async () => {
    const { heard, watch, reads } = world(TWICE, { r: {} });
    watch.heard(TWICE);
    await watch.stop();
    await heard(...TWICE);
    expect(reads).toEqual([]);
  });
});
