import type Koa from 'koa';
import type { Clock } from '../../clock.ts';
import { callerFields } from '../caller.ts';
import type { HttpConfig, HttpLog } from '../config.ts';
import { StallWatch } from '../stall-watch.ts';

export interface StallGuardDeps {
  readonly config: Pick<HttpConfig, 'sseStallMs'>;
  readonly clock: Clock;
  readonly log: HttpLog;
}

/**
 * Cuts a peer that takes no byte of a response that is complete on our side: it would hold memory,
 * and a shutdown. What streams has a watch of its own.
 */
export function stallGuard({ config, clock, log }: StallGuardDeps): Koa.Middleware {
  return async (ctx, next) => {
    ctx.res.once('prefinish', () => {
      if (ctx.respond !== false && ctx.res.writableLength > 0) guard(ctx);
    });
    await next();
  };

  function guard(ctx: Koa.Context): void {
    const { req, res, method, path } = ctx;
    const { socket } = req;
    const onStall = (): void => {
      const fields = { method, path, ...callerFields(ctx) };
      log.warn(fields, 'A response was cut: its reader has taken no bytes for too long.');
      res.destroy();
    };
    const watch = new StallWatch({ clock, socket, stallMs: config.sseStallMs, onStall });
    res.once('close', () => watch.stop());
    watch.watch();
  }
}
