import { ECHOED_BYTES_MAX, isEchoable } from '../echo.ts';
import { badRequest } from '../errors.ts';

export interface SessionIdSources {
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Mints an id when the request brings none. */
  readonly generate: () => string;
}

/**
 * The session a request belongs to: `metadata.chat_session_id`, else what {@link headerSessionId}
 * finds, else a new one. An empty value counts as none.
 *
 * @throws {HttpError} 400 for an id with control characters, outer white space or over 256 bytes.
 */
export function sessionIdOf({ metadata, headers, generate }: SessionIdSources): string {
  return (
    checkedSessionId(metadata?.['chat_session_id'], 'metadata.chat_session_id') ??
    headerSessionId(headers) ??
    generate()
  );
}

/**
 * The session that the headers name: `X-Chat-Session-Id`, else Open WebUI's. Our own may be what
 * {@link headerValueOf} gave, so that a client can send back what it got. Throws as
 * {@link sessionIdOf} does.
 */
export function headerSessionId(headers: SessionIdSources['headers']): string | undefined {
  return (
    checkedSessionId(decoded(headerText(headers['x-chat-session-id'])), 'X-Chat-Session-Id') ??
    checkedSessionId(headerText(headers['x-openwebui-chat-id']), 'X-OpenWebUI-Chat-Id')
  );
}

/** A session id as a header value: `%` and what is not ASCII are percent-encoded, the rest stays. */
export const headerValueOf = (sessionId: string): string =>
  sessionId.replace(/[^\x20-\x7e]|%/gu, (char) => encodeURIComponent(char));

/** Undoes {@link headerValueOf}. A text that it never gives is an id as it stands. */
function decoded(value: string | undefined): string | undefined {
  if (value === undefined || !value.includes('%')) return value;
  try {
    const id = decodeURIComponent(value);
    return headerValueOf(id) === value ? id : value;
  } catch {
    return value;
  }
}

/**
 * A session id of the request; `''` is none. White space around an id would be lost in a header, and
 * another session would come back. Throws as {@link sessionIdOf} does and names `param`.
 */
export function checkedSessionId(value: string | undefined, param: string): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (value.trim() !== value) {
    throw badRequest(`\`${param}\` must not begin or end with white space.`, param);
  }
  if (isEchoable(value)) return value;
  throw badRequest(
    `\`${param}\` must have no control characters and at most ${ECHOED_BYTES_MAX} bytes.`,
    param,
  );
}

/** Node gives header bytes as Latin-1; clients that write other scripts send UTF-8. */
function headerText(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const utf8 = Buffer.from(value, 'latin1').toString('utf8');
  return utf8.includes('\ufffd') ? value : utf8;
}
