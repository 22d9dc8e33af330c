import { describe, expect, it } from 'vitest';
import { type Group, pageOf } from '../../src/stores/groups.ts';

const ALL = { limits: { entriesMax: 100, bytesMax: 1_000 }, floor: 0 };

const group = (firstSeq: number, lastSeq: number): Group => {
  const seqs = Array.from({ length: lastSeq - firstSeq + 1 }, (_, i) => firstSeq + i);
  return { firstSeq, lastSeq, body: seqs.join('\n') };
};

describe('pages of groups', () => {
  it('take an entry once where groups overlap', () => {
    const page = pageOf([group(1, 4), group(1, 2), group(3, 6), group(7, 7)], 2, ALL);

    expect(page.lines).toEqual(['2', '3', '4', '5', '6', '7']);
  });

  it('begin after a hole and end before the next one', () => {
    const page = pageOf([group(1, 2), group(5, 6), group(9, 9)], 3, ALL);

    expect(page).toEqual({ firstSeq: 5, lines: ['5', '6'], floor: 0, complete: false });
  });

  it('begin above the floor', () => {
    expect(pageOf([group(1, 4)], 1, { ...ALL, floor: 2 })).toMatchObject({
      firstSeq: 3,
      lines: ['3', '4'],
    });
  });
});
