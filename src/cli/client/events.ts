import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { CliIo } from '../io.ts';
import type { OpenStream } from './client.ts';
import { foreignServer, unreachable } from './errors.ts';
import { networkFailure } from './network.ts';

/** Four heartbeats of the server: after so much silence nobody is there any more. */
const SILENCE_MS = 60_000;

/** One entry may hold what a tool returned, whole. */
const ENTRY_CHARACTERS_MAX = 67_108_864;

export interface EventsOptions {
  readonly base: string;
  readonly timers: CliIo['timers'];
  /** How long the server wants a client to wait before it comes back. */
  onRetry(ms: number): void;
}

/** The events of an open stream. Throws {@link OperatorError} when it breaks off or falls silent. */
export async function* eventsOf(
  stream: OpenStream,
  { base, timers, onRetry }: EventsOptions,
): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  const decoder = new TextDecoder();
  const parser = createParser({
    maxBufferSize: ENTRY_CHARACTERS_MAX,
    onEvent: (event) => events.push(event),
    onRetry,
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded')
        throw foreignServer(`${base} sent an endless entry.`);
    },
  });
  for await (const chunk of heard(stream, { base, timers })) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events.splice(0);
  }
}

/** The chunks of a stream that is cut when none comes for {@link SILENCE_MS}. */
async function* heard(
  { body, cut }: OpenStream,
  { base, timers }: Pick<EventsOptions, 'base' | 'timers'>,
): AsyncGenerator<Uint8Array> {
  const silent = unreachable(`${base} has been silent for ${SILENCE_MS / 1_000} s.`);
  const arm = () => timers.setTimeout(() => cut(silent), SILENCE_MS);
  let timer = arm();
  try {
    for await (const chunk of body) {
      timers.clearTimeout(timer); // A slow reader is not a silent server.
      yield chunk;
      timer = arm();
    }
  } catch (error) {
    throw networkFailure(error, base);
  } finally {
    timers.clearTimeout(timer);
  }
}

/** What the data of an event says. Throws {@link OperatorError} for what is no JSON. */
export function jsonIn(data: string, base: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw foreignServer(`${base} sent an entry that is no JSON. Check --url.`);
  }
}

/** Between the tokens of JSON a line break is white space, and inside of one it cannot be. */
export const oneLine = (json: string): string => json.replaceAll('\n', ' ');
