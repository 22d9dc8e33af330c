import { constants } from 'node:os';
import { basename } from 'node:path';
import { SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { McpFailure } from '../../machines/mcp-server.vocabulary.ts';
import { redactCredentials } from '../redact-secrets.ts';
import type { Redact } from './redact.ts';

/** A failure of a server or its connection, mapped once. `reason` is a sentence without secrets. */
export class McpConnectionError extends Error implements McpFailure {
  override readonly name: string = 'McpConnectionError';
  readonly reason: string;

  constructor(reason: string, options?: { cause?: unknown }) {
    super(reason, options);
    this.reason = reason;
  }
}

/** The server sent more in one message than this client keeps. */
export class OversizedMessageError extends McpConnectionError {
  override readonly name = 'OversizedMessageError';

  constructor(bytesMax: number) {
    super(`the server sent a message over ${sizeText(bytesMax)}`);
  }
}

/** The server process had ended, or closed its input, before the message was in the pipe. */
export class ProcessGoneError extends McpConnectionError {
  override readonly name = 'ProcessGoneError';

  constructor(options?: { cause?: unknown }) {
    super('the server process is not running', options);
  }
}

/**
 * A tool call that certainly was not executed: the server said that it does not know the session, or
 * nobody was there to read the whole request. The connection it was made on is over or will be in a moment.
 */
export class NotExecutedError extends McpConnectionError {
  override readonly name = 'NotExecutedError';
}

export interface DescribeOptions {
  readonly redact: Redact;
  readonly charsMax: number;
  /** Whether the transport has closed: only then is the SDK's word for that ours and no server's. */
  readonly closed: boolean;
}

/**
 * The reason of a foreign error. Only what is known to be harmless is said: an error of `fetch`
 * repeats a header value or a URL in its message, so its message is never used.
 */
export function describeFailure(error: unknown, options: DescribeOptions): string {
  if (error instanceof McpConnectionError) return error.reason;
  if (error instanceof McpError) return describeProtocolError(error, options);
  const status = httpStatusOf(error);
  if (status !== undefined) return describeStatus(status);
  const code = systemCodeOf(error);
  if (code !== undefined) return `the connection failed (${code})`;
  if (error instanceof SyntaxError) return 'the server sent a message that is not JSON';
  if (isZodError(error)) return 'the server sent a message that is not valid MCP';
  return 'the connection failed';
}

/** The failure of a command that could not be started, for its `cmd[0]`. */
export function describeSpawnError(error: unknown, command: string): string {
  const name = basename(command) || '<unknown>';
  const code = systemCodeOf(error);
  if (code === 'ENOENT') return `the command "${name}" was not found; check \`cmd\` of this server`;
  if (code === 'EACCES') return `the command "${name}" may not be executed; check its permissions`;
  return `the command "${name}" could not be started${code === undefined ? '' : ` (${code})`}`;
}

/** The HTTP status that an SDK error carries, if it carries one. */
export function httpStatusOf(error: unknown): number | undefined {
  if (error instanceof StreamableHTTPError || error instanceof SseError) {
    return error.code !== undefined && error.code >= 100 ? error.code : undefined;
  }
  // The SSE transport tells the status of a refused POST in its message alone. Anywhere but at the
  // beginning, or in an error that the server sent, the words would be the server's own.
  if (!(error instanceof Error) || error instanceof McpError) return undefined;
  const told = /^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec(error.message)?.[1];
  return told === undefined ? undefined : Number(told);
}

/**
 * Whether a request that could not be sent certainly was not executed. `hadSession`: it carried a
 * session id, so that 404 is the protocol's word for a session that the server no longer knows.
 */
export function wasNotExecuted(error: unknown, hadSession: boolean): boolean {
  return error instanceof ProcessGoneError || (hadSession && httpStatusOf(error) === 404);
}

/** Whether the SDK says that the connection closed, on a transport that did. */
export const isClosedError = (error: unknown, closed: boolean): boolean =>
  closed && error instanceof McpError && error.code === ErrorCode.ConnectionClosed;

function describeStatus(status: number): string {
  if (status === 401) {
    return (
      'server returned HTTP 401: it did not accept the credentials; ' +
      'check `headers` and `headers_from_request` of this server'
    );
  }
  return `server returned HTTP ${status}`;
}

function describeProtocolError(error: McpError, options: DescribeOptions): string {
  if (isClosedError(error, options.closed)) return 'the connection closed';
  const words = error.message.replace(/^MCP error -?\d+: /, '');
  return `MCP error ${error.code}: ${shorten(redactCredentials(options.redact(words)), options.charsMax)}`;
}

/** The codes of the system and of name resolution; no other word of a message is repeated. */
const SYSTEM_CODES: ReadonlySet<string> = new Set([
  ...Object.keys(constants.errno),
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** `ECONNREFUSED` and the like: of the error itself or of what caused it. */
function systemCodeOf(error: unknown): string | undefined {
  // An event source flattens its causes into the message.
  if (error instanceof SseError) return error.message.match(/\bE[A-Z0-9_]+\b/g)?.find(isSystemCode);
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; depth += 1) {
    const code = (at as NodeJS.ErrnoException).code;
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) return code;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return undefined;
}

const isSystemCode = (word: string): boolean => SYSTEM_CODES.has(word);

const isZodError = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'ZodError' || error.name === '$ZodError');

/** `10 MiB` where it is whole, else in bytes. */
function sizeText(bytes: number): string {
  const mebibytes = bytes / (1_024 * 1_024);
  return Number.isInteger(mebibytes) ? `${mebibytes} MiB` : `${bytes} bytes`;
}

const shorten = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`;
