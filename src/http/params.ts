import type Koa from 'koa';
import { z } from 'zod';
import { badRequest } from './errors.ts';

/** A value that comes back in a header, a message or an entry is no longer than this. */
const ECHOED_BYTES_MAX = 256;
/** Sentences of a person: a reason, a message. */
const PROSE_BYTES_MAX = 8_192;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Gives a value back that is fit to be echoed. Throws 400 that names the parameter. */
export function echoable(name: string, value: string): string {
  if (CONTROL.test(value)) {
    throw badRequest(`${name} holds control characters; send it without them.`, name);
  }
  if (Buffer.byteLength(value) > ECHOED_BYTES_MAX) {
    throw badRequest(`${name} is longer than ${ECHOED_BYTES_MAX} bytes; send a shorter one.`, name);
  }
  return value;
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

/** The body as `schema` wants it; no body is `{}`. Throws 400 that names the first wrong field. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? '';
    throw badRequest(`Unknown key ${shown(key)} in the body; leave it out.`, shortened(key));
  }
  const path = issue?.path.map(String).join('.') ?? '';
  if (path === '') throw badRequest(`The body is not as expected: ${issue?.message ?? 'invalid'}.`);
  throw badRequest(`"${path}" is not as expected: ${issue?.message ?? 'invalid'}.`, path);
}

/** Headers of the request as the supervisor takes them: lower-case names, one text each. */
export function requestHeaders(ctx: Koa.Context): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(ctx.req.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

const shortened = (text: string): string => text.slice(0, 64);
const shown = (text: string): string => JSON.stringify(shortened(text));
