import { validateHeaderName, validateHeaderValue } from 'node:http';
import { McpConnectionError } from './failures.ts';
import type { HttpServerConfig } from './server-config.ts';

/** Set by the transport itself; a second value would break the protocol. */
const RESERVED = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'host',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
]);

/**
 * The headers of one connection, lower-case names: the configured ones, overlaid by what the
 * caller's request carries. A value of the request that no header can hold is passed over.
 *
 * Throws {@link McpConnectionError} naming the header when the configuration asks for the impossible.
 */
export function resolveHeaders(
  config: HttpServerConfig,
  requestHeaders: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(config.headers)) {
    headers[checkedName(name, 'headers')] = checkedValue(name, value);
  }
  for (const [outgoing, incoming] of Object.entries(config.headersFromRequest)) {
    const name = checkedName(outgoing, 'headers_from_request');
    const value = requestHeaders[incoming.toLowerCase()];
    if (value !== undefined && isSendable(name, value)) headers[name] = value;
  }
  return withUserinfo(config.url, headers);
}

/**
 * The headers of one call as they can be sent, lower-case names. Those that the transport sets itself
 * and those that no header can hold are passed over; `passedOver` hears their names.
 */
export function callHeaders(
  headers: Readonly<Record<string, string>>,
  passedOver: (name: string) => void,
): Readonly<Record<string, string>> {
  const sent = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    const lower = name.toLowerCase();
    if (!RESERVED.has(lower) && isName(lower) && isSendable(lower, value)) return [[lower, value]];
    passedOver(lower);
    return [];
  });
  return Object.fromEntries(sent);
}

function checkedName(name: string, table: string): string {
  const lower = name.toLowerCase();
  if (RESERVED.has(lower)) {
    throw new McpConnectionError(
      `the header "${lower}" is set by the transport; remove it from \`${table}\` of this server`,
    );
  }
  if (isName(lower)) return lower;
  throw new McpConnectionError(
    `"${name}" is not a header name; correct it in \`${table}\` of this server`,
  );
}

function isName(name: string): boolean {
  try {
    validateHeaderName(name);
    return true;
  } catch {
    return false;
  }
}

function checkedValue(name: string, value: string): string {
  if (isSendable(name, value)) return value;
  throw new McpConnectionError(
    `the value of the header "${name.toLowerCase()}" has characters that no header can hold; ` +
      'correct it in `headers` of this server',
  );
}

function isSendable(name: string, value: string): boolean {
  try {
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** `fetch` refuses a URL with a user name, so it travels as Basic credentials instead. */
function withUserinfo(
  url: string,
  headers: Record<string, string>,
): Readonly<Record<string, string>> {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.username === '' || headers['authorization'] !== undefined) {
    return headers;
  }
  try {
    const pair = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`;
    const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
    return { ...headers, authorization };
  } catch {
    throw new McpConnectionError(
      'the user name in `url` of this server is not valid percent-encoding; correct it',
    );
  }
}
