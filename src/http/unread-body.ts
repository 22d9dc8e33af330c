import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';

/** What a peer may send after its answer: two bodies of the largest size that is taken. */
const DROPPED_BYTES_MAX = 4_194_304;
/** How long it may take, which is also how long it has to read its answer. */
const LINGER_MS = 2_000;

export interface UnreadAnswer {
  readonly req: IncomingMessage;
  /** Status and headers are set; neither has been sent. */
  readonly res: ServerResponse;
  /** The whole body of the response. */
  readonly text: string;
  readonly clock: Clock;
}

/**
 * Answers a request whose body is not all here, and ends the connection: where the next request
 * would begin nobody can tell. What still comes is dropped for a while, because a connection that
 * is closed on unread bytes is reset, and a reset may take the answer away from the peer.
 * Resolves when the response has been ended.
 */
export async function answerUnread({ req, res, text, clock }: UnreadAnswer): Promise<void> {
  if (res.destroyed) return;
  res.setHeader('Connection', 'close');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  if (req.method === 'HEAD') res.flushHeaders();
  else res.write(text);
  await dropped(req, res, clock);
  // Complete with its length, it only closes the connection now.
  res.end();
}

/** Resolves when the body has come, the peer is gone, or the time is up. */
function dropped(req: IncomingMessage, res: ServerResponse, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const done = () => {
      timer.cancel();
      resolve();
    };
    const timer = clock.setTimeout(done, LINGER_MS);
    req.once('end', done);
    res.once('close', done);
    // A parser that gave up has left its pipe in place and the request paused.
    req.unpipe();
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > DROPPED_BYTES_MAX) req.pause();
    });
    req.resume();
  });
}
