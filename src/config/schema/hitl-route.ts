import * as z from 'zod';
import type { ConversationalRoute, WebhookRoute } from '../config.ts';
import { DEFAULTS } from '../defaults.ts';
import { APPROVAL_SECONDS_MAX, ZERO_SAYS } from '../ranges.ts';
import { httpUrl, seconds } from '../values.ts';
import { field, table } from './fields.ts';
import { headerNames, headers, lowerNames, lowerPairs, refuseReserved } from './headers.ts';

const MS_PER_SECOND = 1_000;

/** What is the same for every question: they are passed over, where others are refused. */
export const SET_FOR_WEBHOOKS: ReadonlySet<string> = new Set(['accept', 'content-type']);

/** They belong to one connection, or say how the body travels. */
const OF_TRANSPORT = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** With one of these set by somebody else a webhook could not tell what is ours. */
const OF_WEBHOOKS: ReadonlySet<string> = new Set([
  ...OF_TRANSPORT,
  'idempotency-key',
  'x-aura-event',
  'x-aura-signature-256',
  'x-aura-timestamp',
  'x-runwarden-expires-at',
]);

const OF_MCP: ReadonlySet<string> = new Set([
  ...OF_TRANSPORT,
  ...SET_FOR_WEBHOOKS,
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
]);

/** Names are lower case. */
const withoutOurs = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).filter(([name]) => !SET_FOR_WEBHOOKS.has(name)));

/** A person may take far longer than any machine. */
const timeout = field(seconds(ZERO_SAYS.approvalMs, { max: APPROVAL_SECONDS_MAX }));

const conversational = table({
  mode: z.literal('conversational'),
  timeout_secs: timeout.optional(),
}).transform(
  ({ mode, timeout_secs = DEFAULTS.approvalSecs * MS_PER_SECOND }): ConversationalRoute => ({
    mode,
    timeoutMs: timeout_secs,
  }),
);

const webhook = table({
  mode: z.literal('webhook'),
  url: field(httpUrl),
  timeout_secs: timeout.optional(),
  headers: headers.superRefine(refuseReserved(OF_WEBHOOKS)).optional(),
  headers_from_request: headerNames.superRefine(refuseReserved(OF_WEBHOOKS)).optional(),
  tool_headers_from_response: headerNames.superRefine(refuseReserved(OF_MCP)).optional(),
}).transform(
  ({
    mode,
    url,
    timeout_secs = DEFAULTS.webhookSecs * MS_PER_SECOND,
    headers: fixed = {},
    headers_from_request = {},
    tool_headers_from_response = {},
  }): WebhookRoute => ({
    mode,
    url,
    timeoutMs: timeout_secs,
    headers: withoutOurs(lowerNames(fixed)),
    headersFromRequest: withoutOurs(lowerPairs(headers_from_request)),
    toolHeadersFromResponse: lowerPairs(tool_headers_from_response),
  }),
);

/** `[hitl.route]`: how a person is asked. */
export const routeSchema = z.discriminatedUnion('mode', [conversational, webhook]);
