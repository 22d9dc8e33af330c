import type { CliIo } from '../io.ts';
import { OperatorError, unreachable } from './errors.ts';

/** Pauses between tries: as the server says, or this, doubled up to the most. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 15_000;

/** In a row, without anything new between them: about two minutes. */
const TRIES_MAX = 10;

/** A connection that held so long was a good one, though nothing happened. */
const GOOD_MS = 60_000;

/** A connection has dropped; another is made after the pause. */
export interface Lost {
  readonly kind: 'lost';
  readonly because: string;
  readonly pauseMs: number;
}

export interface Reconnecting<T> {
  readonly base: string;
  readonly io: Pick<CliIo, 'now' | 'timers'>;
  readonly signal: AbortSignal;
  readonly tries: Tries;
  /** What one connection brings; then whether nothing more comes. */
  connect(): AsyncGenerator<T, boolean>;
}

/** How it goes with a server, over many connections. */
export class Tries {
  #retryMs = PAUSE_MS;
  #count = 0;
  #wasOpen = false;

  /** Once it was open, a failure is a dropped connection and no refusal. */
  opened(): void {
    this.#wasOpen = true;
  }

  /** Something new has come. */
  good(): void {
    this.#count = 0;
  }

  /** The server says how long to wait. */
  readonly retry = (ms: number): void => {
    this.#retryMs = Math.min(ms, PAUSE_MS_MAX);
  };

  /** The error if another try may do better. Throws it if not. */
  passing(error: unknown): OperatorError {
    if (error instanceof OperatorError && error.passing && this.#wasOpen) return error;
    throw error;
  }

  /** Doubles with each try. Throws when there were enough. */
  nextPause({ message, retryAfterMs }: OperatorError, base: string): number {
    this.#count += 1;
    if (this.#count > TRIES_MAX) {
      const advice = `Gave up after ${TRIES_MAX} tries; watch again when ${base} is back.`;
      throw unreachable(`${message} ${advice}`);
    }
    const doubled = Math.min(this.#retryMs * 2 ** (this.#count - 1), PAUSE_MS_MAX);
    return Math.max(doubled, Math.min(retryAfterMs ?? 0, PAUSE_MS_MAX));
  }
}

/**
 * What one connection after the other brings, and each drop between them. Throws
 * {@link OperatorError} when the server refuses, cannot be reached at first, or does not come back.
 */
export async function* reconnecting<T>(options: Reconnecting<T>): AsyncGenerator<T | Lost> {
  const { base, io, tries, connect } = options;
  for (;;) {
    let because = unreachable(`${base} closed the stream.`);
    const startedAt = io.now();
    try {
      const isOver = yield* connect();
      if (isOver) return;
    } catch (error) {
      because = tries.passing(error);
    }
    if (io.now() - startedAt >= GOOD_MS) tries.good();
    const pauseMs = tries.nextPause(because, base);
    yield { kind: 'lost', because: because.message, pauseMs };
    await pause(pauseMs, options);
  }
}

function pause(
  ms: number,
  { io: { timers }, signal }: Pick<Reconnecting<unknown>, 'io' | 'signal'>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      timers.clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = timers.setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
