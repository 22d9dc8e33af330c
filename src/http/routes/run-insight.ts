import type { RouterContext } from '@koa/router';
import { RunNotFoundError } from '../../errors.ts';
import type { Explanation, SupervisorHandle } from '../../handle.ts';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { badRequest, HttpError } from '../errors.ts';
import { querySeq, runIdOf } from '../params.ts';

/** `GET /v1/runs/{id}/explain`: JSON, or its sentences alone for `Accept: text/plain`. */
export function explainRun(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const runId = runIdOf(ctx);
    const type = acceptedOf(ctx, ['application/json', 'text/plain']);
    const explanation = await handleOf(ctx, deps).explain(runId);
    if (explanation === undefined) throw new RunNotFoundError(runId);
    answerNow(ctx);
    ctx.type = type;
    ctx.body = type === 'text/plain' ? textOf(explanation) : explanation;
  };
}

/** A line a sentence; the first one says of which run it is, for whoever keeps the text. */
const textOf = ({ run_id, state, prose }: Explanation): string =>
  `${[`Run ${run_id} is ${state}.`, ...prose].join('\n')}\n`;

/**
 * `GET /v1/runs/{id}/chart`: the active states as JSON, or the picture for `Accept: image/svg+xml`;
 * `?at=` is as it was at that entry.
 */
export function chartRun(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const handle = handleOf(ctx, deps);
    const runId = runIdOf(ctx);
    const at = querySeq(ctx, 'at');
    const type = acceptedOf(ctx, ['application/json', 'image/svg+xml']);
    if (at !== undefined) await checkOfRun(at, runId, handle);
    const chart = await handle.chart(runId, at);
    if (chart === undefined) throw new RunNotFoundError(runId);
    const { svg, ...states } = chart;
    answerNow(ctx);
    // Opened as a page of its own, a picture may run scripts.
    ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'");
    ctx.type = type;
    ctx.body = type === 'image/svg+xml' ? svg : states;
  };
}

/** A chart has no state before its run's first entry, and none yet behind its last. */
async function checkOfRun(at: number, runId: string, handle: SupervisorHandle): Promise<void> {
  const record = await handle.record(runId);
  if (record === undefined) throw new RunNotFoundError(runId);
  const { first_seq: first, last_seq: last } = record;
  if (at >= first && at <= last) return;
  throw badRequest(`at is an entry of the run: from ${first} to ${last}.`, 'at');
}

/** What the client likes best of `types`; the first where it does not say. */
function acceptedOf<Type extends string>(ctx: RouterContext, types: readonly Type[]): Type {
  const accepted = ctx.accepts([...types]);
  const type = types.find((candidate) => candidate === accepted);
  if (type !== undefined) return type;
  const message = `This path answers with ${types.join(' or ')}; accept one of them.`;
  throw new HttpError({ status: 406, code: 'not_acceptable', message, param: 'Accept' });
}

/** The same address says something else a moment later, and to another `Accept`. */
function answerNow(ctx: RouterContext): void {
  ctx.vary('Accept');
  ctx.set({ 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' });
}
