import { setup } from 'xstate';
import type { LivenessPolicy } from './vocabulary.ts';

/** What is known of a run whose process is gone. */
export interface OrphanInput {
  /** Somebody had stopped it, and was told that it stops. */
  readonly stopRequested: boolean;
  readonly policy: LivenessPolicy;
  /** Whether runs that were at work are to be brought back. */
  readonly recover: 'fail' | 'resume';
  /** There is a checkpoint that can be read. */
  readonly hasCheckpoint: boolean;
  /** A stop of it had begun, for whatever cause. */
  readonly wasStopping: boolean;
  /** All calls it left open wait for a person, and there is at least one. */
  readonly waitsForPerson: boolean;
  /** How often a run of its chain was brought back already. */
  readonly recoveries: number;
  readonly recoveriesMax: number;
}

const orphanSetup = setup({
  types: { context: {} as OrphanInput, input: {} as OrphanInput },
  guards: {
    wasStopped: ({ context }) => context.stopRequested,
    /** Under cancel nobody wants it without its reader, and the reader is gone. */
    cannotGoOn: ({ context }) =>
      context.policy === 'cancel' || !context.hasCheckpoint || context.wasStopping,
    waitsForPerson: ({ context }) => context.waitsForPerson,
    mayResume: ({ context }) =>
      context.recover === 'resume' && context.recoveries < context.recoveriesMax,
  },
});

/**
 * What becomes of a run whose process was lost. It is decided at once from what the store has.
 *
 * OR1. A stop that was accepted is kept: the run ends as cancelled and never comes back (INV-07).
 * OR2. A run under cancel, or without a checkpoint, is settled as failed, and so is one that was being
 *      stopped for any other cause: what had begun to end does not come back.
 * OR3. One that waited for a person is parked there and stays decidable, whatever `recover` says.
 * OR4. One that was at work is brought back only if the configuration says so, and not for ever: a run
 *      that kills its process each time is settled in the end.
 */
export const orphanMachine = orphanSetup.createMachine({
  id: 'orphan',
  options: { maxIterations: 100 },
  context: ({ input }) => input,
  initial: 'found',
  states: {
    found: {
      always: [
        { guard: 'wasStopped', target: 'cancelled' },
        { guard: 'cannotGoOn', target: 'settled' },
        { guard: 'waitsForPerson', target: 'parked' },
        { guard: 'mayResume', target: 'resumed' },
        { target: 'settled' },
      ],
    },
    cancelled: { type: 'final' },
    settled: { type: 'final' },
    parked: { type: 'final' },
    resumed: { type: 'final' },
  },
});
