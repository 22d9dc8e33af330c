import type Koa from 'koa';
import type { Clock } from '../../clock.ts';
import type { HttpLog } from '../config.ts';

/** One line a response at debug. The query and the headers stay out: they may hold secrets. */
export function requestLog(log: HttpLog, clock: Clock): Koa.Middleware {
  return async (ctx, next) => {
    const startedAt = clock.now();
    ctx.res.once('close', () => {
      const { method, path } = ctx;
      const duration_ms = clock.now() - startedAt;
      const complete = ctx.res.writableFinished;
      log.debug({ method, path, status: ctx.res.statusCode, duration_ms, complete }, 'request');
    });
    await next();
  };
}
