import { bodyParser } from '@koa/bodyparser';
import type Koa from 'koa';
import { badRequest, HttpError } from '../errors.ts';

/**
 * A body must say that it is JSON. A page of another site can send other types without asking
 * first, so accepting them would let any page start runs here.
 */
export const demandJson: Koa.Middleware = async (ctx, next) => {
  // `is` is null without a body; the length of 0 counts as none.
  const type = ctx.get('Content-Length') === '0' ? null : ctx.request.is('json', '+json');
  if (type === false) {
    const message = 'The body must be JSON: send it with "Content-Type: application/json".';
    throw new HttpError({ status: 415, code: 'unsupported_media_type', message });
  }
  await next();
};

/** Reads the JSON body into `ctx.request.body`. Throws 413 over `bodyBytesMax`, 400 for bad JSON. */
export function jsonBody({ bodyBytesMax }: { readonly bodyBytesMax: number }): Koa.Middleware {
  const parse = bodyParser({
    enableTypes: ['json'],
    detectJSON: () => true,
    jsonLimit: bodyBytesMax,
    onError: (error) => {
      throw bodyError(error, bodyBytesMax);
    },
  });
  return async (ctx, next) => {
    await parse(ctx, async () => {
      // A second copy of the text would be kept for as long as the response streams.
      ctx.request.rawBody = '';
      await next();
    });
  };
}

function bodyError(error: Error, bodyBytesMax: number): HttpError {
  const status: unknown = Reflect.get(error, 'status');
  if (status === 413) {
    const message = `The body is larger than ${bodyBytesMax} bytes; send a smaller one.`;
    return new HttpError({ status, code: 'payload_too_large', message });
  }
  if (status === 415) {
    const message = 'The content encoding of the body is not supported; send it as it is, or gzip.';
    return new HttpError({ status, code: 'unsupported_media_type', message });
  }
  return badRequest('The body is not a valid JSON object; check its syntax.');
}
