import type Koa from 'koa';
import type { Clock } from '../../clock.ts';
import { callerFields } from '../caller.ts';
import type { HttpLog } from '../config.ts';

/** One line a response at debug. The query and the headers stay out: they may hold secrets. */
export function requestLog(log: HttpLog, clock: Clock): Koa.Middleware {
  return async (ctx, next) => {
    const startedAt = clock.now();
    // Read here, where an error of it would fail this request alone.
    const { method, path } = ctx;
    ctx.res.once('close', () => {
      const duration_ms = clock.now() - startedAt;
      const complete = ctx.res.writableFinished;
      const { statusCode: status } = ctx.res;
      const fields = { method, path, status, duration_ms, complete, ...callerFields(ctx) };
      log.debug(fields, 'request');
    });
    await next();
  };
}
