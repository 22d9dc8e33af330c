import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import type { MemorySocket } from './memory-socket.ts';

/** An answer, whole. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request on a connection; `answered` is called when the headers of the answer are there. */
export function send(
  socket: MemorySocket,
  { method, path, body, headers }: Asked,
  on: {
    readonly answered: (response: IncomingMessage) => void;
    readonly failed: () => void;
  },
): ClientRequest {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const request = httpRequest({
    createConnection: () => socket as never,
    host: '127.0.0.1',
    method,
    path,
    headers: {
      connection: 'close',
      ...(text !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
      }),
      ...headers,
    },
  });
  request.on('response', on.answered);
  request.on('error', on.failed);
  request.end(text);
  return request;
}

/** The whole answer; undefined when the connection broke. */
export function ask(socket: MemorySocket, asked: Asked): Promise<Answered | undefined> {
  return new Promise((resolve) => {
    const failed = (): void => resolve(undefined);
    const answered = (response: IncomingMessage): void => {
      const { statusCode: status = 0, headers } = response;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status, headers, text }));
      response.on('close', failed);
      response.on('error', failed);
    };
    send(socket, asked, { answered, failed });
  });
}
