import { describe, expect, it } from 'vitest';
import { assign, fromPromise, sendTo, setup } from 'xstate';
import type { CompositionInvariant } from '../../src/testing/composition/contract.ts';
import { exploreComposition } from '../../src/testing/composition/explore.ts';
import { CompositionError } from '../../src/testing/composition/oracle.ts';
import { compositionTable } from '../../src/testing/composition/table.ts';

type Lamp = { type: 'lamp.on' } | { type: 'lamp.off' };

/** It goes out by itself after a while, and ends when it burns through. */
const lamp = setup({
  types: { events: {} as Lamp },
  actors: { burn: fromPromise(() => Promise.resolve()) },
  delays: { patience: 1_000 },
}).createMachine({
  id: 'lamp',
  initial: 'dark',
  states: {
    dark: { on: { 'lamp.on': 'lit' } },
    lit: {
      invoke: { id: 'burn', src: 'burn', onDone: 'broken' },
      on: { 'lamp.off': 'dark' },
      after: { patience: 'dark' },
    },
    broken: { type: 'final' },
  },
});

const houseSetup = setup({
  types: {
    context: {} as { pressed: number },
    events: {} as { type: 'press' | 'release' | 'leave' },
  },
  actors: { lamp },
});

interface Wiring {
  readonly onRelease?: Lamp['type'];
  readonly hears?: boolean;
}

/** A house with one lamp and a switch; the wiring is the part that only both together show wrong. */
const house = ({ onRelease = 'lamp.off', hears = true }: Wiring = {}) =>
  houseSetup.createMachine({
    id: 'house',
    context: { pressed: 0 },
    initial: 'lived',
    states: {
      lived: {
        invoke: { id: 'lamp', src: 'lamp', ...(hears && { onDone: 'left' }) },
        on: {
          press: {
            actions: [
              assign({ pressed: ({ context }) => context.pressed + 1 }),
              sendTo('lamp', { type: 'lamp.on' }),
            ],
          },
          release: { actions: sendTo('lamp', { type: onRelease }) },
          leave: 'left',
        },
      },
      left: { type: 'final' },
    },
  });

const OFF: CompositionInvariant = {
  name: 'A lamp is dark after its switch was released.',
  violation: ({ charts, history }) => {
    const last = history.findLast(({ kind }) => kind === 'sent');
    const released = last?.kind === 'sent' && last.event.type === 'release';
    const lit = charts.some(({ id, snapshot }) => id === 'lamp' && snapshot.matches('lit'));
    return released && lit ? 'it is lit' : undefined;
  },
};

const OPTIONS = {
  input: undefined,
  real: ['lamp'],
  commands: { press: { '': {} }, release: { '': {} } },
  children: { burn: { through: { done: undefined } } },
  invariants: [] as readonly CompositionInvariant[],
  end: [{ type: 'leave' }],
} as const;

describe('exploring a composition', () => {
  it('finds every state of the whole and every step in it', () => {
    const { states, steps, edges, coverages } = exploreComposition(house(), OPTIONS);
    expect(compositionTable({ edges }).split('\n')).toEqual([
      'from\ton\tto\tfacts',
      '-\tstart\tlived | lamp: dark\t',
      'lived | lamp: dark\tpress\tlived | lamp: lit\t',
      'lived | lamp: dark\trelease\tlived | lamp: dark\t',
      'lived | lamp: lit\tpress\tlived | lamp: lit\t',
      'lived | lamp: lit\trelease\tlived | lamp: dark\t',
      'lived | lamp: lit\tdone lamp/burn (through)\tleft\t',
      'lived | lamp: lit\tafter patience of lamp\tlived | lamp: dark\t',
      '',
    ]);
    expect([states, steps]).toEqual([3, 7]);
    expect(coverages.get('lamp')?.missing).toEqual([]);
  });

  it('drives each step after each that may precede it', () => {
    const { pairs } = exploreComposition(house(), OPTIONS);
    expect(pairs).toEqual([
      'after patience of lamp, then press',
      'after patience of lamp, then release',
      'press, then after patience of lamp',
      'press, then done lamp/burn (through)',
      'press, then press',
      'press, then release',
      'release, then press',
      'release, then release',
    ]);
  });

  it('shows the history that breaks an invariant', () => {
    const explore = () =>
      exploreComposition(house({ onRelease: 'lamp.on' }), { ...OPTIONS, invariants: [OFF] });
    expect(explore).toThrow(
      'A lamp is dark after its switch was released. But: it is lit\n  1. release',
    );
    expect(explore).toThrow(CompositionError);
  });

  it('shows what is left when the whole does not come to an end', () => {
    expect(() => exploreComposition(house({ hears: false }), { ...OPTIONS, end: [] })).toThrow(
      'Left at the end: house in "lived", lamp in "dark".\n  at the start',
    );
  });

  it('shows a chart that has an error', () => {
    const children = { burn: { bug: { error: new Error('bug') } } };
    expect(() => exploreComposition(house(), { ...OPTIONS, children })).toThrow(
      'A chart has an error.\n  1. press\n  2. error lamp/burn (bug)',
    );
  });

  it('refuses a key that is too fine', () => {
    const key = { house: ({ context }: { context: { pressed: number } }) => context.pressed };
    expect(() => exploreComposition(house(), { ...OPTIONS, key, limit: 20 })).toThrow(
      'More than 20 states',
    );
  });

  it('refuses a key that leaves out what decides', () => {
    const commands = {
      ...OPTIONS.commands,
      press: {
        '': ({ parent }: { parent: { context: { pressed: number } } }) =>
          parent.context.pressed < 2 ? {} : undefined,
      },
    };
    expect(() => exploreComposition(house(), { ...OPTIONS, commands })).toThrow(/is too coarse/);
  });

  it('refuses a real child that is no chart or that nobody has', () => {
    expect(() => exploreComposition(house(), { ...OPTIONS, real: ['lamp', 'burn'] })).toThrow(
      'The child "burn" is no chart.',
    );
    expect(() => exploreComposition(house(), { ...OPTIONS, real: ['lift'] })).toThrow(
      'No chart here has a child "lift".',
    );
  });
});
