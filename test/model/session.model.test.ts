import type { AnyMachineSnapshot } from 'xstate';
import { sessionMachine } from '../../machines/session.machine.ts';
import type { BusyStrategy } from '../../machines/vocabulary.ts';
import type { Fields } from '../../src/testing/paths.ts';
import { describeModel } from './model-suite.ts';
import { inShort } from './samples.ts';

const RUNS = ['a', 'b', 'c'];

/** The next run that the session has not met, so that the walk ends. */
const ask =
  (strategy: BusyStrategy, others: readonly string[] = []) =>
  ({ context: { live, queue } }: AnyMachineSnapshot): Fields | undefined => {
    const runId = RUNS.find((id) => ![...live, ...queue].includes(id));
    return runId === undefined ? undefined : { runId, strategy, others };
  };

/** Whoever asks tells of all that live, those that wait included. */
const askTellingAll =
  (strategy: BusyStrategy) =>
  (snapshot: AnyMachineSnapshot): Fields | undefined => {
    const { live, queue } = snapshot.context;
    return ask(strategy, [...live, ...queue])(snapshot);
  };

const known = ({ context: { live, queue } }: AnyMachineSnapshot): Fields[] =>
  [...live, ...queue].map((runId) => ({ runId }));

describeModel('session', sessionMachine, {
  'a queue of one': {
    input: { queueMax: 1 },
    fact: inShort,
    key: ({ context: { live, queue } }: AnyMachineSnapshot) => [
      `live ${live.join('+')}`,
      queue.length > 0 && `queued ${queue.join('+')}`,
    ],
    payloads: {
      'session.ask': {
        reject: ask('reject'),
        'reject beside a parallel run': ask('reject', ['p']),
        'reject, telling of all': askTellingAll('reject'),
        'interrupt, telling of all': askTellingAll('interrupt'),
        enqueue: ask('enqueue'),
        interrupt: ask('interrupt'),
        'interrupt beside a parallel run': ask('interrupt', ['p']),
        parallel: ask('parallel'),
      },
      'session.left': { known, unknown: { runId: 'nobody' } },
    },
  },
});
