import type { IncomingHttpHeaders } from 'node:http';
import OpenAI from 'openai';
import type { Failure } from '../../machines/vocabulary.ts';
import { ModelError } from '../model.ts';
import { asRecord, asText, isRecord, parseJson } from './json.ts';
import { RAW_ERROR_CHARS_MAX } from './limits.ts';
import { redactCredentials } from '../redact-secrets.ts';

/** Who failed, and what its failures may say. */
export interface FailureContext {
  readonly provider: string;
  readonly model: string;
  /** Removed from everything that is kept of the upstream's words. */
  readonly secrets: readonly string[];
  /** Whether messages repeat the upstream's words instead of a general sentence. */
  readonly debugErrors: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** A response with an error status. `body` may be cut. */
export interface HttpFailure {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type What = keyof typeof SENTENCES;

/** What each kind of failure tells the reader, after the name of the model. */
const SENTENCES = {
  rateLimited: 'is limiting requests at the moment; try again later',
  overflow:
    'cannot take in this much at once; ask for less, narrow what the tools return, or begin a new conversation',
  refused: 'did not accept the credentials of this agent',
  unknown: 'is not known to its provider under this name or address',
  rejected: 'did not accept the request',
  broken: 'has a problem at its provider; try again later',
  unreachable: 'could not be reached; try again later',
  cutShort: 'broke off: the answer was cut short',
  unreadable: 'sent an answer that could not be read',
} as const;

/**
 * Maps everything that can go wrong with an upstream to {@link ModelError}. It is the one place
 * that does, so it is the one place that decides what a client may read: by default a sentence of
 * ours; the upstream's own words only with `debugErrors`, without secrets and cut to a length.
 */
export class FailureMapper {
  readonly #context: FailureContext;

  constructor(context: FailureContext) {
    this.#context = context;
  }

  /** An error status. 429 and 5xx may be tried again. */
  http({ status, headers, body }: HttpFailure): ModelError {
    const error = OpenAI.APIError.generate(status, errorOf(body), body, new Headers());
    const what = whatOf(status, error);
    const retryAfterMs = retryAfterOf(headers, this.#context.now());
    const isRetryable = what === 'broken' || (what === 'rateLimited' && !isOutOfQuota(error));
    return this.#error(what, error.message, {
      retryable: isRetryable,
      status,
      ...(isRetryable && retryAfterMs !== undefined && { retryAfterMs }),
    });
  }

  /** An error reported inside the stream. It may be tried again only if nothing came before it. */
  frame(payload: unknown, { hasContent }: { hasContent: boolean }): ModelError {
    const inner = isRecord(payload) ? payload : { message: payload };
    const status = statusOf(inner);
    const error = OpenAI.APIError.generate(status, { error: inner }, undefined, new Headers());
    const what = whatOf(status, error);
    const mayHelp = what === 'broken' || (what === 'rateLimited' && !isOutOfQuota(error));
    return this.#error(what, error.message, { retryable: mayHelp && !hasContent });
  }

  /** No response came. */
  unreachable(cause: Error): ModelError {
    return this.#error('unreachable', wordsOf(cause), { retryable: true });
  }

  /** The response ended before the answer did. */
  cutShort(cause: Error, { hasContent }: { hasContent: boolean }): ModelError {
    const raw = `The answer was cut short: ${wordsOf(cause)}`;
    return this.#error('cutShort', raw, { retryable: !hasContent });
  }

  /** A part of the stream is no chunk of an answer, and the next answer would have it too. */
  unreadable(cause: Error): ModelError {
    return this.#error('unreadable', wordsOf(cause), { retryable: false });
  }

  /** The response is no stream at all, and would be none the next time. */
  noStream(why: string): ModelError {
    return this.#error('unreadable', why, { retryable: false });
  }

