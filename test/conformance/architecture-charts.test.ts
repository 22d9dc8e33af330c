import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { assign, fromCallback, fromPromise, setup } from 'xstate';
import { brokenRules, brokenText, machinesOf } from './architecture-charts.ts';
import { ROOT, filesUnder, parse, sourcesOf } from './architecture-sources.ts';

const files = filesUnder('machines').filter((path) => path.endsWith('.machine.ts'));

const machinesIn = async (path: string) =>
  machinesOf((await import(pathToFileURL(`${ROOT}/${path}`).href)) as object);

describe('charts', () => {
  it.each(files)('%s exports a chart that keeps the rules', async (path) => {
    const machines = await machinesIn(path);
    expect(machines.length).toBeGreaterThan(0);
    expect(machines.flatMap(brokenRules)).toEqual([]);
  });

  it('have ids of their own', async () => {
    const ids = (await Promise.all(files.map(machinesIn))).flat().map((machine) => machine.id);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('act by ports and report by facts', () => {
    expect(sourcesOf('machines').flatMap(brokenText)).toEqual([]);
  });
});

/** Hazard: a rule that looks at the wrong field of a machine finds nothing, for ever. */
describe('the rules of the charts', () => {
  const work = fromPromise(() => Promise.resolve(1));
  const watch = fromCallback(() => {});
  const ending = setup({}).createMachine({ initial: 'a', states: { a: { type: 'final' } } });
  const parts = setup({
    types: { events: {} as { type: 'go' } },
    actors: { work, watch, ending },
    actions: { count: assign({}) },
  });
  const options = { maxIterations: 10 };

  it('accept a chart that keeps them', () => {
    const machine = parts.createMachine({
      options,
      initial: 'a',
      states: {
        a: { invoke: { id: 'w', src: 'work', onDone: 'b', onError: 'b' }, entry: 'count' },
        b: {
          invoke: [
            { id: 'x', src: 'watch', onError: 'c' },
            { id: 'y', src: 'ending', onDone: 'c', onError: 'c' },
          ],
          on: { go: { target: 'c', actions: ['count', assign({})] } },
        },
        c: { type: 'final' },
      },
    });
    expect(brokenRules(machine)).toEqual([]);
  });

  it('accept an error handler of a state around the invoking one', () => {
    const machine = setup({
      types: { events: {} as { type: 'xstate.error.actor.*' } },
      actors: { watch },
    }).createMachine({
      options,
      on: { 'xstate.error.actor.*': {} },
      initial: 'a',
      states: { a: { invoke: { id: 'w', src: 'watch' } } },
    });
    expect(brokenRules(machine)).toEqual([]);
  });

  it.each([
    ['has no maxIterations', parts.createMachine({})],
    ['as a function', setup({ actions: { act: () => {} } }).createMachine({ options })],
    ['acts by a function', parts.createMachine({ options, entry: () => {} })],
    ['acts by a function', parts.createMachine({ options, on: { go: { actions: () => {} } } })],
    ['acts by a function', parts.createMachine({ options, always: { actions: () => {} } })],
    ['hears "*"', parts.createMachine({ options, on: { '*': {} } })],
    ['without an id', parts.createMachine({ options, invoke: { src: 'watch', onError: {} } })],
    ['without onError', parts.createMachine({ options, invoke: { id: 'w', src: 'watch' } })],
    [
      'without onDone',
      parts.createMachine({ options, invoke: { id: 'w', src: 'work', onError: {} } }),
    ],
    [
      'without onDone',
      parts.createMachine({ options, invoke: { id: 'w', src: 'ending', onError: {} } }),
    ],
    [
      'is final and invokes',
      parts.createMachine({
        options,
        initial: 'a',
        states: {
          a: { type: 'final', invoke: { id: 'w', src: 'work', onDone: {}, onError: {} } },
        },
      }),
    ],
  ])('find the chart that %s', (fault, machine) => {
    expect(brokenRules(machine).join('\n')).toContain(fault);
  });

  it('find what only the text shows', () => {
    const text = `import { sendParent } from 'xstate'; enqueue(() => {}); enqueue('count');`;
    expect(brokenText(parse('machines/a.ts', text))).toHaveLength(2);
  });
});
