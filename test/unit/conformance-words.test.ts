import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { labelOfEvent } from '../../src/testing/labels.ts';
import { seenGraph } from '../../src/testing/conformance/paths/graph.ts';
import { walkCharts } from '../../src/testing/conformance/paths/all.ts';
import { wordsOf } from '../../src/testing/conformance/paths/words.ts';
import { actOf } from '../../src/testing/conformance/acts/acts.ts';

/** The projection of a chart's paths to what a client can do. */

const door = setup({ types: { emitted: {} as { type: string } } }).createMachine({
  id: 'door',
  initial: 'closed',
  states: {
    closed: { on: { open: { target: 'opening' }, burn: { target: 'gone' } } },
    opening: { on: { opened: { target: 'wide' }, jammed: { target: 'closed' }, shut: 'closed' } },
    wide: { on: { shut: { target: 'gone' }, nudge: {} } },
    gone: { type: 'final' },
  },
});

const SEES: Readonly<Record<string, string>> = {
  open: 'Ann opens it',
  shut: 'Ann shuts it',
  opened: 'itself',
};

const graph = (sees = SEES) =>
  seenGraph(door, { input: undefined }, (event) => {
    const step = sees[labelOfEvent(event)];
    if (step === undefined) return 'never';
    return step === 'itself' ? 'by itself' : { step };
  });

const stepsOf = (words: ReturnType<typeof wordsOf>) => words.map(({ steps }) => steps);

describe('words of a chart', () => {
  it('leave out what happens by itself and what nobody outside can cause', () => {
    const words = wordsOf(graph(), { endsAnywhere: false, cost: () => 1 });
    expect(stepsOf(words)).toEqual([['Ann opens it', 'Ann shuts it']]);
  });

  it('take a step only at rest: what needs a race is no word', () => {
    const words = wordsOf(graph({ ...SEES, opened: 'Bob helps' }), {
      endsAnywhere: false,
      cost: () => 1,
    });
    expect(stepsOf(words)).toContainEqual([
      'Ann opens it',
      'Ann shuts it',
      'Ann opens it',
      'Bob helps',
      'Ann shuts it',
    ]);
  });

  it('tell of every way that the server may go by itself', () => {
    const sees = { open: 'Ann opens it', opened: 'itself', jammed: 'itself' };
    const [word, ...others] = wordsOf(graph(sees), { endsAnywhere: true, cost: () => 1 });
    expect(others).toEqual([]);
    expect(word?.steps).toEqual(['Ann opens it']);
    expect(word?.told.map(({ end }) => end.value)).toEqual(['wide', 'closed']);
  });

  it('end where the chart does, by the cheapest way', () => {
    const sees = { ...SEES, burn: 'it burns', opened: 'Bob helps' };
    const cost = (step: string): number => (step === 'it burns' ? 9 : 1);
    const words = wordsOf(graph(sees), { endsAnywhere: false, cost });
    expect(stepsOf(words)).toContainEqual(['Ann opens it', 'Bob helps', 'Ann shuts it']);
    expect(stepsOf(words)).toContainEqual(['it burns']);
  });
});

describe('paths of the product’s charts', () => {
  const { paths } = walkCharts(() => true);

  it('have an act for each of their steps', () => {
    for (const step of new Set(paths.flatMap(({ steps }) => steps))) {
      expect(() => actOf(step)).not.toThrow();
    }
  });

  it('expect something, and are there once', () => {
    for (const { expected } of paths) expect(expected.length).toBeGreaterThan(0);
    const keys = paths.map(({ scenario, steps }) => `${scenario}: ${steps.join(', ')}`);
    expect(new Set(keys).size).toBe(keys.length);
  });
});
