import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { RETRY_AFTER_MS_MAX, turnMachine } from '../../../../machines/turn.machine.ts';
import { labelOfEvent } from '../../labels.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Seen } from './graph.ts';
import { failure, LIMITS } from './samples.ts';
import { ITSELF, type Scenario, scenarioOf } from './scenario.ts';
import { STEPS } from './steps.ts';

const failed = (fields = {}) => ({ failure: failure(), begun: false, jitter: 0.5, ...fields });

/** A deadline is told by the stopwatch that watches it, so only while that one runs. */
const reached = (child: string, which: string) => (snapshot: AnyMachineSnapshot) =>
  child in snapshot.children ? { which, afterMs: 1 } : undefined;

/** One exchange with the model: its attempts, its failures, its silence. */
export const turnScenarios = (): Scenario[] => [
  scenarioOf({
    feature: 'model',
    name: 'three attempts',
    machine: turnMachine,
    options: {
      input: { runId: 'run-1', turn: 1, limits: LIMITS },
      fact: () => '',
      key: ({ context: { attempt, result } }: AnyMachineSnapshot) => [
        attempt,
        result?.kind,
        result?.which ?? result?.failure?.code,
      ],
      payloads: {
        'turn.answered': { '': { calls: [] } },
        'turn.failed': {
          'for now': failed({ failure: failure({ retryable: true }) }),
          'while speaking': failed({ failure: failure({ retryable: true }), begun: true }),
          'for good': failed(),
          'for an hour': failed({
            failure: failure({
              code: 'provider_rate_limited',
              retryable: true,
              retryAfterMs: RETRY_AFTER_MS_MAX + 1,
            }),
          }),
        },
        'deadline.reached': {
          'first chunk': reached('firstChunk', 'first_chunk'),
          inactivity: reached('inactivity', 'inactivity'),
        },
        'xstate.error.actor.streamTurn': { '': () => undefined },
      },
    },
    begins: { agent: AGENTS.plain, by: 'start', model: 'waits' },
    sees,
    tells: [],
    ending: ({ context }) => ({ ...endOf(context.result), modelCalls: context.attempt }),
  }),
];

const WHILE_CONNECTING: Readonly<Record<string, string>> = {
  'turn.firstChunk': STEPS.speaks,
  'turn.answered': STEPS.answers,
  'turn.failed (for now)': STEPS.failsForNow,
  'turn.failed (for good)': STEPS.refuses,
  'turn.failed (for an hour)': STEPS.wantsAnHour,
  'deadline.reached (first chunk)': STEPS.firstChunkLate,
};

/** A status can no longer be sent; the connection can only break. */
const WHILE_STREAMING: Readonly<Record<string, string>> = {
  'turn.answered': STEPS.answers,
  'turn.failed (while speaking)': STEPS.breaksOff,
  'deadline.reached (inactivity)': STEPS.fallsSilent,
};

function sees(event: EventObject, before: AnyMachineSnapshot): Seen {
  const label = labelOfEvent(event);
  if (label === 'after backoff') return ITSELF;
  const isStreaming = before.matches({ calling: 'streaming' });
  const step = (isStreaming ? WHILE_STREAMING : WHILE_CONNECTING)[label];
  return step === undefined ? 'never' : { step };
}

function endOf(result: { kind: string; which?: string; failure?: { code: string } }) {
  if (result.kind === 'answered') return { terminal: 'finished' };
  if (result.kind === 'expired') return { terminal: `cancelled(deadline ${result.which})` };
  return { terminal: `failed(${result.failure?.code})` };
}
