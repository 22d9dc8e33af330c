import type { AnyMachineSnapshot } from 'xstate';
import { type ShutdownInput, shutdownMachine } from '../../machines/shutdown.machine.ts';
import { describeModel } from './model-suite.ts';
import { inShort } from './samples.ts';

const BOUNDS: ShutdownInput = { graceMs: 30_000, drainMs: 5_000, abortMs: 2_000, flushMs: 3_000 };

const options = (input: ShutdownInput) => ({
  input,
  fact: inShort,
  key: ({ context: { inFlight, aborted, unaborted, second } }: AnyMachineSnapshot) => [
    inFlight,
    aborted && 'aborted',
    unaborted && 'unaborted',
    second,
  ],
  payloads: {
    'shutdown.signal': { term: { signal: 'SIGTERM' }, int: { signal: 'SIGINT' } },
    'shutdown.load': { none: { inFlight: 0 }, two: { inFlight: 2 } },
    'xstate.error.actor.flushAll': { broken: { error: new Error('disk') } },
  },
});

describeModel('shutdown', shutdownMachine, {
  'with a grace': options(BOUNDS),
  'without a grace': options({ ...BOUNDS, graceMs: 0 }),
});
