import { describe, expect, it } from 'vitest';
import { SteadyFollower } from '../../src/http/steady-follower.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import { FakeJournal } from '../support/fake-journal.ts';

/** A follower of a session with five entries that keeps what it is given. */
function follower({ from = 1, trimmed = 0 } = {}) {
  const journal = new FakeJournal();
  const clock = createVirtualClock();
  const text = () => journal.append('s', 'r', { type: 'text_delta', text: 'x' });
  for (let n = 0; n < 5; n++) text();
  if (trimmed > 0) journal.trim('s', trimmed);
  const kept = { seqs: [] as number[], gaps: [] as object[] };
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const steady = new SteadyFollower(
    { journal, clock, log, sessionId: 's', from, about: {} },
    {
      entries: (batch) => {
        kept.seqs.push(...batch.map(({ seq }) => seq));
        return true;
      },
      gap: (gap) => kept.gaps.push(gap),
    },
  );
  return { journal, clock, kept, text, steady };
}

describe('a follower that stays', () => {
  it('gives the entries of all runs and says where it stands', async () => {
    const { journal, clock, kept, steady } = follower({ from: 3 });
    journal.append('s', 'other', { type: 'text_delta', text: 'x' });
    await clock.settle();
    expect([kept.seqs, steady.next]).toEqual([[3, 4, 5, 6], 7]);
  });

  it('tells of a gap once, also when the store fails behind it', async () => {
    const { journal, clock, kept, steady } = follower({ trimmed: 5 });
    await clock.settle();
    expect([kept.gaps, steady.next]).toEqual([[{ from: 1, to: 5 }], 6]);
    journal.fail(new Error('disk'));
    await clock.advance(250);
    expect(kept.gaps).toEqual([{ from: 1, to: 5 }]);
  });

  it('loses and doubles nothing over many failures', async () => {
    const { journal, clock, kept, text } = follower();
    for (let n = 0; n < 10; n++) {
      await clock.settle();
      journal.fail(new Error('disk'));
      text();
      await clock.advance(5_000);
    }
    expect(kept.seqs).toEqual(Array.from({ length: 15 }, (_, n) => n + 1));
  });

  it('gives nothing more once it is closed, and leaves no timer', async () => {
    const { journal, clock, kept, text, steady } = follower();
    await clock.settle();
    journal.fail(new Error('disk'));
    steady.close();
    text();
    await clock.advance(5_000);
    expect([kept.seqs.length, clock.pending, journal.followers]).toEqual([5, [], 0]);
  });
});
