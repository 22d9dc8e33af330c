import { badRequest } from '../errors.ts';

/** More than this comes back in no header, no event and no error. */
const ECHOED_BYTES_MAX = 256;

const UNSAFE = /[\p{Cc}\p{Cs}]/u;

/** Whether a value of the request is fit to be sent back: no control characters, not too long. */
export const isEchoable = (value: string): boolean =>
  !UNSAFE.test(value) && Buffer.byteLength(value) <= ECHOED_BYTES_MAX;

export interface SessionIdSources {
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Mints an id when the request brings none. */
  readonly generate: () => string;
}

/**
 * The session a request belongs to: `metadata.chat_session_id`, else `X-Chat-Session-Id`, else Open
 * WebUI's header, else a new one. An empty value counts as none.
 *
 * @throws {HttpError} 400 for an id with control characters or more than 256 bytes.
 */
export function sessionIdOf({ metadata, headers, generate }: SessionIdSources): string {
  return (
    checked(metadata?.['chat_session_id'], 'metadata.chat_session_id') ??
    checked(headerText(headers['x-chat-session-id']), 'X-Chat-Session-Id') ??
    checked(headerText(headers['x-openwebui-chat-id']), 'X-OpenWebUI-Chat-Id') ??
    generate()
  );
}

/** A session id as a header value: what is not ASCII is percent-encoded, the rest stays. */
export const headerValueOf = (sessionId: string): string =>
  sessionId.replace(/[^\x20-\x7e]/gu, (char) => encodeURIComponent(char));

function checked(value: string | undefined, param: string): string | undefined {
  if (value === undefined || value === '') return undefined;
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
