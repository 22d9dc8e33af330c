import type { RouterContext } from '@koa/router';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { type HttpError, notFound } from '../errors.ts';
import { checkQueryKeys, echoable, PAGE_KEYS, pageQueryOf } from '../params.ts';
import { listOf } from './lists.ts';

/** The `{id}` of a session's path. Throws 400 when it cannot be echoed. */
export const sessionParam = (ctx: RouterContext): string => echoable('id', ctx.params['id'] ?? '');

export const sessionNotFound = (sessionId: string): HttpError =>
  notFound(`No session "${sessionId}".`);

/** `GET /v1/sessions`: a page of session records, the one with the newest run first. */
export function listSessions(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    checkQueryKeys(ctx, PAGE_KEYS);
    ctx.body = listOf(await handleOf(ctx, deps).listSessions(pageQueryOf(ctx)));
  };
}

/** `GET /v1/sessions/{id}`. */
export function getSession(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const sessionId = sessionParam(ctx);
    const session = await handleOf(ctx, deps).getSession(sessionId);
    if (session === undefined) throw sessionNotFound(sessionId);
    ctx.body = session;
  };
}
