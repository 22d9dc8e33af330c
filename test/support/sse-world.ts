import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import Koa from 'koa';
import { errorEnvelope } from '../../src/http/middleware/error-envelope.ts';
import { type SseOptions, SseStream } from '../../src/http/sse.ts';
import { SsePool } from '../../src/http/sse-pool.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';

export interface SseWorld {
  readonly port: number;
  readonly clock: VirtualClock;
  readonly pool: SsePool;
  /** The server's side of each connection, in order. */
  readonly sockets: Socket[];
  /** What reached Koa's error event. */
  readonly appErrors: unknown[];
  /** What was thrown to the error envelope. */
  readonly logged: object[];
  close(): Promise<void>;
}

export interface SseWorldOptions extends Partial<SseOptions> {
  /** Sees each server socket before the first request on it. */
  readonly onSocket?: (socket: Socket) => void;
  /** Runs before the stream opens. */
  readonly before?: (ctx: Koa.Context) => void | Promise<void>;
}

/** A server that opens a stream for every request and gives it to `handler`. */
export async function sseWorld(
  handler: (stream: SseStream, ctx: Koa.Context) => void | Promise<void>,
  change: SseWorldOptions = {},
): Promise<SseWorld> {
  const clock = createVirtualClock(1_700_000_000_000);
  const pool = new SsePool({ streamsMax: 10 });
  const { onSocket, before = () => {}, ...given } = change;
  const options: SseOptions = {
    clock,
    pool,
    heartbeatMs: 15_000,
    bufferBytesMax: 1_048_576,
    stallMs: 30_000,
    ...given,
  };
  const appErrors: unknown[] = [];
  const logged: object[] = [];
  const app = koaApp(appErrors, logged, clock);
  app.use(async (ctx) => {
    await before(ctx);
    await handler(SseStream.open(ctx, options), ctx);
  });
  const sockets: Socket[] = [];
  const server = createServer();
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    onSocket?.(socket);
  });
  const serve = app.callback();
  server.on('request', (req, res) => void serve(req, res));
  const port = await listening(server);
  const close = () => closed(server);
  return { port, clock, pool: options.pool, sockets, appErrors, logged, close };
}

function koaApp(appErrors: unknown[], logged: object[], clock: VirtualClock): Koa {
  const app = new Koa();
  app.on('error', (error: unknown) => appErrors.push(error));
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (fields: object) => void logged.push(fields),
  };
  app.use(errorEnvelope({ log, clock, redact: (text) => text }));
  return app;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function closed(server: Server): Promise<void> {
  const over = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await over;
}
