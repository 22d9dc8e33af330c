import type { RouterContext } from '@koa/router';
import type Koa from 'koa';
import { z } from 'zod';
import { nearest } from '../nearest.ts';
import type { PageQuery } from '../handle.ts';
import { refusalOf, shown } from './body-fault.ts';
import { ECHOED_BYTES_MAX, isEchoable, isUnsafe } from './echo.ts';
import { badRequest } from './errors.ts';

/** Sentences of a person: a reason, a message. */
const PROSE_BYTES_MAX = 8_192;

/** Gives a value back that is fit to be echoed. Throws 400 that names the parameter. */
export function echoable(name: string, value: string): string {
  if (isEchoable(value)) return value;
  const fault = isUnsafe(value)
    ? 'holds control characters; send it without them'
    : `is longer than ${ECHOED_BYTES_MAX} bytes; send a shorter one`;
  throw badRequest(`${name} ${fault}.`, name);
}

/** The `{id}` of a run's path. Throws 400 when it cannot be echoed. */
export const runIdOf = (ctx: RouterContext): string => echoable('id', ctx.params['id'] ?? '');

/** The one value of a query parameter; undefined when it is not there. Throws 400 for several. */
export function queryValue(ctx: Koa.Context, name: string): string | undefined {
  const value = ctx.query[name];
  if (Array.isArray(value)) throw badRequest(`${name} is given more than once; send one.`, name);
  return value;
}

/**
 * Refuses a query with a key that is not one of `known`: a misspelt filter would show more than was
 * asked for. Throws 400 that names the key, and the known one that was probably meant.
 */
export function checkQueryKeys(ctx: Koa.Context, known: readonly string[]): void {
  const unknown = Object.keys(ctx.query).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const name = shown(unknown);
  const meant = nearest(unknown.slice(0, ECHOED_BYTES_MAX), known);
  const remedy = meant === undefined ? `known are ${known.join(', ')}` : `did you mean ${meant}?`;
  throw badRequest(`Unknown query key ${name}; ${remedy}${meant === undefined ? '.' : ''}`, name);
}

/** A flag of the query: absent is false. Throws 400 for anything but `true` and `false`. */
export function queryFlag(ctx: Koa.Context, name: string): boolean {
  const value = queryValue(ctx, name);
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw badRequest(`${name} is "true" or "false".`, name);
}

/** A text of the query that may be echoed. Throws 400 for an empty one. */
export function queryText(ctx: Koa.Context, name: string): string | undefined {
  const value = queryValue(ctx, name);
  if (value === '') throw badRequest(`${name} is empty; give it a value or leave it out.`, name);
  return value === undefined ? undefined : echoable(name, value);
}

/** A word of the query out of `words`. Throws 400 that names them for any other. */
export function queryWord<Word extends string>(
  ctx: Koa.Context,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const value = queryValue(ctx, name);
  if (value === undefined) return undefined;
  const word = words.find((candidate) => candidate === value);
  if (word !== undefined) return word;
  const known = words.map((candidate) => `"${candidate}"`).join(', ');
  throw badRequest(`${name} is one of ${known}; leave it out for all.`, name);
}

/** A sequence number of the query. Throws 400 for what is none. */
export const querySeq = (ctx: Koa.Context, name: string): number | undefined =>
  seqOf(name, queryValue(ctx, name));

/** A sequence number from a text. Throws 400 that names its parameter. */
export function seqOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`${name} is a sequence number: digits, as in the id of an event.`, name);
}

/** Every list is in the order of an id that the server minted. */
const CURSOR = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Query keys of every list. */
export const PAGE_KEYS = ['limit', 'after'] as const;

const PAGE_DEFAULT = 50;
const PAGE_MAX = 200;

/** `limit` and `after` of a list. Throws 400 that names the one that is wrong. */
export function pageQueryOf(ctx: Koa.Context): PageQuery {
  const text = queryValue(ctx, 'limit') ?? String(PAGE_DEFAULT);
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > PAGE_MAX) {
    throw badRequest(`limit is a whole number from 1 to ${PAGE_MAX}.`, 'limit');
  }
  const after = queryText(ctx, 'after');
  if (after !== undefined && !CURSOR.test(after)) {
    throw badRequest('after is the `next` of the page before, as it was sent.', 'after');
  }
  return { limit, ...(after !== undefined && { after }) };
}

/** Text that a person wrote, kept in the journal. */
export const prose = z.string().refine((text) => Buffer.byteLength(text) <= PROSE_BYTES_MAX, {
  error: `is longer than ${PROSE_BYTES_MAX} bytes`,
});

/** A key that may be left out. Many clients send all the keys they know, so `null` is as absent. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

/** The body as `schema` wants it; no body is `{}`. Throws 400 that names the first wrong field. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(body === undefined ? {} : body, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw refusalOf(parsed.error.issues[0]);
}

/** Headers of the request as the supervisor takes them: lower-case names, one text each. */
export function requestHeaders(ctx: Koa.Context): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(ctx.req.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}
