import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import type Koa from 'koa';
import type { Clock } from '../clock.ts';
import { systemClock } from '../clock.ts';
import { SupervisorError } from '../errors.ts';
import { answerClientError, refuseConnect } from './client-error.ts';
import type { HttpConfig } from './config.ts';
import type { HttpError } from './errors.ts';
import { refusalOfHead } from './request-head.ts';
import { answerUnread } from './unread-body.ts';

/** Headers must be here by then; a slower peer holds a connection for nothing. */
const HEADERS_MS = 15_000;
/** The body too: 2 MiB at the speed of a bad line. Responses may take as long as they like. */
const REQUEST_MS = 60_000;
/** Longer than the 60 s for which common proxies keep a connection, so that they close it first. */
const KEEP_ALIVE_MS = 65_000;

/** Longest path that is told of; what is beyond it was not ours anyway. */
const PATH_CHARS_MAX = 200;

/** A request that came whole and whose response is not complete, in the log's words. */
export interface RequestInFlight {
  readonly method: string;
  /** Without the query, which may hold secrets. */
  readonly path: string;
  readonly age_ms: number;
  /** The run that the response is of. */
  readonly run_id?: string;
}

export interface RequestsInFlight {
  readonly count: number;
  /** At most as many as asked for. */
  readonly oldest: readonly RequestInFlight[];
}

/** A server that listens. */
export interface HttpServer {
  /** Where it is reached, as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** What is under way, for the log of a shutdown that waits for it. */
  inFlight(max: number): RequestsInFlight;
  /** Takes no new connections and closes the idle ones; what is under way goes on. */
  drain(): void;
  /** Ends what is left and resolves when no connection is open. */
  close(): Promise<void>;
}

/** Serves `app`. Rejects with a `SupervisorError` `cannot_listen` when the address is not to be had. */
export async function listen(
  app: Koa,
  { host, port }: Pick<HttpConfig, 'host' | 'port'>,
  clock: Pick<Clock, 'now'>,
): Promise<HttpServer> {
  const { server, doors } = serveApp(app, clock);
  server.listen({ host, port });
  await listening(server, { host, port });
  const address = server.address() as AddressInfo; // It listens on TCP, so this is no pipe's name.
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    ...doors,
  };
}

/** What the phases of a shutdown do to a server. */
export type HttpDoors = Pick<HttpServer, 'inFlight' | 'drain' | 'close'>;

/** A server that does not listen: it serves the connections that it is given by the event of that name. */
export function serveApp(
  app: Koa,
  clock: Pick<Clock, 'now'>,
): { readonly server: Server; readonly doors: HttpDoors } {
  const server = createServer({
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node's own refusals have no body.
    requireHostHeader: false,
  });
  const drainer = new Drainer(server, clock);
  const serve = app.callback();
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    drainer.note(res);
    const refusal = refusalOfHead(req);
    void (refusal === undefined ? serve(req, res) : refuse(req, res, refusal));
  };
  server.on('request', answer);
  // Whether the peer is told to go on depends on what it asks for.
  server.on('checkContinue', answer);
  server.on('checkExpectation', answer);
  server.on('connect', refuseConnect);
  server.on('clientError', answerClientError);
  return {
    server,
    doors: {
      inFlight: (max) => drainer.inFlight(max),
      drain: () => drainer.drain(),
      close: () => drainer.close(),
    },
  };
}

/** Answers a request that the application must not see, because it could not read its target. */
function refuse(
  req: IncomingMessage,
  res: ServerResponse,
  { status, body }: HttpError,
): Promise<void> {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  return answerUnread({ req, res, text: JSON.stringify(body), clock: systemClock });
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
  readonly #clock: Pick<Clock, 'now'>;
  /** Responses that are not complete, with the time their request came at; the oldest first. */
  readonly #open = new Map<ServerResponse, number>();
  #closed: Promise<unknown> | undefined;

  constructor(server: Server, clock: Pick<Clock, 'now'>) {
    this.#server = server;
    this.#clock = clock;
  }

  inFlight(max: number): RequestsInFlight {
    const now = this.#clock.now();
    const open = [...this.#open].filter(([{ req }]) => req.complete);
    return {
      count: open.length,
      oldest: open.slice(0, max).map(([res, since]) => described(res, now - since)),
    };
  }

  note(res: ServerResponse): void {
    this.#open.set(res, this.#clock.now());
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
    for (const res of this.#open.keys()) res.shouldKeepAlive = false;
    this.#server.close();
  }

  async close(): Promise<void> {
    this.drain();
    this.#server.closeAllConnections();
    await this.#closed;
  }
}

function described(res: ServerResponse, ageMs: number): RequestInFlight {
  const { method = '', url = '' } = res.req;
  const path = url.split('?', 1)[0] ?? '';
  const runId = res.getHeader('X-Run-Id');
  return {
    method,
    path: path.slice(0, PATH_CHARS_MAX),
    age_ms: ageMs,
    ...(typeof runId === 'string' && { run_id: runId }),
  };
}
