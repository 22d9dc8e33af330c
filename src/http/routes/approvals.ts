import type { RouterContext } from '@koa/router';
import { z } from 'zod';
import type { Decision } from '../../handle.ts';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { badRequest, notFound } from '../errors.ts';
import { echoable, optional, pageQueryOf, parseBody, prose, queryWord } from '../params.ts';
import { listOf } from './lists.ts';

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

const body = z.strictObject({ approved: z.boolean(), reason: optional(prose) });

/** `GET /v1/approvals`: the inbox, approvals of live and of parked runs. */
export function listApprovals(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const state = queryWord(ctx, 'state', ['pending']);
    const query = { ...pageQueryOf(ctx), ...(state !== undefined && { state }) };
    ctx.body = listOf(await handleOf(ctx, deps).listApprovals(query));
  };
}

/**
 * `POST /v1/approvals/{decision_id}`: 204 when the decision is durable, also when the same one
 * was taken before; 404 when there is none to take any more.
 */
export function decideApproval(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const id = echoable('decision_id', ctx.params['decision_id'] ?? '');
    if (!UUID.test(id)) throw badRequest(`invalid decision id: ${id}`, 'decision_id');
    const { approved, reason } = parseBody(body, ctx.request.body);
    const decision: Decision = reason === undefined ? { approved } : { approved, reason };
    const answer = await handleOf(ctx, deps).decide(id.toLowerCase(), decision);
    if (answer === 'unknown') throw notFound(`no pending approval for decision id ${id}`);
    ctx.status = 204;
  };
}
