import type {
  CancelReason,
  DeadlineName,
  JournalEvent,
  ParkReason,
  UsageFields,
} from '../../journal/events.ts';
import { HttpError, NO_RETRY, RETRY_AFTER_SECS, unavailable } from '../errors.ts';
import type { FinishReason } from './openai-chunks.ts';

/** How a run's last entry reads to a chat client. */
export type Ending =
  | { readonly kind: 'answer'; readonly finishReason: FinishReason; readonly usage: UsageFields }
  | {
      readonly kind: 'failure';
      /** The answer where nothing has been sent; its body is what a stream's error frame holds. */
      readonly error: HttpError;
      /** Words for clients that show text and pass over errors, where AURA has some. */
      readonly sentence?: string;
    };

export interface EndingOptions {
  /** Provider and model, as every response names them. */
  readonly model: string;
  /** The request's token limit: an answer that reached it ended for its length. */
  readonly tokensMax: number | undefined;
  readonly debugProviderErrors: boolean;
}

type Finished = Extract<JournalEvent, { type: 'finished' }>;
type Failed = Extract<JournalEvent, { type: 'failed' }>;
type Cancelled = Extract<JournalEvent, { type: 'cancelled' }>;

/** A day: a provider that asks for more is as good as gone, and digits stay digits. */
const RETRY_AFTER_SECS_MAX = 86_400;

/** Longest text of a provider's own error that is shown. */
const RAW_ERROR_CHARS_MAX = 500;

/** Reads a terminal entry; undefined for any other. */
export function endingOf(event: JournalEvent, options: EndingOptions): Ending | undefined {
  switch (event.type) {
    case 'finished':
      return answer(event, finishReason(event, options));
    case 'failed':
      return failure(event, options);
    case 'parked':
      return parked(event.reason);
    case 'cancelled':
      if (event.reason === 'client_tool') return answer(event, 'tool_calls');
      return { kind: 'failure', error: cancelError(event) };
    default:
      return undefined;
  }
}

const answer = (usage: UsageFields, finishReason: FinishReason): Ending => ({
  kind: 'answer',
  finishReason,
  usage,
});

/** The caller's own limit counts as much as the provider's word (AURA knows it alone). */
function finishReason(event: Finished, options: EndingOptions): FinishReason {
  if (reachedLimit(event, options) || event.finish_reason === 'length') return 'length';
  return event.finish_reason === 'content_filter' ? 'content_filter' : 'stop';
}

const reachedLimit = (usage: UsageFields, { tokensMax }: EndingOptions): boolean =>
  tokensMax !== undefined && usage.completion_tokens >= tokensMax;

function failure({ error }: Failed, options: EndingOptions): Ending {
  switch (error.code) {
    case 'context_length_exceeded':
      return { kind: 'failure', error: tooLong(error.code), sentence: TOO_LONG };
    case 'store_unavailable':
      return {
        kind: 'failure',
        error: unavailable(error.code, STORE_FAILED),
        sentence: STORE_FAILED,
      };
    case 'internal_error':
      return { kind: 'failure', error: internal(), sentence: INTERNAL };
    default:
      return providerFailure(error, options);
  }
}

function providerFailure(error: Failed['error'], options: EndingOptions): Ending {
  const sentence = providerSentence(error, options);
  const limited = error.code === 'provider_rate_limited';
  const headers = {
    ...(limited ? { 'Retry-After': String(retryAfterSecs(error)) } : {}),
    ...(error.retryable ? {} : NO_RETRY),
  };
  const status = limited ? 429 : 502;
  const fields = { status, code: error.code, type: 'provider_error', message: sentence, headers };
  return { kind: 'failure', error: new HttpError(fields), sentence };
}

/** What the provider asked for, in whole seconds as the header has them. */
function retryAfterSecs({ retry_after_ms }: Failed['error']): number {
  if (retry_after_ms === undefined) return RETRY_AFTER_SECS;
  return Math.min(Math.max(Math.ceil(retry_after_ms / 1_000), 1), RETRY_AFTER_SECS_MAX);
}

