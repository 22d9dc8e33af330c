import { parkAsAsked, parkAtShutdown, runSetup, stopUnparked, tellParking } from './run.setup.ts';

/**
 * Beside the work: whether the run is to end at its next checkpoint. It is bounded whatever the work
 * does meanwhile, and what cannot be parked in time is cancelled with the cause it was asked with.
 */
export const parking = runSetup.createStateConfig({
  initial: 'unasked',
  states: {
    unasked: {
      tags: ['claimable'],
      on: {
        'run.park': {
          target: 'asked',
          actions: [parkAsAsked, tellParking],
        },
        // Shutdown is no detach: what can be brought back is parked.
        'run.stop': {
          guard: { type: 'parksInstead', params: ({ event }) => event },
          target: 'asked',
          actions: [parkAtShutdown, tellParking],
        },
      },
    },
    asked: {
      tags: ['parking'],
      after: { parkBound: { target: '#run.stopping', actions: [stopUnparked] } },
      on: {
        // Entered again, so that the shutdown's own bound counts.
        'run.stop': {
          guard: { type: 'parksInstead', params: ({ event }) => event },
          target: 'asked',
          reenter: true,
          actions: [parkAtShutdown],
        },
      },
    },
  },
});
