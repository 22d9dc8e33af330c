import { assign, type DoneActorEvent, fromCallback, fromPromise, setup } from 'xstate';

/** A charging station: small, and it has every construct the kit must walk, drive and draw. */
interface StationContext {
  readonly tries: number;
  readonly cars: readonly string[];
}

type StationEvent =
  | { type: 'car.come'; car: string }
  | { type: 'power.fail' }
  | { type: 'power.tick'; amps: number }
  | { type: 'station.close' };

const stationSetup = setup({
  types: {
    context: {} as StationContext,
    input: {} as { triesMax: number },
    events: {} as StationEvent | DoneActorEvent,
    emitted: {} as { type: 'station.opened' } | { type: 'car.charged'; car: string },
    output: {} as { tries: number },
    tags: {} as 'open',
  },
  actors: {
    openGrid: fromPromise<{ amps: number }, undefined>(() => Promise.reject(new Error('no port'))),
    watchGrid: fromCallback<{ type: 'never' }, undefined>(() => undefined),
    charge: fromPromise<void, string>(() => Promise.reject(new Error('no port'))),
  },
  actions: {
    countTry: assign({ tries: ({ context }) => context.tries + 1 }),
  },
  guards: {
    hasPower: (_, params: { amps: number }) => params.amps > 0,
    mayRetry: ({ context }) => context.tries < 2,
    isNew: ({ context }, params: { car: string }) => !context.cars.includes(params.car),
  },
  delays: { opening: 4_000, pause: ({ context }) => context.tries * 100, never: Infinity },
});

const plugIn = stationSetup.enqueueActions(({ event, enqueue }) => {
  const { car } = event as Extract<StationEvent, { type: 'car.come' }>;
  enqueue.assign({ cars: ({ context }) => [...context.cars, car] });
  enqueue.spawnChild('charge', { id: car as never, input: car });
});

const unplug = stationSetup.enqueueActions(({ context, event, enqueue }) => {
  const { actorId: car } = event as DoneActorEvent;
  enqueue.stopChild(car);
  enqueue.assign({ cars: context.cars.filter((other) => other !== car) });
  enqueue.emit({ type: 'car.charged', car });
});

/**
 * Charges cars while the grid gives power.
 *
 * ST1. At most two tries to open the grid, however they fail.
 * ST2. A car is charged once at a time, and is let go
 *      when it is full.
 */
export const stationMachine = stationSetup.createMachine({
  id: 'station',
  options: { maxIterations: 100 },
  context: { tries: 0, cars: [] },
  initial: 'opening',
  on: { 'station.close': { target: '.closed' } },
  states: {
    opening: {
      entry: 'countTry',
      invoke: {
        id: 'openGrid',
        src: 'openGrid',
        onDone: [
          { guard: { type: 'hasPower', params: ({ event }) => event.output }, target: 'open' },
          { target: 'deciding' },
        ],
        onError: { target: 'deciding' },
      },
      after: { opening: { target: 'deciding' }, never: { target: 'closed' } },
    },
    deciding: { always: [{ guard: 'mayRetry', target: 'pausing' }, { target: 'closed' }] },
    pausing: { after: { pause: { target: 'opening' } } },
    open: {
      type: 'parallel',
      tags: ['open'],
      entry: stationSetup.emit({ type: 'station.opened' }),
      invoke: { id: 'watchGrid', src: 'watchGrid', onError: { target: 'closed' } },
      on: { 'power.fail': { target: 'closed' } },
      states: {
        plugs: {
          on: {
            'car.come': {
              guard: { type: 'isNew', params: ({ event }) => event },
              actions: plugIn,
            },
            'xstate.done.actor.*': { actions: unplug },
          },
        },
        lamp: {
          initial: 'green',
          states: {
            green: { after: { 1000: { target: 'red' } } },
            red: { on: { 'power.tick': { target: 'green' } } },
          },
        },
      },
    },
    closed: { type: 'final' },
  },
  output: ({ context }) => ({ tries: context.tries }),
});
