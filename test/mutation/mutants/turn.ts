import type { Mutant } from '../mutant.ts';

const file = 'machines/turn.machine.ts';

/** Attempts, their windows and the waits between them. */
export const TURN_MUTANTS: readonly Mutant[] = [
  {
    name: 'turn-retries-without-bound',
    core: true,
    says: 'a model call that fails is tried again for ever',
    file,
    edits: [['      context.attempt < context.limits.attemptsMax &&\n', '']],
  },
  {
    name: 'turn-retries-terminal-failure',
    says: 'a failure that no retry can mend is retried',
    file,
    edits: [['params.failure.retryable &&\n      !params.begun', '!params.begun']],
  },
  {
    name: 'turn-retries-after-output',
    core: true,
    says: 'a call whose output was passed on is tried again, so that the output is doubled',
    file,
    edits: [['      !params.begun &&\n', '']],
  },
  {
    name: 'turn-waits-for-any-retry-after',
    says: 'an upstream that asks for an hour is waited for',
    file,
    edits: [[' &&\n      (params.failure.retryAfterMs ?? 0) <= RETRY_AFTER_MS_MAX', '']],
  },
  {
    name: 'turn-first-chunk-timer-not-cleared',
    core: true,
    says: 'the first-chunk window goes on after the first chunk',
    file,
    edits: [
      ["on: { 'turn.firstChunk': { target: 'streaming' } }", "on: { 'turn.firstChunk': {} }"],
    ],
  },
  {
    name: 'turn-silence-takes-first-chunk-window',
    core: true,
    says: 'silence is bounded by the window of the first chunk',
    file,
    edits: [['ms: context.limits.inactivityMs', 'ms: context.limits.firstChunkMs']],
  },
  {
    name: 'turn-backoff-does-not-grow',
    core: true,
    says: 'every wait between two attempts is as short as the first',
    file,
    edits: [['BACKOFF_MS_FIRST * 2 ** (attempt - 1)', 'BACKOFF_MS_FIRST']],
  },
  {
    name: 'turn-ignores-retry-after',
    says: 'an upstream that names its wait is asked again before it',
    file,
    edits: [['  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;\n', '']],
  },
  {
    name: 'turn-attempts-not-counted',
    says: 'each attempt tells that it is the first',
    file,
    edits: [['attempt: ({ context }) => context.attempt + 1', 'attempt: 1']],
  },
];
