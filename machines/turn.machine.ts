import { assign, setup, type DoneActorEvent, type ErrorActorEvent } from 'xstate';
import { watchDeadline, type DeadlineReached } from './deadline.ts';
import { callbackPort } from './ports.ts';
import type { DeadlineWhich, Failure, RunLimits, ToolCallRequest } from './vocabulary.ts';

export interface TurnInput {
  readonly runId: string;
  /** From 1; one model exchange of the run. */
  readonly turn: number;
  readonly limits: RunLimits;
}

/** What the streaming port is asked for: one attempt of one turn. */
export interface AttemptRef {
  readonly runId: string;
  readonly turn: number;
  readonly attempt: number;
}

export type TurnEvent =
  /** The first thing of any kind came from the model. */
  | { type: 'turn.firstChunk' }
  /** The answer is whole. */
  | { type: 'turn.answered'; calls: readonly ToolCallRequest[] }
  /**
   * `begun` says that output was already passed on, so that another attempt would double it;
   * `jitter` is from 0 to 1, drawn outside because a chart draws no random numbers.
   */
  | { type: 'turn.failed'; failure: Failure; begun: boolean; jitter: number }
  | DeadlineReached;

export type TurnEmitted =
  | { type: 'attempt.started'; turn: number; attempt: number }
  | { type: 'attempt.retrying'; turn: number; attempt: number; delayMs: number; code: string };

export type TurnOutput =
  | { kind: 'answered' }
  | { kind: 'tools'; calls: readonly ToolCallRequest[] }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'expired'; which: DeadlineWhich; afterMs: number };

export interface TurnContext extends TurnInput {
  readonly attempt: number;
  readonly backoffMs: number;
  readonly failure: Failure | null;
  readonly result: TurnOutput | null;
}

/** First wait between two attempts; doubled for each further one. */
const BACKOFF_MS_FIRST = 500;
/** No wait of our own choice is longer. */
const BACKOFF_MS_MAX = 8_000;
/** An upstream that asks for more than this is not waited for: the caller is told at once. */
export const RETRY_AFTER_MS_MAX = 30_000;

export type ChildEnded = DoneActorEvent | ErrorActorEvent;

const turnSetup = setup({
  types: {
    context: {} as TurnContext,
    input: {} as TurnInput,
    events: {} as TurnEvent | ChildEnded,
    emitted: {} as TurnEmitted,
    output: {} as TurnOutput,
    tags: {} as 'in-flight' | 'backing-off',
  },
  actors: {
    streamTurn: callbackPort<{ type: 'never' }, AttemptRef>('streamTurn'),
    watchDeadline,
  },
  actions: {
    countAttempt: assign({ attempt: ({ context }) => context.attempt + 1 }),
    keepResult: assign({ result: (_, params: { result: TurnOutput }) => params.result }),
    planRetry: assign({
      failure: (_, params: { failure: Failure; jitter: number }) => params.failure,
      backoffMs: ({ context }, params) => backoffMs(context.attempt, params),
    }),
  },
  guards: {
    mayRetry: ({ context }, params: { failure: Failure; begun: boolean }) =>
      params.failure.retryable &&
      !params.begun &&
      context.attempt < context.limits.attemptsMax &&
      (params.failure.retryAfterMs ?? 0) <= RETRY_AFTER_MS_MAX,
    hasCalls: (_, params: { calls: readonly ToolCallRequest[] }) => params.calls.length > 0,
  },
  delays: { backoff: ({ context }) => context.backoffMs },
});

const tellAttempt = turnSetup.emit(({ context }) => ({
  type: 'attempt.started',
  turn: context.turn,
  attempt: context.attempt,
}));

const tellRetry = turnSetup.emit(({ context }) => ({
  type: 'attempt.retrying',
  turn: context.turn,
  attempt: context.attempt,
  delayMs: context.backoffMs,
  code: context.failure?.code ?? 'unknown',
}));

