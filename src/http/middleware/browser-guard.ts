import { isIP } from 'node:net';
import type Koa from 'koa';
import type { HttpConfig } from '../config.ts';
import { HttpError } from '../errors.ts';

type GuardConfig = Pick<HttpConfig, 'host' | 'allowedOrigins'>;

/** How long a browser may remember the answer to its preflight. */
const PREFLIGHT_SECS = '600';

/**
 * Keeps foreign web pages out of a server without passwords.
 *
 * A page elsewhere is known by its `Origin`; a page that was given our address under its own name
 * (DNS rebinding) by its `Host`, which a server on loopback can check. An origin that the
 * configuration allows is answered with CORS headers, and its host is no foreign one: it is what a
 * proxy in front of us passes on.
 */
export function browserGuard(config: GuardConfig): Koa.Middleware {
  const origins = new Set(config.allowedOrigins.map((origin) => originOf(origin) ?? origin));
  const hosts = new Set([...origins].map((origin) => hostnameOf(origin)));
  const loopback = isLoopback(config.host);
  return async (ctx, next) => {
    if (loopback) checkHost(ctx, hosts);
    const origin = ctx.get('Origin');
    if (origin === '' || isSameOrigin(origin, ctx.get('Host'))) return next();
    if (!origins.has(origin)) throw originRefused();
    allow(ctx, origin);
    if (isPreflight(ctx)) answerPreflight(ctx);
    else await next();
  };
}

/** Browsers always send `Host`, so a request of HTTP/1.0 without one is no page's. */
function checkHost(ctx: Koa.Context, hosts: ReadonlySet<string | undefined>): void {
  const { host } = ctx.req.headers;
  if (host === undefined) return;
  const hostname = hostnameOf(`http://${host}`);
  if (hostname !== undefined && (isLoopback(hostname) || hosts.has(hostname))) return;
  throw new HttpError({
    status: 421,
    code: 'misdirected_request',
    message: 'This server answers to loopback names only; use 127.0.0.1 or localhost as the host.',
  });
}

function originRefused(): HttpError {
  const message = 'This origin may not call the server; if it may, name it in --allowed-origins.';
  return new HttpError({ status: 403, code: 'forbidden', message });
}

function allow(ctx: Koa.Context, origin: string): void {
  ctx.vary('Origin');
  ctx.set('Access-Control-Allow-Origin', origin);
  ctx.set('Access-Control-Expose-Headers', 'X-Run-Id, X-Chat-Session-Id, Retry-After');
}

const isPreflight = (ctx: Koa.Context): boolean =>
  ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== '';

function answerPreflight(ctx: Koa.Context): void {
  ctx.set('Access-Control-Allow-Methods', 'GET, HEAD, POST');
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers'));
  ctx.set('Access-Control-Max-Age', PREFLIGHT_SECS);
  ctx.status = 204;
}

/** The scheme is left out of it: a proxy in front of us may speak TLS. */
function isSameOrigin(origin: string, host: string): boolean {
  const url = parsed(origin);
  return url !== undefined && host !== '' && url.host === parsed(`${url.protocol}//${host}`)?.host;
}

function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare) === 4) return bare.startsWith('127.');
  if (isIP(bare) === 6) return bare === '::1';
  return bare === 'localhost' || bare.endsWith('.localhost');
}

const originOf = (text: string): string | undefined => parsed(text)?.origin;
const hostnameOf = (text: string): string | undefined => parsed(text)?.hostname;
const parsed = (text: string): URL | undefined => URL.parse(text) ?? undefined;
