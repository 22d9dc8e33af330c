import type { CliIo } from '../io.ts';
import type { ReadOptions, ServerClient } from './client.ts';
import { eventsOf, jsonIn, oneLine } from './events.ts';
import { read } from './read.ts';
import { type Lost, reconnecting, Tries } from './reconnect.ts';
import { type Entry, entryShape } from './shapes.ts';

export type Followed =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly json: string }
  | Lost;

export interface FollowOptions extends ReadOptions {
  readonly io: Pick<CliIo, 'now' | 'timers'>;
  readonly signal: AbortSignal;
  /** Whether nothing comes after this entry. */
  isLast(entry: Entry): boolean;
}

/**
 * The entries of a stream, each once and in order. After a dropped connection it comes back by
 * `Last-Event-ID`, and tells so. Ends after the last entry, or when the server has no more. Throws as
 * {@link reconnecting} does.
 */
export function follow(
  client: ServerClient,
  path: string,
  options: FollowOptions,
): AsyncGenerator<Followed> {
  const { io, signal } = options;
  const place: Place = { id: undefined, seq: 0, tries: new Tries() };
  const connect = () => connection({ client, path, place, options });
  return reconnecting({ base: client.base, io, signal, tries: place.tries, connect });
}

/** How far the reader has come. */
interface Place {
  id: string | undefined;
  seq: number;
  readonly tries: Tries;
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
  const { base } = client;
  const stream = await client.open(path, { ...request, lastEventId: place.id });
  if (stream === undefined) return true;
  place.tries.opened();
  const events = eventsOf(stream, { base, timers: io.timers, onRetry: place.tries.retry });
  for await (const { id, data } of events) {
    const entry = read(entryShape, jsonIn(data, base));
    if (!isNew(entry, id, place)) continue;
    yield { kind: 'entry', entry, json: oneLine(data) };
    if (isLast(entry)) return true;
  }
  return false;
}

/** A `gap` has no place of its own: after a reconnect the server tells it again if it still holds. */
function isNew({ seq }: Entry, id: string | undefined, place: Place): boolean {
  if (seq === undefined) return true;
  if (seq <= place.seq) return false;
  place.seq = seq;
  place.tries.good();
  if (id !== undefined) place.id = id;
  return true;
}
