import type { Failure, StopCause } from '../../machines/vocabulary.ts';

/** Why the run's one signal was aborted; adapters and tools find it as the signal's reason. */
export class RunStoppedError extends Error {
  override readonly name = 'RunStoppedError';
  override readonly cause: StopCause;

  constructor(cause: StopCause) {
    super(describeCause(cause));
    this.cause = cause;
  }
}

/** A sentence for tools and logs; it carries no message of a person's. */
export function describeCause(cause: StopCause): string {
  switch (cause.kind) {
    case 'unclaimed':
      return 'client disconnected';
    case 'external':
      return 'cancelled by request';
    case 'shutdown':
      return 'server shutdown';
    case 'deadline':
      return `timeout (${cause.which})`;
    case 'client_tool':
      return 'the caller answers a tool call';
    case 'superseded':
      return 'superseded by a newer run';
    case 'lease_lost':
      return 'the right to write the session was lost';
    case 'error':
      return failureText(cause.failure);
  }
}

const failureText = (failure: Failure): string => `failed: ${failure.code}`;
