import type Koa from 'koa';
import type { HttpDeps } from '../deps.ts';

/** The AURA release whose wire is spoken here. Its clients read it; ours stands beside it. */
const AURA_VERSION = '0.2.3';

/** `GET /health`: 200 also when the store does not answer, then `degraded`. */
export function health({ handle, config, clock }: HttpDeps): Koa.Middleware {
  return async (ctx) => {
    const { status, store } = await handle.health();
    ctx.body = {
      status,
      timestamp: new Date(clock.now()).toISOString(),
      aura_version: AURA_VERSION,
      runwarden_version: config.version,
      session_store: store,
    };
  };
}
