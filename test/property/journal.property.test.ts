import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { JournalHistory, type Step } from './journal-history.ts';

/**
 * The hazard: entries of several runs reach the store in groups, some groups fail or lose their
 * answer, the process dies in between, and readers come, fall behind and return at any moment.
 * Whatever happens, what a reader was given must be what the store has, once and in order.
 */

const RUNS = 3;
const run = fc.nat({ max: RUNS - 1 });
const reader = fc.nat({ max: 3 });

/** Weighted towards writing and turns: without them nothing is under way when something fails. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('text'), run, text: fc.string() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('event'), run }) },
  { weight: 6, arbitrary: fc.constant({ do: 'turn' }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('answer') }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('follow'), reader, back: fc.nat({ max: 6 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('fill'), reader, room: fc.nat({ max: 2 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('resume'), reader, room: fc.nat({ max: 9 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close'), reader }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle'), run }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release'), run }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('trim'),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hold'), held: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('fate'),
      fate: fc.constantFrom('refused', 'unanswered'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'crash' }) },
) as fc.Arbitrary<Step>;

const history = fc.array(step, { minLength: 5, maxLength: 60 });

describe('journal: any history of writers, readers and failures', () => {
  const directory = mkdtempSync(join(tmpdir(), 'runwarden-journal-'));
  let files = 0;
  afterAll(() => rmSync(directory, { recursive: true }));

  it('gives every reader the bytes of the store, in memory', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const store = createMemoryStore();
        await new JournalHistory(() => store, RUNS).play(steps);
      }),
      { numRuns: 400 },
    );
  });

  it('gives every reader the bytes of the store, in a file that outlives its process', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.constantFrom(1, 300, 1_000_000), async (steps, tailBytesMax) => {
        files += 1;
        const path = join(directory, `${files}.db`);
        const limits = { tailBytesMax, sessionsPerStep: 1 };
        await new JournalHistory(() => openSqliteStore({ path, limits }), RUNS).play(steps);
      }),
      { numRuns: 60 },
    );
  });
});
