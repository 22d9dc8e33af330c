import type Koa from 'koa';
import { HttpError } from '../errors.ts';

/** What proxies in front of a server let through; our longest target has a few ids in it. */
const TARGET_CHARS_MAX = 8_192;

/** More than any client sends. Node drops the ones beyond 2,000 without a word. */
const HEADERS_MAX = 200;

/**
 * Bounds the head of a request within what Node's parser takes, 16 KiB in all: beyond that it is
 * answered 431 before there is a request.
 */
export const requestLimits: Koa.Middleware = async ({ req }, next) => {
  if ((req.url?.length ?? 0) > TARGET_CHARS_MAX) throw targetTooLong();
  // Names and values in turn.
  if (req.rawHeaders.length > 2 * HEADERS_MAX) throw tooManyHeaders();
  await next();
};

function targetTooLong(): HttpError {
  return new HttpError({
    status: 414,
    code: 'uri_too_long',
    message: `The URL is longer than ${TARGET_CHARS_MAX} characters; send a shorter one.`,
  });
}

function tooManyHeaders(): HttpError {
  return new HttpError({
    status: 431,
    code: 'headers_too_large',
    message: `The request has more than ${HEADERS_MAX} headers; send fewer.`,
  });
}
