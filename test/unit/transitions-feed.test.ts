import { describe, expect, it } from 'vitest';
import { assign, emit, setup, type DoneActorEvent } from 'xstate';
import { watchGuards } from '../../src/transitions/guard-notes.ts';
import { FeedWorld } from './transitions-kit.ts';

/** A child that ends when it is told to, which makes its parent step inside the child's step. */
const childMachine = setup({
  types: { events: {} as { type: 'work.end' } | { type: 'work.look' } },
  guards: { isSure: () => false, isReady: () => true },
}).createMachine({
  id: 'child',
  initial: 'open',
  states: {
    open: {
      on: {
        'work.look': { guard: 'isSure', target: 'closed' },
        'work.end': [
          { guard: 'isSure', target: 'closed' },
          { guard: 'isReady', target: 'passing' },
        ],
      },
    },
    passing: { always: { target: 'closed' } },
    closed: { type: 'final' },
  },
});

interface Count {
  readonly told: number;
}

type ParentEvent =
  | { type: 'begin' }
  | { type: 'count' }
  | { type: 'stop' }
  | { type: 'work.end' }
  | { type: 'work.look' }
  | DoneActorEvent;

/** A run in small: it passes on what it is told, and counts without leaving its state. */
function parentMachine(child = childMachine) {
  return setup({
    types: { context: {} as Count, events: {} as ParentEvent },
    actors: { child },
    actions: { count: assign({ told: ({ context }: { context: Count }) => context.told + 1 }) },
    guards: { isMany: ({ context }) => context.told > 1, isClosed: () => false },
  }).createMachine({
    id: 'parent',
    context: { told: 0 },
    initial: 'idle',
    states: {
      idle: { on: { begin: { target: 'working' } } },
      working: {
        invoke: { id: 'child', src: 'child', onDone: { target: 'resting' }, onError: {} },
        always: { guard: 'isClosed', target: 'over' },
        on: {
          count: { actions: ['count', emit({ type: 'counted' })] },
          stop: [{ guard: 'isMany', target: 'over' }],
          'work.end': {
            actions: ({ self, event }) => self.getSnapshot().children['child']?.send(event),
          },
          'work.look': {
            actions: ({ self, event }) => self.getSnapshot().children['child']?.send(event),
          },
        },
      },
      resting: { on: { stop: { target: 'over' } } },
      over: { type: 'final' },
    },
  });
}

describe('the transition log', () => {
  it('has the first state of a chart and each state it comes to', () => {
    const world = new FeedWorld(() => parentMachine());
    expect(world.lines).toEqual([
      'run | null > idle | it was started',
      'run | idle > working | begin',
      'child | null > open | it was started',
    ]);
  });

  it('has the end of a child before the step that its parent takes inside it', () => {
    const world = new FeedWorld(() => parentMachine());
    world.tell({ type: 'work.end' });
    expect(world.lines.slice(3)).toEqual([
      'child | open > closed | work.end',
      'run | working > resting | child ended',
    ]);
    expect(world.steps.at(-2)).toMatchObject({ chart: 'child', ended: true });
    expect(world.steps.at(-1)).toMatchObject({ chart: 'parent', ended: false });
  });

  it('tells states that are passed through as one step', () => {
    const world = new FeedWorld(() => parentMachine());
    world.tell({ type: 'work.end' });
    expect(world.lines.filter((line) => line.includes('passing'))).toEqual([]);
  });

  it('leaves out what changes no state', () => {
    const world = new FeedWorld(() => parentMachine());
    const before = world.steps.length;
    world.tell({ type: 'count' });
    world.tell({ type: 'unheard-of' });
    expect(world.steps).toHaveLength(before);
  });

  it('has a child that was stopped before its end', () => {
    const world = new FeedWorld(() => parentMachine());
    world.tell({ type: 'count' });
    world.tell({ type: 'count' });
    world.tell({ type: 'stop' });
    expect(world.lines.slice(3)).toEqual([
      'run | working > over | stop',
      'child | open > null | it was stopped',
    ]);
  });

  it('is not disturbed by an inspector that is told of actors of no run', () => {
    const world = new FeedWorld(() => parentMachine(), []);
    world.tell({ type: 'begin' });
    expect(world.steps).toEqual([]);
  });
});

describe('guards that say no', () => {
  const watchedWorld = (runIds?: readonly string[]): FeedWorld =>
    new FeedWorld(
      (notes) => watchGuards(parentMachine(watchGuards(childMachine, notes)), notes),
      runIds,
    );

  it('are named at the step that was taken all the same', () => {
    const world = watchedWorld();
    world.tell({ type: 'work.end' });
    expect(world.lines.slice(3)).toEqual([
      'child | open > closed | work.end | isSure',
      'run | working > resting | child ended',
    ]);
  });

  it('are named when they refused an event from outside, once while the chart stands there', () => {
    const world = watchedWorld();
    world.tell({ type: 'stop' });
    world.tell({ type: 'stop' });
    expect(world.lines.slice(3)).toEqual(['run | working > working | stop | isMany']);
    world.tell({ type: 'work.end' });
    world.tell({ type: 'stop' });
    expect(world.lines.at(-1)).toBe('run | resting > over | stop');
  });

  it('of a chart that is given the same event as another are not taken for the other’s', () => {
    const world = watchedWorld(['r2', 'r1']);
    world.tellAll({ type: 'stop' });
    expect(world.lines.slice(3)).toEqual(['run | working > working | stop | isMany']);
  });

  it('of a child are not taken for those of the parent whose step they stand in', () => {
    const world = watchedWorld();
    world.tell({ type: 'work.look' });
    expect(world.lines.slice(3)).toEqual(['child | open > open | work.look | isSure']);
  });
});
