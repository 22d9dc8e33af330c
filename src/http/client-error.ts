import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpError } from './errors.ts';

/** What Node's parser refuses before there is a request, as errors of ours. */
const REFUSALS: Readonly<Record<string, { status: number; code: string; message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'headers_too_large',
    message: 'The headers of the request are too large; send fewer or shorter ones.',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'payload_too_large',
    message: 'The chunk extensions of the body are too large; send it without them.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'request_timeout',
    message: 'The request did not arrive in time; send it again.',
  },
};

const MALFORMED = {
  status: 400,
  code: 'invalid_request_error',
  message: 'The request is not valid HTTP.',
};

/** Answers a request that never became one, unless a response is under way on its connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  const inUse = Reflect.get(socket, '_httpMessage') as { headersSent: boolean } | null | undefined;
  if (error.code === 'ECONNRESET' || !socket.writable || inUse?.headersSent === true) {
    socket.destroy();
    return;
  }
  socket.end(responseText(new HttpError(REFUSALS[error.code ?? ''] ?? MALFORMED)));
}

/** Answers a CONNECT, which Node would cut without a word, and ends its connection. */
export function refuseConnect(_req: IncomingMessage, socket: Duplex): void {
  // Node has let go of the socket, so an error of it would have no listener.
  socket.on('error', () => socket.destroy());
  const refusal = new HttpError({
    status: 405,
    code: 'method_not_allowed',
    message: 'This server is no proxy; send the request without CONNECT.',
    headers: { Allow: 'GET, HEAD, POST' },
  });
  socket.end(responseText(refusal), () => socket.destroy());
}

function responseText({ status, headers, body }: HttpError): string {
  const json = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(json)}`,
    '',
    json,
  ].join('\r\n');
}
