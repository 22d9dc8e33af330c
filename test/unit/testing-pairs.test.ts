import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { driveEdges } from '../../src/testing/edges.ts';
import { driveEdgePairs } from '../../src/testing/pairs.ts';

/** Two ways lead to `middle`; the shortest paths go on from there by one of them only. */
const diamond = setup({
  types: { events: {} as { type: 'left' | 'right' | 'on' | 'back' } },
}).createMachine({
  id: 'diamond',
  initial: 'start',
  states: {
    start: { on: { left: 'middle', right: 'passing' } },
    passing: { always: 'middle' },
    middle: { on: { on: 'over', back: 'start' } },
    over: { type: 'final' },
  },
});

const inWords = (pairs: ReadonlySet<string>): string[] =>
  [...pairs].map((pair) => pair.replaceAll('diamond.', '').replace('\t', ', ')).sort();

const ALL = [
  'middle on back, start on left',
  'middle on back, start on right',
  'passing on always, middle on back',
  'passing on always, middle on on',
  'start on left, middle on back',
  'start on left, middle on on',
  'start on right, passing on always',
];

describe('pairs of transitions', () => {
  it('are driven whatever way the shortest paths take', async () => {
    const { pairs, missing } = await driveEdgePairs(diamond, { input: undefined });
    expect(inWords(pairs)).toEqual(ALL);
    expect(missing).toEqual([]);
  });

  it('are not all driven by the edges alone', async () => {
    const { pairs } = await driveEdges(diamond, { input: undefined });
    expect(ALL).toEqual(expect.arrayContaining(inWords(pairs)));
    expect(pairs.size).toBeLessThan(ALL.length);
  });
});
