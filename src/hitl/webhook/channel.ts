import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Redact } from '../../redact-secrets.ts';
import type { WebhookAnswer, WebhookChannel, WebhookContext, WebhookQuestion } from '../channel.ts';
import { readDecision } from './answer.ts';
import { post, type PostResult } from './post.ts';
import {
  noticeBody,
  questionBody,
  requestHeaders,
  toolHeadersOf,
  unsendableHeader,
  type WebhookTarget,
} from './request.ts';
import {
  cancelledContext,
  decisionContext,
  requestContext,
  signedHeaders,
  verifySigned,
  type Verification,
  type VerifyingKeys,
} from './signing.ts';

export interface WebhookChannelOptions {
  readonly route: WebhookTarget;
  /** Signs what goes out, and asks for a signature on each answer that decides. */
  readonly signing?: Omit<VerifyingKeys, 'nowMs'> | undefined;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Keeps secrets out of messages and the log, should an answer repeat one. */
  readonly redact?: Redact;
}

/**
 * Makes the channel that asks one address: a POST and its answer for each question, on a connection of
 * its own. It tries once; to ask again is the caller's decision, and safe, since each try carries the
 * same `Idempotency-Key`. With a secret nothing is sent over plain HTTP, and only a signed answer decides.
 * A signature covers the body of an answer: headers are as trustworthy as the connection.
 */
export function createWebhookChannel(options: WebhookChannelOptions): WebhookChannel {
  const address = addressOf(options);
  return {
    ask: async (question, context) => {
      const { decisionId } = question;
      const result = await send(options, address, context, {
        body: questionBody(question),
        signedFor: requestContext(decisionId),
        headers: {
          'idempotency-key': decisionId,
          'x-runwarden-expires-at': new Date(question.expiresAt).toISOString(),
        },
      });
      return redacted(answerOf(options, question, result), options.redact);
    },
    withdraw: async (notice, context) => {
      const message = await problemOfNotice(options, address, notice, context);
      if (message === undefined) return true;
      const entry = {
        decision_id: notice.decisionId,
        reason: options.redact?.(message) ?? message,
      };
      options.log.warn(
        entry,
        'The webhook was not told that nobody waits for its decision any more.',
      );
      return false;
    },
  };
}

type Address = { readonly url: URL } | { readonly message: string };

/** Where to send, or why nothing is sent. The configuration refuses the same; this is the last line. */
function addressOf({ route, signing }: WebhookChannelOptions): Address {
  const url = URL.parse(route.url);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return { message: 'the url of the webhook is no http or https URL; correct it' };
  }
  if (signing !== undefined && url.protocol === 'http:') {
    return {
      message:
        'nothing is sent to a webhook over plain HTTP when its messages are signed; use https',
    };
  }
  return { url };
}

interface Message {
  readonly body: string;
  readonly signedFor: string;
  readonly headers: Readonly<Record<string, string>>;
}

function send(
  { route, signing, clock }: WebhookChannelOptions,
  address: Address,
  { requestHeaders: incoming, signal }: WebhookContext,
  { body, signedFor, headers: own }: Message,
): Promise<PostResult> {
  if ('message' in address) return Promise.resolve(unsent(address.message));
  const signature =
    signing === undefined
      ? {}
      : signedHeaders({ secret: signing.secret, nowMs: clock.now(), context: signedFor, body });
  const headers = requestHeaders(route, incoming, {
    'content-type': 'application/json',
    ...own,
    ...signature,
  });
  const bad = unsendableHeader(headers);
  if (bad !== undefined) {
    return Promise.resolve(unsent(`the header "${bad}" of the webhook's request cannot be sent`));
  }
  return post({ url: address.url, headers, body, signal, clock });
}

const unsent = (message: string): PostResult => ({ kind: 'broken', message, retryable: false });

function answerOf(
  options: WebhookChannelOptions,
  question: WebhookQuestion,
  result: PostResult,
): WebhookAnswer {
  if (result.kind === 'broken') return { ...result, kind: 'failed' };
  const { status, headers, body } = result;
  if (!isSuccess(status)) return refused(status);
  const distrust = distrustOf(options, question.decisionId, result);
  if (distrust !== undefined) return failed(distrust);
  const read = readDecision(body, question);
  if (read.kind === 'unreadable') return failed(read.message);
  const { decision } = read;
  const toolHeaders = decision.approved ? toolHeadersOf(options.route, headers) : {};
  return { kind: 'decided', decision, toolHeaders };
}

const isSuccess = (status: number): boolean => status >= 200 && status <= 299;

function refused(status: number): WebhookAnswer {
  const message = `webhook answered with status ${status}`;
  const isRedirect = status >= 300 && status <= 399;
  return {
    kind: 'failed',
    message: isRedirect ? `${message}; redirects are not followed` : message,
    retryable: status >= 500 || status === 429,
  };
}

const failed = (message: string): WebhookAnswer => ({ kind: 'failed', message, retryable: false });

/** Why an answer is not taken for the webhook's own. It is checked before a byte of it is parsed. */
function distrustOf(
  { signing, clock }: WebhookChannelOptions,
  decisionId: string,
  { headers, body }: Extract<PostResult, { kind: 'answered' }>,
): string | undefined {
  if (signing === undefined) return undefined;
  const signed = { headers, body, context: decisionContext(decisionId) };
  const verification = verifySigned(signed, { ...signing, nowMs: clock.now() });
  return verification.ok ? undefined : DISTRUST[verification.why];
}

const DISTRUST: Readonly<Record<Extract<Verification, { ok: false }>['why'], string>> = {
  missing: "the webhook's answer is not signed",
  malformed: "the signature of the webhook's answer is malformed",
  stale: "the signature of the webhook's answer is too far from the time here; compare the clocks",
  mismatch: "the signature of the webhook's answer does not match",
};

function redacted(answer: WebhookAnswer, redact: Redact | undefined): WebhookAnswer {
  if (answer.kind === 'decided' || redact === undefined) return answer;
  return { ...answer, message: redact(answer.message) };
}

/** Why the webhook did not take a notice; undefined when it did. */
async function problemOfNotice(
  options: WebhookChannelOptions,
  address: Address,
  notice: { readonly decisionId: string; readonly reason: string },
  context: WebhookContext,
): Promise<string | undefined> {
  try {
    const result = await send(options, address, context, {
      body: noticeBody(notice),
      signedFor: cancelledContext(notice.decisionId),
      headers: {
        'idempotency-key': `${notice.decisionId}:cancelled`,
        'x-aura-event': 'approval-cancelled',
      },
    });
    if (result.kind === 'broken') return result.message;
    return isSuccess(result.status) ? undefined : `webhook answered with status ${result.status}`;
  } catch {
    return 'the time for the notice was over';
  }
}
