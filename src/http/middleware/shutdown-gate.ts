import type Koa from 'koa';
import type { SupervisorHandle } from '../../handle.ts';
import { shuttingDown } from '../errors.ts';

/** What the runs that are still in flight need: an answer to an approval, and a way to end them. */
const SERVES_RUNS_IN_FLIGHT = /^\/v1\/(?:approvals\/[^/]+|runs\/[^/]+\/cancel)$/;

/** From the first shutdown signal on, everything else is 503. Streams that are open go on. */
export function shutdownGate(handle: SupervisorHandle): Koa.Middleware {
  return async (ctx, next) => {
    if (!handle.accepting && !servesRunsInFlight(ctx)) throw shuttingDown();
    await next();
  };
}

const servesRunsInFlight = ({ method, path }: Koa.Context): boolean =>
  method === 'POST' && SERVES_RUNS_IN_FLIGHT.test(path);
