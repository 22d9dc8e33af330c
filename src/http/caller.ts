import type Koa from 'koa';
import type { SupervisorHandle } from '../handle.ts';
import type { HttpDeps } from './deps.ts';

/** Who sent a request, as the authentication has found out. */
export interface Caller {
  /** The supervisor as the caller's tenant may see it. */
  readonly handle: SupervisorHandle;
  /** What the key is called in the configuration; never the key. */
  readonly keyName: string;
  readonly tenant: string;
}

/** Authentication leaves it in the request's state; nothing else writes it. */
export const setCaller = (ctx: Koa.Context, caller: Caller): void => {
  ctx.state['caller'] = caller;
};

/**
 * The supervisor as this caller may see it. Every route looks ids up here and nowhere else, so that
 * what is another tenant's is not known. Without authentication it is the whole supervisor.
 */
export function handleOf(ctx: Koa.Context, deps: Pick<HttpDeps, 'handle'>): SupervisorHandle {
  return callerOf(ctx)?.handle ?? deps.handle;
}

/** What the key of the request is called; undefined for a request without one. */
export const keyNameOf = (ctx: Koa.Context): string | undefined => callerOf(ctx)?.keyName;

/** Who sent the request, as fields of a log line; empty where nobody has said. */
export function callerFields(ctx: Koa.Context): { key_name?: string; tenant?: string } {
  const caller = callerOf(ctx);
  return caller === undefined ? {} : { key_name: caller.keyName, tenant: caller.tenant };
}

const callerOf = (ctx: Koa.Context): Caller | undefined =>
  ctx.state['caller'] as Caller | undefined;
