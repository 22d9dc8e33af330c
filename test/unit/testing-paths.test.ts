import { describe, expect, it } from 'vitest';
import { assign, emit, fromPromise, raise, setup } from 'xstate';
import { coverageTable, createCoverage } from '../../src/testing/coverage.ts';
import { startDrive } from '../../src/testing/drive.ts';
import { driveEdge, driveEdges, transitionTable } from '../../src/testing/edges.ts';
import { edgesOf, type PathOptions } from '../../src/testing/paths.ts';
import { stationMachine } from './testing-charts.ts';

const CARS = ['van', 'bus'];

const OPTIONS: PathOptions<typeof stationMachine> = {
  input: { triesMax: 2 },
  key: ({ context }) => [context.tries, ...context.cars],
  payloads: {
    'car.come': Object.fromEntries(CARS.map((car) => [car, { car }])),
    'power.tick': { weak: { amps: 1 } },
    'xstate.done.actor.openGrid': {
      power: { output: { amps: 16 } },
      dead: { output: { amps: 0 } },
    },
    'xstate.done.actor.*': {
      full: ({ context }) =>
        context.cars.map((car: string) => ({ type: `xstate.done.actor.${car}` })),
    },
  },
};

const rowsOf = (options: PathOptions<typeof stationMachine>) =>
  edgesOf(stationMachine, options).map(({ from, on, to, effects }) => [from, on, to, ...effects]);

describe('edges of a chart', () => {
  it('begin with what the start does', () => {
    expect(rowsOf(OPTIONS)[0]).toEqual([
      '-',
      'start',
      'opening#1',
      'arm after opening 4000 ms',
      'start openGrid',
    ]);
  });

  it('have timers, ends of children and commands, each with its variants', () => {
    const first = rowsOf(OPTIONS).filter(([from]) => from === 'opening#1');
    expect(first.map(([, on, to]) => [on, to])).toEqual([
      ['done openGrid (power)', 'open.{plugs, lamp.green}#1'],
      ['done openGrid (dead)', 'pausing#1'],
      ['error openGrid', 'pausing#1'],
      ['after opening', 'pausing#1'],
      ['station.close', 'closed#1'],
    ]);
  });

  it('leave out a timer that never fires', () => {
    expect(rowsOf(OPTIONS).filter(([, on]) => on === 'after never')).toEqual([]);
  });

  it('have the end of a spawned child only while that child runs', () => {
    const ends = rowsOf(OPTIONS).filter(([, on]) => on?.startsWith('done van'));
    expect(ends.length).toBeGreaterThan(0);
    for (const [from, , to, ...effects] of ends) {
      expect(from).toContain('van');
      expect(to).not.toContain('van');
      expect(effects).toEqual(['stop van', 'emit car.charged']);
    }
  });

  it('follow nothing out of a final state', () => {
    expect(rowsOf(OPTIONS).filter(([from]) => from?.startsWith('closed'))).toEqual([]);
  });

  it('tell facts in the words that were asked for', () => {
    const fact = (event: { type: string; car?: string }) =>
      `${event.type} ${event.car ?? ''}`.trim();
    const facts = rowsOf({ ...OPTIONS, fact }).flatMap(([, , , ...effects]) => effects);
    expect(facts).toContain('emit car.charged van');
  });

  it('ask for payloads when an event is a wildcard', () => {
    const { 'xstate.done.actor.*': _, ...payloads } = OPTIONS.payloads ?? {};
    expect(() => edgesOf(stationMachine, { ...OPTIONS, payloads })).toThrow(
      '"xstate.done.actor.*" is a wildcard: list payloads for it that give a concrete `type`.',
    );
  });

  it('ask for a coarser key when a counter never ends', () => {
    const counter = setup({ types: { context: {} as { count: number } } }).createMachine({
      context: { count: 0 },
      on: { more: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
    });
    const walk = {
      input: undefined as never,
      key: ({ context }: { context: { count: number } }) => context.count,
      limit: 50,
    };
    expect(() => edgesOf(counter, walk)).toThrow('counts up without a bound');
  });

  it('ask for a finer key when the state behind it decides', () => {
    const hidden = setup({ types: { context: {} as { armed: boolean } } }).createMachine({
      context: { armed: false },
      initial: 'a',
      states: {
        a: {
          on: {
            go: { target: 'b' },
            arm: { target: 'b', actions: assign({ armed: true }) },
          },
        },
        b: { on: { fire: [{ guard: ({ context }) => context.armed, target: 'c' }, {}] } },
        c: { on: { back: { target: 'a' } } },
      },
    });
    expect(() => edgesOf(hidden, { input: undefined as never })).toThrow(
      /key .* is too coarse: only sometimes fire/,
    );
    const keyed = {
      input: undefined as never,
      key: ({ context }: { context: { armed: boolean } }) => context.armed,
    };
    expect(edgesOf(hidden, keyed).map(({ to }) => to)).toContain('c#true');
  });

  it('tell apart variants that differ only in a function', () => {
    const machine = setup({
      types: { events: {} as { type: 'ask'; is: (tag: string) => boolean } | { type: 'on' } },
    }).createMachine({
      initial: 'a',
      states: {
        a: {
          on: {
            ask: [
              { guard: ({ event }) => event.is('b'), target: 'b' },
              { guard: ({ event }) => event.is('c'), target: 'c' },
            ],
          },
        },
        b: { on: { on: { target: 'c' } } },
        c: {},
      },
    });
    const is = (wanted: string) => ({ is: (tag: string) => tag === wanted });
    const payloads = { ask: { b: is('b'), c: is('c') } };
    const edges = edgesOf(machine, { input: undefined as never, payloads });
    expect(edges.map(({ from, on, to }) => `${from} ${on} ${to}`)).toContain('b on c');
  });

  it('read as a table whose rows are all different', () => {
    const lines = transitionTable(edgesOf(stationMachine, OPTIONS)).trimEnd().split('\n');
    expect(lines[0]).toBe('from\ton\tto\teffects');
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines).toContain(
      'pausing#1\tafter pause\topening#2\tarm after opening 4000 ms; start openGrid',
    );
  });
});

