import type { RouterContext } from '@koa/router';
import type Koa from 'koa';
import { z } from 'zod';
import type { DecisionCommand } from '../../approval-item.ts';
import { hasInfinity, isTooDeep, JSON_DEPTH_MAX } from '../../json-depth.ts';
import { signedDecisionOf } from '../auth/decision-signature.ts';
import { handleOf } from '../caller.ts';
import { deciderOf } from '../decider.ts';
import type { HttpDeps } from '../deps.ts';
import { badRequest, notFound } from '../errors.ts';
import { jsonFrom } from '../middleware/json-body.ts';
import { optional, parseBody, prose } from '../params.ts';
import { decisionIdOf } from './approvals.ts';

const json = z
  .record(z.string(), z.unknown())
  .refine((value) => !isTooDeep(value), { error: `nests deeper than ${JSON_DEPTH_MAX} levels` })
  .refine((value) => isTooDeep(value) || !hasInfinity(value), {
    error: 'holds a number that is too large',
  });

const body = z.strictObject({
  approved: z.boolean(),
  reason: optional(prose),
  arguments: optional(json),
  grant: optional(z.enum(['session'])),
  content: optional(json),
});

type DecisionBody = z.output<typeof body>;

/**
 * `POST /v1/approvals/{decision_id}`: 204 when the decision is durable, also when the same one
 * was taken before; 404 when there is none to take any more; 422 for what the approval does not
 * allow.
 */
export function decideApproval(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const decision = decisionIn(parseBody(body, ctx.request.body));
    const { decisionId, shown } = decisionIdOf(ctx);
    const by = deciderOf(ctx, deps.config);
    const command: DecisionCommand = {
      ...decision,
      ...(by !== undefined && { by }),
      ...(signedDecisionOf(ctx) !== undefined && { signed: true }),
    };
    const answer = await handleOf(ctx, deps).decide(decisionId, command);
    if (answer === 'unknown') throw notFound(`no pending approval for decision id ${shown}`);
    ctx.status = 204;
  };
}

/** Reads the body of a decision: the bytes that were signed, or what `unsigned` reads. */
export function decisionBody(unsigned: Koa.Middleware): Koa.Middleware {
  return async (ctx, next) => {
    const signed = signedDecisionOf(ctx);
    if (signed === undefined) return unsigned(ctx, next);
    jsonFrom(ctx, signed.body);
    await next();
  };
}

/** What only an approval can bring, none of which a denial may seem to bring. */
const OF_APPROVALS = ['arguments', 'grant', 'content'] as const satisfies (keyof DecisionBody)[];

function decisionIn(given: DecisionBody): DecisionCommand {
  const { approved, reason, arguments: edited, grant, content } = given;
  const stray = approved ? undefined : OF_APPROVALS.find((name) => given[name] !== undefined);
  if (stray !== undefined) {
    throw badRequest(`\`${stray}\` goes with an approval; leave it out of a denial.`, stray);
  }
  return {
    approved,
    ...(reason !== undefined && { reason }),
    ...(edited !== undefined && { arguments: edited }),
    ...(grant !== undefined && { grant }),
    ...(content !== undefined && { content }),
  };
}
