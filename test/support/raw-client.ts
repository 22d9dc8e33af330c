import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Asked {
  readonly port: number;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** One request on a connection of its own, sent as it is: no header is added but `Host`. */
export async function ask({
  port,
  method = 'GET',
  path,
  headers = {},
  body,
}: Asked): Promise<Answer> {
  const agent = new http.Agent({ keepAlive: false });
  const req = http.request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { ...headers },
    agent,
  });
  req.end(body);
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return { status: res.statusCode ?? 0, headers: res.headers, text };
}

/** As `ask`, with a JSON body and its content type. */
export function post(port: number, path: string, body: unknown): Promise<Answer> {
  const headers = { 'Content-Type': 'application/json' };
  return ask({ port, method: 'POST', path, headers, body: JSON.stringify(body) });
}

const TAIL = 200;

/** A connection whose bytes are kept as they come; it reads only while it is not paused. */
export class RawConnection {
  readonly socket: net.Socket;
  readonly #parts: string[] = [];
  /** Characters so far. */
  received = 0;
  /** The last characters so far; cheap to look at where much has come. */
  tail = '';
  readonly #waiting = new Set<() => void>();
  /** Resolves when the server has ended or cut the connection. */
  readonly ended: Promise<void>;

  static async open(port: number): Promise<RawConnection> {
    const socket = net.connect({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  private constructor(socket: net.Socket) {
    this.socket = socket;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      this.#parts.push(text);
      this.received += text.length;
      this.tail = (this.tail + text).slice(-TAIL);
      this.#wake();
    });
    socket.on('error', () => {}); // A reset is an end like any other; `ended` tells.
    this.ended = new Promise((resolve) => {
      socket.once('close', () => {
        this.#wake();
        resolve();
      });
    });
  }

  get text(): string {
    const text = this.#parts.join('');
    this.#parts.splice(0, this.#parts.length, text);
    return text;
  }

  /** What came after the response's header block, chunk framing included. */
  get body(): string {
    return this.text.slice(this.text.indexOf('\r\n\r\n') + 4);
  }

  /** The body without its chunk framing. Only for ASCII, where characters are bytes. */
  get unchunked(): string {
    return unchunked(this.body);
  }

  get headers(): string {
    return this.text.slice(0, this.text.indexOf('\r\n\r\n'));
  }

  write(text: string): void {
    this.socket.write(text);
  }

  get(path: string, headers: readonly string[] = []): void {
    this.write([`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n'));
  }

  /** Resolves when the bytes so far satisfy; rejects when the connection ends before. */
  async until(satisfied: (connection: this) => boolean): Promise<void> {
    while (!satisfied(this)) {
      if (this.socket.closed) throw new Error(`The connection ended first: ${this.tail}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

function unchunked(framed: string): string {
  let text = '';
  for (let rest = framed; rest !== ''; ) {
    const line = rest.indexOf('\r\n');
    const size = Number.parseInt(rest.slice(0, line), 16);
    if (line < 0 || size === 0) return text;
    text += rest.slice(line + 2, line + 2 + size);
    rest = rest.slice(line + 4 + size);
  }
  return text;
}
