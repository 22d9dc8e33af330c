import type { IncomingMessage } from 'node:http';
import type Koa from 'koa';
import type { SupervisorHandle } from '../../handle.ts';

/**
 * Counts a request as under way from its last byte until its response is with the peer or the peer
 * is gone. Before that it has begun nothing, and a peer that never sends the rest must not hold up
 * a shutdown.
 */
export function trackRequests(handle: SupervisorHandle): Koa.Middleware {
  return async (ctx, next) => {
    const { req, res } = ctx;
    if (res.destroyed) return;
    const track = (): void => {
      if (!res.closed) res.once('close', handle.trackRequest());
    };
    if (awaitsBody(req)) req.once('end', track);
    else track();
    await next();
  };
}

/** Whether bytes of the request are still to come. A body that nobody reads never ends. */
const awaitsBody = ({ headers, complete }: IncomingMessage): boolean =>
  !complete &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
