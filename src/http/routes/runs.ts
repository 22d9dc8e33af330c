import type { RouterContext } from '@koa/router';
import { z } from 'zod';
import { RunNotFoundError } from '../../errors.ts';
import type { RunListQuery, RunRecord, RunState } from '../../handle.ts';
import { handleOf } from '../caller.ts';
import { hasEnded } from '../end-watch.ts';
import type { HttpDeps } from '../deps.ts';
import {
  checkQueryKeys,
  optional,
  PAGE_KEYS,
  pageQueryOf,
  parseBody,
  prose,
  queryFlag,
  queryText,
  queryWord,
  requestHeaders,
  runIdOf,
} from '../params.ts';
import { RunFeed } from '../run-feed.ts';
import { listOf } from './lists.ts';

const STATES = [
  'queued',
  'preparing',
  'running',
  'waiting',
  'stopping',
  'finished',
  'cancelled',
  'failed',
  'parked',
] as const satisfies readonly RunState[];

const LIST_KEYS = ['state', 'session_id', 'agent', ...PAGE_KEYS] as const;

const noBody = z.strictObject({});
const cancelBody = z.strictObject({ message: optional(prose) });

/** `GET /v1/runs`: a page of run records, newest first. */
export function listRuns(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    ctx.body = listOf(await handleOf(ctx, deps).listRuns(runQueryOf(ctx)));
  };
}

function runQueryOf(ctx: RouterContext): RunListQuery {
  checkQueryKeys(ctx, LIST_KEYS);
  const state = queryWord(ctx, 'state', STATES);
  const sessionId = queryText(ctx, 'session_id');
  const agent = queryText(ctx, 'agent');
  return {
    ...pageQueryOf(ctx),
    ...(state !== undefined && { state }),
    ...(sessionId !== undefined && { sessionId }),
    ...(agent !== undefined && { agent }),
  };
}

/** `GET /v1/runs/{id}`. */
export function getRun(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const runId = runIdOf(ctx);
    const record = await handleOf(ctx, deps).record(runId);
    if (record === undefined) throw new RunNotFoundError(runId);
    ctx.body = record;
  };
}

/**
 * `POST /v1/runs/{id}/park`: 202 and the record while the run goes to its next checkpoint, 200 when
 * it is parked.
 */
export function parkRun(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const runId = runIdOf(ctx);
    parseBody(noBody, ctx.request.body);
    const record = await handleOf(ctx, deps).park(runId);
    if (record === undefined) throw new RunNotFoundError(runId);
    ctx.status = record.state === 'parked' ? 200 : 202;
    ctx.body = record;
  };
}

/** `POST /v1/runs/{id}/resume`: 202 and the run that goes on with the parked one. */
export function resumeRun(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const runId = runIdOf(ctx);
    parseBody(noBody, ctx.request.body);
    const options = { requestHeaders: requestHeaders(ctx) };
    const resumed = await handleOf(ctx, deps).resume(runId, options);
    if (resumed === undefined) throw new RunNotFoundError(runId);
    const { continues, sessionId, seq, state } = resumed;
    ctx.status = 202;
    ctx.set({ Location: `/v1/runs/${resumed.runId}`, 'X-Run-Id': resumed.runId });
    ctx.body = { run_id: resumed.runId, continues, session_id: sessionId, seq, state };
  };
}

/**
 * `POST /v1/runs/{id}/cancel`: 202 and the record while the run winds down, 200 when it had ended.
 * `?wait=true` answers 200 after the terminal entry.
 */
export function cancelRun(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const handle = handleOf(ctx, deps);
    const runId = runIdOf(ctx);
    const wait = queryFlag(ctx, 'wait');
    const { message } = parseBody(cancelBody, ctx.request.body);
    const asked = await handle.cancel(runId, message === undefined ? {} : { message });
    if (asked === undefined) throw new RunNotFoundError(runId);
    const record = wait && !hasEnded(asked) ? await ended(asked, ctx, { ...deps, handle }) : asked;
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