/** A port that throws instead of telling is a bug; the run must still end and say so. */
const CRASHED: Failure = {
  code: 'internal_error',
  message: 'The model turn crashed.',
  retryable: false,
};

const crash = {
  target: '#turn.failed',
  actions: [{ type: 'keepResult', params: { result: { kind: 'failed', failure: CRASHED } } }],
} as const;

/**
 * One model exchange, with its attempts.
 *
 * TU1. At most one request is open: `streamTurn` is invoked by exactly one state, and leaving it
 *      closes the request.
 * TU2. Attempts are bounded, and none follows once output was passed on: nothing is doubled.
 * TU3. The first-chunk window is over with the first thing of any kind; the silence window runs only
 *      while the model streams, so tools and people never count against it.
 * TU4. Every path ends in one output; a late event of an abandoned attempt finds nobody (INV-23).
 */
export const turnMachine = turnSetup.createMachine({
  id: 'turn',
  options: { maxIterations: 100 },
  context: ({ input }) => ({ ...input, attempt: 0, backoffMs: 0, failure: null, result: null }),
  initial: 'calling',
  states: {
    calling: {
      tags: ['in-flight'],
      entry: ['countAttempt', tellAttempt],
      invoke: {
        id: 'streamTurn',
        src: 'streamTurn',
        input: ({ context }) => ({
          runId: context.runId,
          turn: context.turn,
          attempt: context.attempt,
        }),
        onError: crash,
      },
      initial: 'connecting',
      states: {
        connecting: {
          invoke: {
            id: 'firstChunk',
            src: 'watchDeadline',
            onError: crash,
            input: ({ context }) => ({
              runId: context.runId,
              which: 'first_chunk' as const,
              ms: context.limits.firstChunkMs,
            }),
          },
          on: { 'turn.firstChunk': { target: 'streaming' } },
        },
        streaming: {
          invoke: {
            id: 'inactivity',
            src: 'watchDeadline',
            onError: crash,
            input: ({ context }) => ({
              runId: context.runId,
              which: 'inactivity' as const,
              ms: context.limits.inactivityMs,
            }),
          },
        },
      },
      on: {
        'turn.answered': [
          {
            guard: { type: 'hasCalls', params: ({ event }) => event },
            target: 'answered',
            actions: {
              type: 'keepResult',
              params: ({ event }) => ({ result: { kind: 'tools', calls: event.calls } }),
            },
          },
          {
            target: 'answered',
            actions: { type: 'keepResult', params: { result: { kind: 'answered' } } },
          },
        ],
        'turn.failed': [
          {
            guard: { type: 'mayRetry', params: ({ event }) => event },
            target: 'backingOff',
            actions: { type: 'planRetry', params: ({ event }) => event },
          },
          {
            target: 'failed',
            actions: {
              type: 'keepResult',
              params: ({ event }) => ({ result: { kind: 'failed', failure: event.failure } }),
            },
          },
        ],
        'deadline.reached': {
          target: 'expired',
          actions: {
            type: 'keepResult',
            params: ({ event }) => ({
              result: { kind: 'expired', which: event.which, afterMs: event.afterMs },
            }),
          },
        },
      },
    },
    backingOff: {
      tags: ['backing-off'],
      entry: [tellRetry],
      after: { backoff: { target: 'calling' } },
    },
    answered: { type: 'final' },
    failed: { type: 'final' },
    expired: { type: 'final' },
  },
  output: ({ context }) => context.result ?? { kind: 'failed', failure: CRASHED },
});

/** Half fixed, half drawn: attempts of many runs spread out, and none comes at once. */
function backoffMs(attempt: number, { failure, jitter }: { failure: Failure; jitter: number }) {
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
  const cap = Math.min(BACKOFF_MS_FIRST * 2 ** (attempt - 1), BACKOFF_MS_MAX);
  return Math.round(cap / 2 + (cap / 2) * jitter);
}
