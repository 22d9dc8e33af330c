import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeCertificate, type TlsCertificate } from './tls-certificate.ts';
import { acknowledge, approve, type WebhookReply } from './webhook-replies.ts';

/** One request that the receiver took, read to its end. */
export interface WebhookRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: IncomingHttpHeaders;
  /** As it came over the wire. */
  readonly raw: Buffer;
  readonly body: Readonly<Record<string, unknown>>;
  /** The decision that it is about, from its body. */
  readonly decisionId: string;
  /** A question, or the notice that an approval is moot. */
  readonly kind: 'question' | 'notice';
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** Resolves when the client's connection is closed, whoever closed it. */
  readonly gone: Promise<void>;
}

export interface WebhookReceiver {
  /** With a path and a query that no message may repeat. */
  readonly url: string;
  readonly origin: string;
  /** PEM of the certificate, for `NODE_EXTRA_CA_CERTS` of a child process; undefined without TLS. */
  readonly certificate: string | undefined;
  /** What came, in order. */
  readonly requests: readonly WebhookRequest[];
  readonly questions: readonly WebhookRequest[];
  readonly notices: readonly WebhookRequest[];
  /** How questions are answered from now on; they are approved until told otherwise. */
  reply(reply: WebhookReply): void;
  /** How notices are answered from now on; with 204 until told otherwise. */
  replyToNotices(reply: WebhookReply): void;
  /** The next request of that kind that no call of this has given yet. */
  next(kind?: WebhookRequest['kind']): Promise<WebhookRequest>;
  /** Connections that are open at this moment. */
  readonly openSockets: number;
  /** Connections that were taken since the start. */
  readonly socketsTaken: number;
  /** Resolves when no connection is open. */
  idle(): Promise<void>;
  /** Refuses connections from now on; what is open stays. */
  refuse(): void;
  /** Cuts everything off. */
  close(): Promise<void>;
}

export interface ReceiverOptions {
  /** `trusted`: by this process, until the receiver is closed. */
  readonly tls?: 'trusted' | 'untrusted';
}

/** A webhook on a loopback port that can be told to misbehave: see `webhook-replies.ts`. */
export async function startWebhookReceiver(
  options: ReceiverOptions = {},
): Promise<WebhookReceiver> {
  const certificate = options.tls === undefined ? undefined : makeCertificate();
  const receiver = new Receiver(certificate);
  await receiver.listen();
  if (certificate !== undefined && options.tls === 'trusted') trust(certificate.cert);
  return receiver;
}

const trusted = (): readonly string[] => getCACertificates('default');
const trust = (cert: string): void => setDefaultCACertificates([...trusted(), cert]);

/** Other receivers stay trusted. */
function distrust(cert: string): void {
  if (!trusted().includes(cert)) return;
  setDefaultCACertificates(trusted().filter((other) => other !== cert));
}

class Receiver implements WebhookReceiver {
  readonly requests: WebhookRequest[] = [];
  readonly certificate: string | undefined;
  socketsTaken = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #given = new Set<WebhookRequest>();
  #waiting: (() => void)[] = [];
  #reply: WebhookReply = approve();
  #noticeReply: WebhookReply = acknowledge();
  #port = 0;

  constructor(certificate: TlsCertificate | undefined) {
    const take = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#take(request, response).catch(() => {});
    this.certificate = certificate?.cert;
    this.#server =
      certificate === undefined ? createServer(take) : createTlsServer(certificate, take);
    this.#server.on('connection', (socket: Socket) => this.#connected(socket));
    // A client may leave in the middle of a handshake.
    this.#server.on('tlsClientError', () => {});
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `${this.certificate === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
  }

  get url(): string {
    return `${this.origin}/hooks/path-secret?key=query-secret`;
  }

  get questions(): readonly WebhookRequest[] {
    return this.requests.filter(({ kind }) => kind === 'question');
  }

  get notices(): readonly WebhookRequest[] {
    return this.requests.filter(({ kind }) => kind === 'notice');
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  reply(reply: WebhookReply): void {
    this.#reply = reply;
  }

  replyToNotices(reply: WebhookReply): void {
    this.#noticeReply = reply;
  }

  async next(kind?: WebhookRequest['kind']): Promise<WebhookRequest> {
    for (;;) {
      const found = this.requests.find(
        (request) => !this.#given.has(request) && (kind ?? request.kind) === request.kind,
      );
      if (found !== undefined) {
        this.#given.add(found);
        return found;
      }
      await this.#change();
    }
  }

  async idle(): Promise<void> {
    while (this.#sockets.size > 0) await this.#change();
  }

  refuse(): void {
    // Its event comes only when the last connection is gone; the port is closed at once.
    if (this.#server.listening) this.#server.close();
  }

  async close(): Promise<void> {
    if (this.certificate !== undefined) distrust(this.certificate);
    this.refuse();
    for (const socket of this.#sockets) socket.destroy();
    await this.idle();
  }

  #connected(socket: Socket): void {
    this.socketsTaken += 1;
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#changed();
    });
  }

  async #take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new Promise<void>((resolve) => incoming.socket.once('close', () => resolve()));
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request = requestOf(incoming, response, { raw: Buffer.concat(chunks), gone });
    this.requests.push(request);
    const index = this.requests.filter(({ kind }) => kind === request.kind).length - 1;
    const reply = request.kind === 'notice' ? this.#noticeReply : this.#reply;
    this.#changed();
    await reply(request, index);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #changed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

function requestOf(
  incoming: IncomingMessage,
  response: ServerResponse,
  { raw, gone }: { raw: Buffer; gone: Promise<void> },
): WebhookRequest {
  const { method = '', url: path = '', headers, socket } = incoming;
  // Ours to read in a test: what is not an object fails there.
  const body = JSON.parse(raw.toString()) as Record<string, unknown>;
  const kind = headers['x-aura-event'] === 'approval-cancelled' ? 'notice' : 'question';
  const decisionId = String(body['decision_id']);
  return { method, path, headers, raw, body, decisionId, kind, response, socket, gone };
}

/** A server of bytes that are no HTTP, or none at all. `url` is http; use its port for https. */
export async function startTcpPeer(serve: (socket: Socket) => void): Promise<{
  readonly port: number;
  close(): Promise<void>;
}> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  return { port, close };
}

/** A loopback port on which nobody listens. */
export async function unusedPort(): Promise<number> {
  const peer = await startTcpPeer(() => {});
  await peer.close();
  return peer.port;
}
