import { z } from 'zod';
import type { CliIo } from '../io.ts';
import type { Query, ServerClient } from './client.ts';
import { eventsOf, jsonIn, oneLine } from './events.ts';
import { read } from './read.ts';
import { type Lost, reconnecting, Tries } from './reconnect.ts';
import { type Approval, approvalShape } from './shapes.ts';

export type FeedEvent =
  | { readonly kind: 'approval'; readonly approval: Approval; readonly json: string }
  /** All that stood when the connection was made has been told. */
  | { readonly kind: 'ready'; readonly pending: number }
  | Lost;

export interface FeedOptions {
  readonly query: Query;
  readonly io: Pick<CliIo, 'now' | 'timers'>;
  readonly signal: AbortSignal;
}

const readyShape = z.object({ pending: z.number() });

/**
 * The approvals of a server as they stand and as they change, for ever. Each connection tells anew how
 * all of them stand. Throws as {@link reconnecting} does.
 */
export function feed(client: ServerClient, options: FeedOptions): AsyncGenerator<FeedEvent> {
  const { io, signal, query } = options;
  const tries = new Tries();
  const connect = async function* (): AsyncGenerator<FeedEvent, boolean> {
    const stream = await client.open('/v1/approvals/events', { query, lastEventId: undefined });
    if (stream === undefined) return true;
    tries.opened();
    const { base } = client;
    const events = eventsOf(stream, { base, timers: io.timers, onRetry: tries.retry });
    for await (const { event, data } of events) {
      const json = jsonIn(data, base);
      if (event === 'approval') {
        yield { kind: 'approval', approval: read(approvalShape, json), json: oneLine(data) };
      } else if (event === 'approvals_ready') {
        tries.good();
        yield { kind: 'ready', pending: read(readyShape, json).pending };
      }
    }
    return false;
  };
  return reconnecting({ base: client.base, io, signal, tries, connect });
}
