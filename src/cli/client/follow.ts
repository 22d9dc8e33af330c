import type { CliIo } from '../io.ts';
import type { ReadOptions, ServerClient } from './client.ts';
import { foreignServer, OperatorError, unreachable } from './errors.ts';
import { eventsOf } from './events.ts';
import { read } from './read.ts';
import { type Entry, entryShape } from './shapes.ts';

/** Pauses between tries: as the server says, or this, doubled up to the most. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 15_000;

/** In a row, without one entry between them: about two minutes. */
const TRIES_MAX = 10;

/** A connection that held so long was a good one, though nothing happened. */
const GOOD_MS = 60_000;

export type Followed =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly json: string }
  | { readonly kind: 'lost'; readonly because: string; readonly pauseMs: number };

export interface FollowOptions extends ReadOptions {
  readonly io: Pick<CliIo, 'now' | 'timers'>;
  readonly signal: AbortSignal;
  /** Whether nothing comes after this entry. */
  isLast(entry: Entry): boolean;
}

/**
 * The entries of a stream, each once and in order. After a dropped connection it comes back by
 * `Last-Event-ID`, and tells so. Ends after the last entry, or when the server has no more. Throws
 * {@link OperatorError} when the server refuses, cannot be reached at first, or does not come back.
 */
export async function* follow(
  client: ServerClient,
  path: string,
  options: FollowOptions,
): AsyncGenerator<Followed> {
  const place: Place = { id: undefined, seq: 0, retryMs: PAUSE_MS, tries: 0, wasOpen: false };
  for (;;) {
    let because = unreachable(`${client.base} closed the stream.`);
    try {
      const isOver = yield* connection({ client, path, place, options });
      if (isOver) return;
    } catch (error) {
      because = passing(error, place);
    }
    const pauseMs = nextPause(because, place, client.base);
    yield { kind: 'lost', because: because.message, pauseMs };
    await pause(pauseMs, options);
  }
}

/** How far the reader has come. */
interface Place {
  id: string | undefined;
  seq: number;
  retryMs: number;
  tries: number;
  /** Once it was, a failure is a dropped connection and no refusal. */
  wasOpen: boolean;
}

interface Connection {
  readonly client: ServerClient;
  readonly path: string;
  readonly place: Place;
  readonly options: FollowOptions;
}

/** Entries of one connection; then whether nothing more comes. */
async function* connection({
  client,
  path,
  place,
  options,
}: Connection): AsyncGenerator<Followed, boolean> {
  const { io, isLast, signal: _, ...request } = options;
  const stream = await client.open(path, { ...request, lastEventId: place.id });
  if (stream === undefined) return true;
  place.wasOpen = true;
  const openedAt = io.now();
  const onRetry = (ms: number): void => void (place.retryMs = Math.min(ms, PAUSE_MS_MAX));
  try {
    for await (const { id, data } of eventsOf(stream, {
      base: client.base,
      timers: io.timers,
      onRetry,
    })) {
      const entry = read(entryShape, jsonOf(data, client.base));
      if (!isNew(entry, id, place)) continue;
      yield { kind: 'entry', entry, json: oneLine(data) };
      if (isLast(entry)) return true;
    }
    return false;
  } finally {
    if (io.now() - openedAt >= GOOD_MS) place.tries = 0;
  }
}

/** A `gap` has no place of its own: after a reconnect the server tells it again if it still holds. */
function isNew({ seq }: Entry, id: string | undefined, place: Place): boolean {
  if (seq === undefined) return true;
  if (seq <= place.seq) return false;
  place.seq = seq;
  place.tries = 0;
  if (id !== undefined) place.id = id;
  return true;
}

function jsonOf(data: string, base: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw foreignServer(`${base} sent an entry that is no JSON. Check --url.`);
  }
}

/** Between the tokens of JSON a line break is white space, and inside of one it cannot be. */
const oneLine = (json: string): string => json.replaceAll('\n', ' ');

function passing(error: unknown, { wasOpen }: Place): OperatorError {
  if (error instanceof OperatorError && error.passing && wasOpen) return error;
  throw error;
}

/** Doubles with each try. Throws when there were enough. */
function nextPause({ message, retryAfterMs }: OperatorError, place: Place, base: string): number {
  place.tries += 1;
  if (place.tries > TRIES_MAX) {
    const advice = `Gave up after ${TRIES_MAX} tries; watch again when ${base} is back.`;
    throw unreachable(`${message} ${advice}`);
  }
  const doubled = Math.min(place.retryMs * 2 ** (place.tries - 1), PAUSE_MS_MAX);
  return Math.max(doubled, Math.min(retryAfterMs ?? 0, PAUSE_MS_MAX));
}

function pause(ms: number, { io: { timers }, signal }: FollowOptions): Promise<void> {
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
