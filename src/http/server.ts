import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import type Koa from 'koa';
import { SupervisorError } from '../errors.ts';
import { answerClientError } from './client-error.ts';
import type { HttpConfig } from './config.ts';

/** Headers must be here by then; a slower peer holds a connection for nothing. */
const HEADERS_MS = 15_000;
/** The body too: 2 MiB at the speed of a bad line. Responses may take as long as they like. */
const REQUEST_MS = 60_000;
/** Longer than the 60 s for which common proxies keep a connection, so that they close it first. */
const KEEP_ALIVE_MS = 65_000;

/** A server that listens. */
export interface HttpServer {
  /** Where it is reached, as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** Takes no new connections and closes the idle ones; what is under way goes on. */
  drain(): void;
  /** Ends what is left and resolves when no connection is open. */
  close(): Promise<void>;
}

/** Serves `app`. Rejects with a `SupervisorError` `cannot_listen` when the address is not to be had. */
export async function listen(
  app: Koa,
  { host, port }: Pick<HttpConfig, 'host' | 'port'>,
): Promise<HttpServer> {
  const server = createServer({
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  const drainer = new Drainer(server);
  const serve = app.callback();
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    drainer.note(res);
    void serve(req, res);
  });
  server.on('clientError', answerClientError);
  server.listen({ host, port });
  await listening(server, { host, port });
  const address = server.address() as AddressInfo; // It listens on TCP, so this is no pipe's name.
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    drain: () => drainer.drain(),
    close: () => drainer.close(),
  };
}

async function listening(server: Server, { host, port }: { host: string; port: number }) {
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = String(Reflect.get(Object(error), 'code'));
    const remedy = code === 'EADDRINUSE' ? 'it is taken; choose another port' : `${code}`;
    const message = `Cannot listen on ${host}, port ${port}: ${remedy}.`;
    throw new SupervisorError('cannot_listen', message, { cause: error });
  }
}

/** Ends each connection with its last response, once the server takes no new ones. */
class Drainer {
  readonly #server: Server;
  readonly #open = new Set<ServerResponse>();
  #closed: Promise<unknown> | undefined;

  constructor(server: Server) {
    this.#server = server;
  }

  note(res: ServerResponse): void {
    this.#open.add(res);
    if (this.#closed !== undefined) res.shouldKeepAlive = false;
    res.once('close', () => {
      this.#open.delete(res);
      // One whose headers went out before the drain has promised to keep its connection.
      if (this.#closed !== undefined) this.#server.closeIdleConnections();
    });
  }

  drain(): void {
    if (this.#closed !== undefined) return;
    this.#closed = once(this.#server, 'close');
    for (const res of this.#open) res.shouldKeepAlive = false;
    this.#server.close();
  }

  async close(): Promise<void> {
    this.drain();
    this.#server.closeAllConnections();
    await this.#closed;
  }
}
