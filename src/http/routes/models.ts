import type { RouterContext } from '@koa/router';
import type Koa from 'koa';
import { AgentNotFoundError } from '../../errors.ts';
import type { AgentSummary } from '../../handle.ts';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { echoable } from '../params.ts';

/** `GET /v1/models`: every agent that is not hidden, in the order of the configuration. */
export function listModels(deps: HttpDeps): Koa.Middleware {
  return (ctx) => {
    const { agents } = handleOf(ctx, deps);
    const data = agents.filter((agent) => !agent.hidden).map(modelOf);
    ctx.body = { object: 'list', data };
  };
}

/** `GET /v1/models/{id}`: hidden agents too, since they can be used by whoever knows the name. */
export function getModel(deps: HttpDeps): (ctx: RouterContext) => void {
  return (ctx) => {
    const id = echoable('id', ctx.params['id'] ?? '');
    const { agents } = handleOf(ctx, deps);
    const agent = agents.find((candidate) => candidate.id === id);
    if (agent === undefined) throw new AgentNotFoundError(id);
    ctx.body = modelOf(agent);
  };
}

function modelOf({ id, createdAtMs, modelOwner, provider, description }: AgentSummary): object {
  return {
    id,
    object: 'model',
    created: Math.floor(createdAtMs / 1_000),
    owned_by: modelOwner ?? provider,
    ...(description === undefined ? {} : { description }),
  };
}
