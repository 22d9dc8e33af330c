import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { WebhookQuestion } from '../channel.ts';
import { originFields } from '../origin.ts';

/** Where a webhook is and which headers it gets and gives. Header names are lower case. */
export interface WebhookTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Outgoing name to the name in the caller's request. */
  readonly headersFromRequest: Readonly<Record<string, string>>;
  /** Name in the request of the approved call to the name in the webhook's answer. */
  readonly toolHeadersFromResponse: Readonly<Record<string, string>>;
}

/** Wire shape of a question: the body of the POST. */
export function questionBody(question: WebhookQuestion): string {
  const { decisionId, runId, sessionId, origin, toolName, toolCallIntent } = question;
  const intent = toolCallIntent !== undefined && { tool_call_intent: toolCallIntent };
  return JSON.stringify({
    version: 1,
    decision_id: decisionId,
    request_id: runId,
    scope: { kind: 'single', session_id: sessionId },
    origin: originFields(origin),
    items: [{ tool_name: toolName, arguments: question.arguments ?? {}, ...intent }],
  });
}

/** Wire shape of a notice. */
export const noticeBody = (notice: { decisionId: string; reason: string }): string =>
  JSON.stringify({ version: 1, decision_id: notice.decisionId, reason: notice.reason });

/** What the framing of HTTP and this channel say themselves. */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-aura-event',
  'x-aura-signature-256',
  'x-aura-timestamp',
  'x-runwarden-expires-at',
]);

/**
 * The operator's headers, those taken from the caller's request in their place where it has them, and
 * `own` last: nothing displaces one of those.
 */
export function requestHeaders(
  target: WebhookTarget,
  incoming: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const passedOn = Object.entries(target.headersFromRequest).flatMap(([name, from]) => {
    const value = ownValue(incoming, from);
    return value === undefined ? [] : [[name, value] as const];
  });
  const theirs = [...Object.entries(target.headers), ...passedOn]
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !RESERVED.has(name));
  return Object.fromEntries([...theirs, ...Object.entries(own)]);
}

/** The name of a header that HTTP does not allow. */
export function unsendableHeader(headers: Readonly<Record<string, string>>): string | undefined {
  return Object.entries(headers).find(([name, value]) => !isSendable(name, value))?.[0];
}

function isSendable(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** The headers of the approved call that the answer brings. One it does not have is left out. */
export function toolHeadersOf(
  target: WebhookTarget,
  answer: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const found = Object.entries(target.toolHeadersFromResponse).flatMap(([name, from]) => {
    const value = ownValue(answer, from);
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  return Object.fromEntries(found);
}

/** Header names come from outside; `constructor` is none that anybody sent. */
const ownValue = <Value>(map: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(map, name) ? map[name] : undefined;