describe('driving a chart', () => {
  it('reaches every state, transition and guard, those of `always` included', async () => {
    const coverage = await driveEdges(stationMachine, OPTIONS);
    // The callback port cannot end by itself, and the infinite delay never fires.
    expect(coverage.missing).toEqual([
      'transition: station.opening on after.never.station.opening',
    ]);
    expect(coverageTable(coverage)).toContain('transition\tstation.deciding on always (1 of 2)\t');
  });

  it('rejects when the running chart does something else than the walk says', async () => {
    const late = stationMachine.provide({ delays: { opening: 9_000 } });
    const edges = edgesOf(stationMachine, OPTIONS);
    await expect(driveEdge(late, edges[0]!, OPTIONS)).rejects.toThrow('9000');
    const deaf = stationMachine.provide({ guards: { mayRetry: () => false } });
    const failing = edges.find(({ on }) => on === 'error openGrid');
    await expect(driveEdge(deaf, failing!, OPTIONS)).rejects.toThrow('closed');
  });

  it('fires the timer of an edge even where another is due earlier', () => {
    const drive = startDrive(stationMachine, OPTIONS);
    drive.apply({ type: 'xstate.done.actor.openGrid', output: { amps: 16 } } as never);
    drive.apply({ type: 'xstate.after.1000.station.open.lamp.green' });
    expect(drive.actor.getSnapshot().value).toMatchObject({ open: { lamp: 'red' } });
    expect(drive.clock.now()).toBe(1_000);
  });

  it('hears the facts of the first entry', () => {
    const machine = setup({ types: { emitted: {} as { type: 'born' } } }).createMachine({
      entry: emit({ type: 'born' }),
    });
    expect(startDrive(machine, { input: undefined as never }).emitted).toEqual([{ type: 'born' }]);
  });

  it('refuses a timer that is not armed and a child that does not run', () => {
    const drive = startDrive(stationMachine, OPTIONS);
    expect(() => drive.apply({ type: 'xstate.after.pause.station.pausing' })).toThrow('no timer');
    expect(() => drive.apply({ type: 'xstate.done.actor.van' })).toThrow('no running child "van"');
  });

  it('shows the error that ended a chart', () => {
    const work = fromPromise(() => Promise.resolve());
    const machine = setup({ actors: { work } }).createMachine({
      invoke: { id: 'work', src: 'work' },
    });
    const drive = startDrive(machine, { input: undefined as never });
    drive.apply({ type: 'xstate.error.actor.work', error: new Error('unhandled') } as never);
    expect(drive.error).toMatchObject({ message: 'unhandled' });
    expect(drive.actor.getSnapshot().status).toBe('error');
  });
});

describe('XState as the kit knows it', () => {
  it('names its own actions and their parameters as before', () => {
    const machine = setup({}).createMachine({
      initial: 'a',
      states: {
        a: { after: { 5: { target: 'b' } }, on: { go: { target: 'b' } } },
        b: { entry: [emit({ type: 'fact' }), raise({ type: 'own' })] },
      },
    });
    const edges = edgesOf(machine, { input: undefined as never });
    expect(edges.map(({ effects, timers }) => [effects, timers])).toEqual([
      [['arm after 5 ms 5 ms'], [{ type: 'xstate.after.5.(machine).a', delayMs: 5 }]],
      [['emit fact'], []],
      [['emit fact'], []],
    ]);
  });

  it('reports the transitions of each microstep', () => {
    const coverage = createCoverage(stationMachine);
    startDrive(stationMachine, { ...OPTIONS, coverage }).apply({
      type: 'xstate.error.actor.openGrid',
    });
    const taken = coverage.rows.filter(({ what, count }) => what === 'transition' && count > 0);
    expect(taken.map(({ name }) => name)).toEqual([
      'station.opening on error.actor.openGrid',
      'station.deciding on always (1 of 2)',
    ]);
  });
});
