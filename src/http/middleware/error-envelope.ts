import type Koa from 'koa';
import type { Clock } from '../../clock.ts';
import type { Redact } from '../../redact-secrets.ts';
import { callerFields } from '../caller.ts';
import type { HttpLog } from '../config.ts';
import { isDisconnect } from '../disconnect.ts';
import { type HttpError, toHttpError } from '../errors.ts';
import { answerUnread } from '../unread-body.ts';

export interface ErrorEnvelopeDeps {
  readonly log: HttpLog;
  readonly clock: Clock;
  /** Takes the secrets out of a text. */
  readonly redact: Redact;
}

/**
 * The one way out for errors: whatever is thrown below becomes the JSON envelope. Nothing of an
 * unexpected error is shown; its stack goes to the log. Neither has a secret in it. A response that
 * has begun is cut, so that the peer does not take it for complete.
 */
export function errorEnvelope(deps: ErrorEnvelopeDeps): Koa.Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = toHttpError(thrown);
      report(ctx, { thrown, error }, deps);
      if (ctx.res.headersSent) ctx.res.destroy();
      else await answer(ctx, error, deps);
    }
  };
}

async function answer(
  ctx: Koa.Context,
  { status, headers, body }: HttpError,
  { clock, redact }: ErrorEnvelopeDeps,
): Promise<void> {
  // What came with the head is parsed after the handlers have run for the first time.
  if (!ctx.req.complete) await new Promise((resolve) => setImmediate(resolve));
  ctx.respond = ctx.req.complete;
  const text = redact(JSON.stringify(body));
  ctx.status = status;
  ctx.set({ ...headers });
  ctx.type = 'json';
  ctx.body = text;
  if (ctx.req.complete) return;
  const { req, res } = ctx;
  await answerUnread({ req, res, text, clock });
}

interface Failed {
  readonly thrown: unknown;
  readonly error: HttpError;
}

/** Fields of the error are left out of the log: libraries keep requests and their headers there. */
function report(ctx: Koa.Context, { thrown, error }: Failed, deps: ErrorEnvelopeDeps): void {
  const { log, redact } = deps;
  if (isDisconnect(thrown)) {
    log.debug({ code: error.code }, 'The peer left.');
  } else if (error.status === 500) {
    const stack = thrown instanceof Error ? redact(thrown.stack ?? thrown.message) : undefined;
    log.error({ code: error.code, stack, ...callerFields(ctx) }, 'A request failed.');
  }
}
