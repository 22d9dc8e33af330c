import type { AnyMachineSnapshot } from 'xstate';
import { RETRY_AFTER_MS_MAX, type TurnInput, turnMachine } from '../../machines/turn.machine.ts';
import { describeModel } from './model-suite.ts';
import { failure, inShort, LIMITS, toolCall } from './samples.ts';

const failed = (fields = {}) => ({ failure: failure(), begun: false, jitter: 0.5, ...fields });

/** A deadline is told by the stopwatch that watches it, so only while that one runs. */
const reached = (child: string, which: string) => (snapshot: AnyMachineSnapshot) =>
  child in snapshot.children ? { which, afterMs: 1 } : undefined;

const options = (input: TurnInput) => ({
  input,
  fact: inShort,
  key: ({ context }: AnyMachineSnapshot) => [context.attempt, context.result?.kind],
  payloads: {
    'turn.answered': { 'no calls': { calls: [] }, 'a call': { calls: [toolCall('call-1')] } },
    'turn.failed': {
      retryable: failed(),
      'retryable after output': failed({ begun: true }),
      terminal: failed({ failure: failure({ retryable: false }) }),
      'retry after 2 s': failed({ failure: failure({ retryAfterMs: 2_000 }) }),
      'retry after too long': failed({
        failure: failure({ retryAfterMs: RETRY_AFTER_MS_MAX + 1 }),
      }),
    },
    'deadline.reached': {
      'first chunk': reached('firstChunk', 'first_chunk'),
      inactivity: reached('inactivity', 'inactivity'),
    },
    'xstate.error.actor.streamTurn': { bug: { error: new Error('bug') } },
  },
});

describeModel('turn', turnMachine, {
  'three attempts': options({ runId: 'run-1', turn: 1, limits: LIMITS }),
});
