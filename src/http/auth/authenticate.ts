import type Koa from 'koa';
import type { AuthConfig, AuthKeyConfig } from '../../auth.ts';
import type { SupervisorHandle } from '../../handle.ts';
import { type Caller, setCaller } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { type Scope, scopesOf } from '../routes/scopes.ts';
import { signedDecisionOf } from './decision-signature.ts';
import { credentialsIn, withdraw } from './credentials.ts';
import { Keyring } from './keyring.ts';
import { scopeMissing, tooManyRequests, unauthorized } from './refusals.ts';
import { RequestRate } from './request-rate.ts';

/**
 * Lets nobody in without a key.
 *
 * A1. Without a valid key everything but `/health` is 401, a path that does not exist included.
 * A2. A valid key gets what its scopes name, inside its tenant; the routes see the supervisor as
 *     that tenant does, and nothing else.
 * A3. Behind this point the request does not carry the key any more.
 * A4. A tenant's requests are counted together, whichever of its keys sends them, and before
 *     anything else is done for them.
 * A5. A decision that is signed needs no key, and no scope of the key that it has. Without a key it
 *     sees the whole supervisor, because a signature belongs to no tenant.
 *
 * Without `[auth]` everybody is let in.
 */
export function authenticate({
  handle,
  config: { auth },
  clock,
}: Pick<HttpDeps, 'handle' | 'config' | 'clock'>): Koa.Middleware {
  if (auth === undefined) return (_ctx, next) => next();
  const keyring = new Keyring(auth.keys);
  const tenants = tenantsOf(auth, handle, clock);
  return async (ctx, next) => {
    if (isOpen(ctx)) return next();
    const key = takeKey(ctx, keyring);
    const isSigned = signedDecisionOf(ctx) !== undefined;
    const tenant = tenants.get(key?.tenant ?? '');
    if (key === undefined || tenant === undefined) {
      if (!isSigned) throw unauthorized();
      return next();
    }
    const missing = missingScope(ctx, key);
    // Such a key adds nothing to the signature, so the request is one without it.
    if (missing !== undefined && isSigned) return next();
    setCaller(ctx, { ...tenant.caller, keyName: key.name });
    checkRate(tenant.rate, auth);
    if (missing !== undefined) throw scopeMissing(missing);
    await next();
  };
}

interface Tenant {
  readonly caller: Omit<Caller, 'keyName'>;
  readonly rate: RequestRate;
}

/** One view of the supervisor and one count for all keys of a tenant. */
function tenantsOf(
  { keys, tenants: limits }: AuthConfig,
  handle: SupervisorHandle,
  clock: HttpDeps['clock'],
): ReadonlyMap<string, Tenant> {
  const { liveRunsMax, storedBytesMax, requestsPerMinuteMax } = limits;
  const names = new Set(keys.map(({ tenant }) => tenant));
  return new Map(
    [...names].map((tenant) => {
      const view = handle.forTenant({ tenant, liveRunsMax, storedBytesMax });
      const rate = new RequestRate(requestsPerMinuteMax, clock);
      return [tenant, { caller: { handle: view, tenant }, rate }];
    }),
  );
}

/** Load balancers ask for it, and it tells nothing of anybody. Preflights are answered before. */
const isOpen = ({ method, path }: Koa.Context): boolean =>
  path === '/health' && (method === 'GET' || method === 'HEAD');

/** The first credential that is a key says who calls; another one that is a key goes with it. */
function takeKey({ req }: Koa.Context, keyring: Keyring): AuthKeyConfig | undefined {
  const keys = credentialsIn(req).flatMap((credential) => {
    const key = keyring.find(credential.secret);
    if (key === undefined) return [];
    withdraw(req, credential);
    return [key];
  });
  return keys[0];
}

function checkRate(rate: RequestRate, { tenants }: AuthConfig): void {
  const retryAfterSecs = rate.admit();
  if (retryAfterSecs > 0) throw tooManyRequests(tenants.requestsPerMinuteMax, retryAfterSecs);
}

/** A scope that the request needs and the key has not. */
function missingScope(ctx: Koa.Context, { scopes }: AuthKeyConfig): Scope | undefined {
  if (scopes.includes('admin')) return undefined;
  const has: readonly Scope[] = scopes.filter((scope) => scope !== 'admin');
  // What no route takes is 404 or 405 for any key.
  return scopesOf(ctx)?.find((scope) => !has.includes(scope));
}
