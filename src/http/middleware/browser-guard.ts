import type Koa from 'koa';
import { isLoopback, plainHost } from '../auth/loopback.ts';
import type { HttpConfig } from '../config.ts';
import { HttpError } from '../errors.ts';

type GuardConfig = Pick<HttpConfig, 'host' | 'allowedOrigins'>;

/** How long a browser may remember the answer to its preflight. */
const PREFLIGHT_SECS = '600';

/** Headers that this server reads. */
const READ_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'Last-Event-ID',
  'X-Api-Key',
  'X-Chat-Session-Id',
  'X-OpenWebUI-Chat-Id',
];

/** Headers of answers that a page may read beside those that it always may. */
const SENT_HEADERS = [
  'Idempotency-Replayed',
  'Retry-After',
  'WWW-Authenticate',
  'X-Chat-Session-Id',
  'X-Run-Id',
  'X-Should-Retry',
].join(', ');

/**
 * Keeps foreign web pages out, also of a server that asks nobody for a key.
 *
 * A page elsewhere is known by its `Origin`; a page that was given our address under its own name
 * (DNS rebinding) by its `Host`, which a server on loopback can check. An origin that the
 * configuration allows is answered with CORS headers, and its host is no foreign one: it is what a
 * proxy in front of us passes on.
 */
export function browserGuard(config: GuardConfig): Koa.Middleware {
  const origins = new Set(config.allowedOrigins.map((origin) => originOf(origin) ?? origin));
  const hosts = new Set([...origins].map((origin) => plainHost(parsed(origin)?.host ?? '')));
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
  const hostname = plainHost(host);
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
  ctx.set('Access-Control-Expose-Headers', SENT_HEADERS);
}

const isPreflight = (ctx: Koa.Context): boolean =>
  ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== '';

function answerPreflight(ctx: Koa.Context): void {
  ctx.set('Access-Control-Allow-Methods', 'GET, HEAD, POST');
  ctx.vary('Access-Control-Request-Headers');
  ctx.set('Access-Control-Allow-Headers', allowedHeaders(ctx));
  ctx.set('Access-Control-Max-Age', PREFLIGHT_SECS);
  ctx.status = 204;
}

/**
 * What is read here, and what the page asks for beside it: SDKs send headers of their own, and an
 * agent may be told to pass any header on to its MCP servers.
 */
function allowedHeaders(ctx: Koa.Context): string {
  const known = new Set(READ_HEADERS.map((name) => name.toLowerCase()));
  const asked = ctx.get('Access-Control-Request-Headers').split(',');
  const more = asked.map((name) => name.trim()).filter((name) => HEADER_NAME.test(name));
  return [...READ_HEADERS, ...more.filter((name) => !known.has(name.toLowerCase()))].join(', ');
}

/** A token of HTTP; `*` is one, and would mean all of them. */
const HEADER_NAME = /^[\w!#$%&'+.^`|~-]+$/;

/** The scheme is left out of it: a proxy in front of us may speak TLS. */
function isSameOrigin(origin: string, host: string): boolean {
  const url = parsed(origin);
  return url !== undefined && host !== '' && url.host === parsed(`${url.protocol}//${host}`)?.host;
}

const originOf = (text: string): string | undefined => parsed(text)?.origin;
const parsed = (text: string): URL | undefined => URL.parse(text) ?? undefined;