  #error(what: What, raw: string, rest: Omit<Failure, 'code' | 'message'>): ModelError {
    const told = this.#scrub(raw);
    const message = this.#context.debugErrors ? cut(told) : this.#sentence(what);
    return new ModelError(
      { code: codeOf(what), message, ...rest },
      { cause: new Error(cut(told)) },
    );
  }

  #sentence(what: What): string {
    const { provider, model } = this.#context;
    return `The model ${provider}/${model} ${SENTENCES[what]}.`;
  }

  #scrub(raw: string): string {
    let text = raw;
    for (const secret of this.#context.secrets) text = text.replaceAll(secret, '[redacted]');
    return redactCredentials(text);
  }
}

/** A connection tried at several addresses fails with an error that has a code and no message. */
function wordsOf(cause: Error): string {
  if (cause.message !== '') return cause.message;
  return 'code' in cause ? String(cause.code) : cause.name;
}

function codeOf(what: What): string {
  if (what === 'rateLimited') return 'provider_rate_limited';
  return what === 'overflow' ? 'context_length_exceeded' : 'provider_error';
}

function cut(text: string): string {
  if (text.length <= RAW_ERROR_CHARS_MAX) return text;
  // Half a character at the end would not survive encoding.
  return `${text.slice(0, RAW_ERROR_CHARS_MAX).replace(/[\ud800-\udbff]$/, '')}…`;
}

function whatOf(status: number, error: InstanceType<typeof OpenAI.APIError>): What {
  if (status === 401 || status === 403) return 'refused';
  if (error instanceof OpenAI.RateLimitError) return 'rateLimited';
  if (status !== 404 && isOverflow(`${error.code ?? ''} ${error.message}`)) return 'overflow';
  if (error instanceof OpenAI.NotFoundError) return 'unknown';
  return error instanceof OpenAI.InternalServerError ? 'broken' : 'rejected';
}

const OVERFLOW =
  /context_length_exceeded|maximum context length|maximum number of tokens|token limit|tokens exceeded/i;

/** Upstreams agree on no code for it, so their words are searched. */
function isOverflow(text: string): boolean {
  if (OVERFLOW.test(text)) return true;
  const lower = text.toLowerCase();
  return (
    (lower.includes('resulted in') && lower.includes('tokens')) ||
    (lower.includes('context') && lower.includes('exceeded'))
  );
}

/** OpenAI answers 429 for an empty account as well, where waiting does not help. */
function isOutOfQuota(error: InstanceType<typeof OpenAI.APIError>): boolean {
  return error.code === 'insufficient_quota' || error.type === 'insufficient_quota';
}

/** The object with an `error` that the SDK expects; other shapes are given as text. */
function errorOf(body: string): object | undefined {
  const value = parseJson(body);
  return isRecord(value) && value['error'] ? value : undefined;
}

/** The status an error in a stream stands for, taken from its code or guessed from its type. */
function statusOf(error: Readonly<Record<string, unknown>>): number {
  const code = Number(error['code'] ?? error['status']);
  if (Number.isInteger(code) && code >= 400 && code < 600) return code;
  const kind = `${asText(error['type'])} ${asText(error['code'])}`;
  if (/rate_limit|insufficient_quota/.test(kind)) return 429;
  if (/authentication|permission|invalid_api_key/.test(kind)) return 401;
  return /invalid_request|not_found|content_policy|context_length/.test(kind) ? 400 : 500;
}

/** Milliseconds, from `retry-after-ms` or from the seconds or the date of `retry-after`. */
function retryAfterOf(headers: IncomingHttpHeaders, now: number): number | undefined {
  const ms = numberOf(asText(asRecord(headers)['retry-after-ms']));
  if (ms !== undefined) return Math.ceil(ms);
  const after = asText(headers['retry-after']);
  const seconds = numberOf(after);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  // Without the name of a month it is a broken number, which the parser takes for a year.
  const date = /[a-z]/i.test(after) ? Date.parse(after) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function numberOf(text: string): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}
