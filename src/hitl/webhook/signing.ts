import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Signatures of what goes to a webhook and of the decisions that come back: HMAC-SHA256 over the bytes
 * `<unix seconds>.<context>.<raw body>`. The context says what the message is and which approval it is
 * about, so that one message's signature is worth nothing on another. A signature can be repeated within
 * the tolerance; what it signs can only be decided once.
 *
 * Wire shape, shared with other implementations: it never changes.
 */

/** Lower-case names, as Node gives and takes them. */
export const SIGNATURE_HEADER = 'x-aura-signature-256';
export const TIMESTAMP_HEADER = 'x-aura-timestamp';

/** What a question to a webhook is signed for. */
export const requestContext = (decisionId: string): string => `approval-request:${decisionId}`;

/**
 * What a decision is signed for: the webhook's answer, and a `POST /v1/approvals/{id}`, where it is the
 * path segment as it was sent.
 */
export const decisionContext = (decisionId: string): string => `approval-decision:${decisionId}`;

/** What the notice is signed for that an approval is moot. */
export const cancelledContext = (decisionId: string): string => `approval-cancelled:${decisionId}`;

/** A message to be signed. `timestamp` is in whole Unix seconds, `body` as it goes over the wire. */
export interface SignedMessage {
  readonly timestamp: number;
  /** Not empty, ASCII, no dot. */
  readonly context: string;
  readonly body: string | Uint8Array;
}

/** The key that a signature was made with. */
export type SigningKey = 'primary' | 'secondary';

export type Verification =
  | { readonly ok: true; readonly key: SigningKey }
  | { readonly ok: false; readonly why: 'missing' | 'malformed' | 'stale' | 'mismatch' };

/** What a received signature is held against. */
export interface VerifyingKeys {
  readonly secret: string;
  /** Accepted beside the first one. */
  readonly secondary?: string | undefined;
  /** How far the timestamp may be from `nowMs`, either way. */
  readonly toleranceMs: number;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** A signature and its timestamp as they stand in the headers; undefined where there is none. */
export interface ReceivedMessage {
  readonly signature: string | undefined;
  readonly timestamp: string | undefined;
  readonly context: string;
  readonly body: string | Uint8Array;
}

/** Request headers as Node's parser gives them. */
export type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const CONTEXT = /^[\x00-\x2d\x2f-\x7f]+$/;
const SIGNATURE = /^sha256=[\da-f]{64}$/;
/** No sign, no leading zero, no fraction; far beyond any date. */
const TIMESTAMP = /^(?:0|[1-9]\d{0,14})$/;

/**
 * The signature of a message: 64 lower-case hex digits. Throws a RangeError for a context or a timestamp
 * that no receiver would accept.
 */
export function sign(options: SignedMessage & { readonly secret: string }): string {
  const { secret, timestamp, context, body } = options;
  if (!CONTEXT.test(context)) {
    throw new RangeError('The context of a signature is ASCII, not empty, without a dot.');
  }
  if (!TIMESTAMP.test(String(timestamp))) {
    throw new RangeError('The timestamp of a signature is in whole Unix seconds.');
  }
  return hmac(secret, { timestamp: String(timestamp), context, body }).toString('hex');
}

/** The two headers that carry the signature of a message that is sent at `nowMs` (epoch milliseconds). */
export function signedHeaders(options: {
  readonly secret: string;
  readonly nowMs: number;
  readonly context: string;
  readonly body: string | Uint8Array;
}): Readonly<Record<typeof SIGNATURE_HEADER | typeof TIMESTAMP_HEADER, string>> {
  const { secret, nowMs, context, body } = options;
  const timestamp = unixSeconds(nowMs);
  return {
    [SIGNATURE_HEADER]: `sha256=${sign({ secret, timestamp, context, body })}`,
    [TIMESTAMP_HEADER]: String(timestamp),
  };
}

/**
 * Whether a message carries a signature of one of the keys, made within the tolerance. Never throws. The
 * comparison takes the same time whichever key fits, and where none does.
 */
export function verify(message: ReceivedMessage, keys: VerifyingKeys): Verification {
  const { signature, timestamp, context } = message;
  if (signature === undefined || timestamp === undefined) return { ok: false, why: 'missing' };
  if (!SIGNATURE.test(signature) || !TIMESTAMP.test(timestamp) || !CONTEXT.test(context)) {
    return { ok: false, why: 'malformed' };
  }
  const skewMs = Math.abs(unixSeconds(keys.nowMs) - Number(timestamp)) * 1_000;
  if (!(skewMs <= keys.toleranceMs)) return { ok: false, why: 'stale' };
  return matching(Buffer.from(signature.slice('sha256='.length), 'hex'), message, keys);
}

/** {@link verify} for a message whose signature is in `headers`; a header that came twice is malformed. */
export function verifySigned(
  message: {
    readonly headers: IncomingHeaders;
    readonly context: string;
    readonly body: string | Uint8Array;
  },
  keys: VerifyingKeys,
): Verification {
  const { headers, context, body } = message;
  const signature = single(headers[SIGNATURE_HEADER]);
  const timestamp = single(headers[TIMESTAMP_HEADER]);
  return verify({ signature, timestamp, context, body }, keys);
}

/** Both keys are tried whatever the first one says. */
function matching(
  given: Buffer,
  { timestamp = '', context, body }: ReceivedMessage,
  { secret, secondary }: VerifyingKeys,
): Verification {
  const signed = { timestamp, context, body };
  const first = timingSafeEqual(hmac(secret, signed), given);
  const second = timingSafeEqual(hmac(secondary ?? secret, signed), given);
  if (first) return { ok: true, key: 'primary' };
  return second ? { ok: true, key: 'secondary' } : { ok: false, why: 'mismatch' };
}

function hmac(
  secret: string,
  message: { timestamp: string; context: string; body: string | Uint8Array },
): Buffer {
  const { timestamp, context, body } = message;
  return createHmac('sha256', secret).update(`${timestamp}.${context}.`).update(body).digest();
}

const unixSeconds = (epochMs: number): number => Math.floor(epochMs / 1_000);

const single = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'object' ? value.join(', ') : value;
