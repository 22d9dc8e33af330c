import { describe, expect, it } from 'vitest';
import { checkRuns } from '../../src/journal/invariants.ts';
import { finished, journalOf, of, started, text } from './journal-samples.ts';

const runs = (...ids: string[]) => new Set(ids);

describe('the check of some runs of a session', () => {
  it('takes the first entry as it is, and finds a hole after it (INV-60)', () => {
    const all = journalOf(of('a', started), of('a', finished), of('b', started), of('b', finished));
    expect(checkRuns(all.slice(2), runs('b'))).toEqual([]);
    const [first, , ...rest] = all;
    expect(checkRuns([first as never, ...rest], runs('a', 'b'))).toMatchObject([
      { invariant: 'INV-60', seq: 3 },
    ]);
  });

  it('finds what is wrong with those runs alone', () => {
    const all = journalOf(
      ...[of('a', started), of('b', started), of('a', started)],
      ...[of('b', finished), of('b', text), of('a', finished)],
    );
    expect(checkRuns(all, runs('a'))).toMatchObject([{ runId: 'a', seq: 3 }]);
    expect(checkRuns(all, runs('b'))).toMatchObject([{ runId: 'b', seq: 5, invariant: 'INV-23' }]);
    expect(checkRuns(all, runs('a', 'b'))).toHaveLength(2);
  });

  it('has nothing to say of none', () => {
    expect(checkRuns([], runs('a'))).toEqual([]);
    expect(checkRuns(journalOf(started, started), runs())).toEqual([]);
  });
});