/** A provider's own words may hold what is not the caller's business, so they need a setting. */
function providerSentence(error: Failed['error'], options: EndingOptions): string {
  if (error.code === 'turn_limit') return error.message;
  if (options.debugProviderErrors) return clipped(error.message);
  if (error.code === 'provider_rate_limited') {
    return `The provider of \`${options.model}\` takes no more requests now. Try again shortly.`;
  }
  const remedy = error.retryable ? ' Try again.' : '';
  return `\`${options.model}\` reported an error and could not complete the answer.${remedy}`;
}

function clipped(text: string): string {
  const chars = Array.from(text);
  if (chars.length <= RAW_ERROR_CHARS_MAX) return text;
  return `${chars.slice(0, RAW_ERROR_CHARS_MAX).join('')}…`;
}

const TOO_LONG = `**The conversation no longer fits into the model's context.** The tools probably \
returned more data than it can hold. You can:

1. narrow the search with filters, such as a shorter time range,
2. ask for a summary instead of all the data,
3. split the request into smaller ones.`;

const STORE_FAILED = 'The answer could not be recorded, so it ended early. Try again.';
const INTERNAL = 'The answer ended early because of an error inside the server.';

const tooLong = (code: string): HttpError =>
  new HttpError({
    status: 400,
    code,
    type: 'invalid_request_error',
    message: "The conversation no longer fits into the model's context; make it shorter.",
  });

const internal = (): HttpError =>
  new HttpError({ status: 500, code: 'internal_error', message: INTERNAL });

/** The same request sent again would be a second run beside the one that can be resumed. */
function parked(reason: ParkReason): Ending {
  const sentence = `${PARKED[reason]} It can be resumed, and then goes on from where it stopped.`;
  return { kind: 'failure', error: conflict('run_parked', sentence), sentence };
}

const PARKED: Readonly<Record<ParkReason, string>> = {
  unclaimed: 'The run was parked because nobody was reading it.',
  external: 'The run was parked on request.',
  shutdown: 'The run was parked because the server is shutting down.',
  owner_lost: 'The run was parked because the server that ran it was lost.',
};

function cancelError(event: Cancelled): HttpError {
  switch (event.reason) {
    case 'deadline':
      return deadline(event);
    case 'shutdown':
      return unavailableAs('service_unavailable', 'shutdown', 'Server is shutting down');
    case 'lease_lost':
      return unavailable('lease_lost', 'Another server has taken over the session. Try again.');
    case 'superseded':
      return conflict('run_superseded', 'A newer run of the session took the place of this one.');
    default:
      return conflict('run_cancelled', cancelMessage(event.reason, event.message));
  }
}

function cancelMessage(reason: CancelReason, message: string | undefined): string {
  if (reason === 'unclaimed') return 'The run was cancelled because nobody was reading it.';
  return message === undefined ? 'The run was cancelled.' : `The run was cancelled: ${message}`;
}

function deadline({ which = 'total', after_ms }: Cancelled): HttpError {
  const after = after_ms === undefined ? '' : ` (after ${secondsOf(after_ms)} s)`;
  return new HttpError({
    status: 504,
    code: `deadline_${which}`,
    type: 'deadline_exceeded',
    message: `${DEADLINES[which]}${after}.`,
    headers: NO_RETRY,
  });
}

/** To a tenth, or exact below that: a timer is always late by a little, which is no news. */
const secondsOf = (ms: number): number => Math.round(ms / 100) / 10 || ms / 1_000;

const DEADLINES: Readonly<Record<DeadlineName, string>> = {
  total: 'The run used up its time',
  setup: 'The agent could not be made ready in time',
  first_chunk: 'The model did not begin to answer in time',
  inactivity: 'The model fell silent',
  step: 'One step of the run took too long',
};

const conflict = (code: string, message: string): HttpError =>
  new HttpError({ status: 409, code, message, headers: NO_RETRY });

function unavailableAs(type: string, code: string, message: string): HttpError {
  const { headers } = unavailable(code, message);
  return new HttpError({ status: 503, type, code, message, headers });
}
