import { constants } from 'node:os';
import { basename } from 'node:path';
import { SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { McpFailure } from '../../machines/mcp-server.vocabulary.ts';
import type { Redact } from './redact.ts';

/** A failure of a server or its connection, mapped once. `reason` is a sentence without secrets. */
export class McpConnectionError extends Error implements McpFailure {
  override readonly name = 'McpConnectionError';
  readonly reason: string;

  constructor(reason: string, options?: { cause?: unknown }) {
    super(reason, options);
    this.reason = reason;
  }
}

export interface DescribeOptions {
  readonly redact: Redact;
  readonly charsMax: number;
}

/**
 * The reason of a foreign error. Only what is known to be harmless is said: an error of `fetch`
 * repeats a header value or a URL in its message, so its message is never used.
 */
export function describeFailure(error: unknown, { redact, charsMax }: DescribeOptions): string {
  if (error instanceof McpConnectionError) return error.reason;
  const status = httpStatusOf(error);
  if (status !== undefined) return describeStatus(status);
  if (error instanceof McpError) return describeProtocolError(error, { redact, charsMax });
  const code = systemCodeOf(error);
  if (code !== undefined) return `the connection failed (${code})`;
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
  // The SSE transport tells the status of a refused POST in its message alone.
  const told = error instanceof Error ? /\(HTTP (\d{3})\)/.exec(error.message)?.[1] : undefined;
  return told === undefined ? undefined : Number(told);
}

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
  if (error.code === ErrorCode.ConnectionClosed) return 'the connection closed';
  const words = error.message.replace(/^MCP error -?\d+: /, '');
  return `MCP error ${error.code}: ${shorten(options.redact(words), options.charsMax)}`;
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

const shorten = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`;
