import { HttpError } from '../errors.ts';

/** 401 for a request without a key as for one with a wrong key: it tells nothing about keys. */
export function unauthorized(): HttpError {
  return new HttpError({
    status: 401,
    code: 'unauthorized',
    message: 'This needs a valid API key; send it as "Authorization: Bearer KEY".',
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

/** 401 for a decision whose signature is wrong in any way, or not there: it tells nothing about keys. */
export function signatureInvalid(): HttpError {
  const message = 'invalid or missing webhook signature';
  return new HttpError({ status: 401, code: 'unauthorized', message });
}

/** 403 for a valid key that may not do this. */
export function scopeMissing(scope: string): HttpError {
  return new HttpError({
    status: 403,
    code: 'forbidden',
    message: `The API key has no scope "${scope}", which this needs; use a key that has it.`,
  });
}

/** 429 for a tenant that has sent as many requests in a minute as it may. */
export function tooManyRequests(perMinuteMax: number, retryAfterSecs: number): HttpError {
  return new HttpError({
    status: 429,
    code: 'rate_limited',
    message:
      `The ${perMinuteMax} requests a minute of this tenant are used up; ` +
      `try again in ${retryAfterSecs} s.`,
    headers: { 'Retry-After': String(retryAfterSecs) },
  });
}
