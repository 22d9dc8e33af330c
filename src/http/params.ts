import type Koa from 'koa';
import { z } from 'zod';
import { refusalOf } from './body-fault.ts';
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

/** The one value of a query parameter; undefined when it is not there. Throws 400 for several. */
export function queryValue(ctx: Koa.Context, name: string): string | undefined {
  const value = ctx.query[name];
  if (Array.isArray(value)) throw badRequest(`${name} is given more than once; send one.`, name);
  return value;
}

/** A flag of the query: absent is false. Throws 400 for anything but `true` and `false`. */
export function queryFlag(ctx: Koa.Context, name: string): boolean {
  const value = queryValue(ctx, name);
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw badRequest(`${name} is "true" or "false".`, name);
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
