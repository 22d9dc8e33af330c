import type Koa from 'koa';
import type { Clock } from '../../clock.ts';
import type { HttpLog } from '../config.ts';
import { isDisconnect } from '../disconnect.ts';
import { type HttpError, toHttpError } from '../errors.ts';
import { answerUnread } from '../unread-body.ts';

/**
 * The one way out for errors: whatever is thrown below becomes the JSON envelope. Nothing of an
 * unexpected error is shown; its stack goes to the log. A response that has begun is cut, so that
 * the peer does not take it for complete.
 */
export function errorEnvelope(log: HttpLog, clock: Clock): Koa.Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = toHttpError(thrown);
      report(log, thrown, error);
      if (ctx.res.headersSent) ctx.res.destroy();
      else await answer(ctx, error, clock);
    }
  };
}

async function answer(ctx: Koa.Context, error: HttpError, clock: Clock): Promise<void> {
  // What came with the head is parsed after the handlers have run for the first time.
  if (!ctx.req.complete) await new Promise((resolve) => setImmediate(resolve));
  ctx.respond = ctx.req.complete;
  ctx.status = error.status;
  ctx.set({ ...error.headers });
  ctx.type = 'json';
  ctx.body = error.body;
  if (ctx.req.complete) return;
  const { req, res } = ctx;
  await answerUnread({ req, res, text: JSON.stringify(error.body), clock });
}

/** Fields of the error are left out of the log: libraries keep requests and their headers there. */
function report(log: HttpLog, thrown: unknown, error: HttpError): void {
  if (isDisconnect(thrown)) {
    log.debug({ code: error.code }, 'The peer left.');
  } else if (error.status === 500) {
    const stack = thrown instanceof Error ? thrown.stack : undefined;
    log.error({ code: error.code, stack }, 'A request failed.');
  }
}
