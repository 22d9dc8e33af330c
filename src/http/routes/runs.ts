import type { RouterContext } from '@koa/router';
import { z } from 'zod';
import { RunNotFoundError } from '../../errors.ts';
import type { RunRecord } from '../../handle.ts';
import { hasEnded } from '../end-watch.ts';
import type { HttpDeps } from '../deps.ts';
import { echoable, optional, parseBody, prose, queryFlag } from '../params.ts';
import { RunFeed } from '../run-feed.ts';

const cancelBody = z.strictObject({ message: optional(prose) });

/** The `{id}` of the path. Throws 400 when it cannot be echoed. */
export const runIdOf = (ctx: RouterContext): string => echoable('id', ctx.params['id'] ?? '');

/** `GET /v1/runs/{id}`. */
export function getRun({ handle }: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const runId = runIdOf(ctx);
    const record = await handle.record(runId);
    if (record === undefined) throw new RunNotFoundError(runId);
    ctx.body = record;
  };
}

/**
 * `POST /v1/runs/{id}/cancel`: 202 and the record while the run winds down, 200 when it had ended.
 * `?wait=true` answers 200 after the terminal entry.
 */
export function cancelRun(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const runId = runIdOf(ctx);
    const wait = queryFlag(ctx, 'wait');
    const { message } = parseBody(cancelBody, ctx.request.body);
    const asked = await deps.handle.cancel(runId, message === undefined ? {} : { message });
    if (asked === undefined) throw new RunNotFoundError(runId);
    const record = wait && !hasEnded(asked) ? await ended(asked, ctx, deps) : asked;
    if (record === undefined) return;
    ctx.status = hasEnded(record) ? 200 : 202;
    ctx.body = record;
  };
}

/** The record after the terminal entry, or after the caller has left. */
async function ended(
  asked: RunRecord,
  ctx: RouterContext,
  { handle, clock, log }: HttpDeps,
): Promise<RunRecord | undefined> {
  const { session_id: sessionId, run_id: runId, last_seq: from } = asked;
  const over = new Promise<void>((resolve) => {
    const entries = (_batch: unknown, isOver: boolean): boolean => {
      if (isOver) resolve();
      return true;
    };
    const options = { handle, clock, log, sessionId, runId, from };
    const feed = new RunFeed(options, { entries, gap: () => {}, lost: resolve });
    ctx.res.once('close', () => {
      feed.close();
      resolve();
    });
  });
  await over;
  return handle.record(runId);
}
