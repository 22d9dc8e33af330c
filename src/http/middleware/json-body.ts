import { bodyParser } from '@koa/bodyparser';
import type Koa from 'koa';
import { notAnObject } from '../body-fault.ts';
import { badRequest, HttpError } from '../errors.ts';
import { awaitsContinue } from '../request-head.ts';

/** The encodings that the parser unpacks, as they are written. */
const ENCODINGS: ReadonlySet<string> = new Set(['', 'identity', 'gzip', 'deflate', 'br']);

/**
 * A body must say that it is JSON. A page of another site can send other types without asking
 * first, so accepting them would let any page start runs here.
 */
export const demandJson: Koa.Middleware = async (ctx, next) => {
  // `is` is null without a body; the length of 0 counts as none.
  const type = ctx.get('Content-Length') === '0' ? null : ctx.request.is('json', '+json');
  if (type === false) {
    throw unsupported('The body must be JSON: send it with "Content-Type: application/json".');
  }
  await next();
};

/**
 * Reads the JSON body into `ctx.request.body`, an object; no body is an empty one. What the headers
 * tell is refused before a peer that waits for `100 Continue` is told to go on.
 *
 * Throws 413 over `bodyBytesMax`, 415 for an encoding, 400 for anything but a JSON object.
 */
export function jsonBody({ bodyBytesMax }: { readonly bodyBytesMax: number }): Koa.Middleware {
  const parse = bodyParser({
    enableTypes: ['json'],
    detectJSON: () => true,
    jsonLimit: bodyBytesMax,
    // Values that are no objects are refused below, in words that say so.
    jsonStrict: false,
    onError: (error, ctx) => {
      throw bodyError(error, ctx, bodyBytesMax);
    },
  });
  return async (ctx, next) => {
    checkHead(ctx, bodyBytesMax);
    if (awaitsContinue(ctx.req)) ctx.res.writeContinue();
    await parse(ctx, async () => {
      ctx.request.body = objectOf(ctx.request);
      // A second copy of the text would be kept for as long as the response streams.
      ctx.request.rawBody = '';
      await next();
    });
  };
}

/**
 * Takes the JSON body from bytes that were read before, as {@link jsonBody} does from the connection.
 * They come without an encoding.
 */
export function jsonFrom(ctx: Koa.Context, bytes: Buffer): void {
  const encoding = ctx.get('Content-Encoding');
  if (encoding !== '' && encoding !== 'identity') {
    throw unsupported('A signed body is taken as it is; send it without a content encoding.');
  }
  const rawBody = bytes.toString('utf8');
  if (rawBody !== '' && !isJson(rawBody)) throw notJson();
  const body: unknown = rawBody === '' ? undefined : JSON.parse(rawBody);
  if (hasForbiddenKey(body)) throw forbiddenKey();
  ctx.request.body = objectOf({ body, rawBody });
}

/** The other way refuses this key as well. Goes level by level, so that no depth overflows the stack. */
function hasForbiddenKey(value: unknown): boolean {
  let level: unknown[] = [value];
  while (level.length > 0) {
    const containers = level.filter((one) => typeof one === 'object' && one !== null);
    if (containers.some((container) => Object.hasOwn(container, '__proto__'))) return true;
    level = containers.flatMap((container) => Object.values(container));
  }
  return false;
}

function checkHead(ctx: Koa.Context, bodyBytesMax: number): void {
  if (!ENCODINGS.has(ctx.get('Content-Encoding'))) {
    throw unsupported('The content encoding of the body is not supported; use gzip or none.');
  }
  if (Number(ctx.get('Content-Length')) > bodyBytesMax) throw tooLarge(bodyBytesMax);
}

function objectOf({ body, rawBody }: { body?: unknown; rawBody?: string }): object {
  if (rawBody === '') return {};
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  throw notAnObject(body);
}

function unsupported(message: string): HttpError {
  return new HttpError({ status: 415, code: 'unsupported_media_type', message });
}

function tooLarge(bodyBytesMax: number): HttpError {
  const message = `The body is larger than ${bodyBytesMax} bytes; send a smaller one.`;
  return new HttpError({ status: 413, code: 'payload_too_large', message });
}

function bodyError(error: Error, ctx: Koa.Context, bodyBytesMax: number): HttpError {
  if (Reflect.get(error, 'status') === 413) return tooLarge(bodyBytesMax);
  const text: unknown = Reflect.get(error, 'body');
  if (typeof text !== 'string') return unreadable(ctx);
  // The parser calls a forbidden key a syntax error too.
  return isJson(text) ? forbiddenKey() : notJson();
}

const notJson = (): HttpError => badRequest('The body is not valid JSON; check its syntax.');

const forbiddenKey = (): HttpError =>
  badRequest('The body has a key named "__proto__", which is not taken; leave it out.');

/** The text never came whole. */
function unreadable(ctx: Koa.Context): HttpError {
  const encoding = ctx.get('Content-Encoding');
  if (encoding === '' || encoding === 'identity') {
    return badRequest('The body did not come whole; send it again.');
  }
  return badRequest(`The body cannot be unpacked; send it in ${encoding} or without encoding.`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
