import type Koa from 'koa';
import type { SupervisorHandle } from '../../handle.ts';

/** Counts a request as under way until its response is with the peer or the peer is gone. */
export function trackRequests(handle: SupervisorHandle): Koa.Middleware {
  return async (ctx, next) => {
    if (ctx.res.destroyed) return;
    ctx.res.once('close', handle.trackRequest());
    await next();
  };
}
