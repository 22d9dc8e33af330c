import type { Router } from '@koa/router';
import type Koa from 'koa';
import { createApp } from '../../src/http/app.ts';
import type { HttpConfig, HttpLog } from '../../src/http/config.ts';
import { type HttpServer, listen } from '../../src/http/server.ts';
import { SsePool } from '../../src/http/sse-pool.ts';
import { randomIds } from '../../src/ids.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';
import { FakeHandle } from './fake-handle.ts';

export const HTTP_CONFIG: HttpConfig = {
  host: '127.0.0.1',
  port: 0,
  allowedOrigins: [],
  bodyBytesMax: 2_097_152,
  heartbeatMs: 15_000,
  sseBufferBytesMax: 1_048_576,
  sseStallMs: 30_000,
  sseStreamsMax: 100,
  version: '0.1.0',
  toolResultMode: 'none',
  toolResultMaxLength: 1_000,
  customEvents: false,
  emitReasoning: false,
  debugProviderErrors: false,
  liveness: { policy: 'cancel', graceMs: 0 },
  onBusy: 'parallel',
  headless: { liveness: { policy: 'continue', graceMs: 0 }, onBusy: 'reject' },
};

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly message: string;
}

export interface HttpWorld {
  readonly handle: FakeHandle;
  readonly clock: VirtualClock;
  readonly pool: SsePool;
  readonly server: HttpServer;
  readonly app: Koa;
  readonly port: number;
  readonly lines: LogLine[];
  readonly log: HttpLog;
  close(): Promise<void>;
}

export interface HttpWorldOptions {
  readonly config?: Partial<HttpConfig>;
  readonly chat?: Koa.Middleware;
  readonly more?: readonly Router[];
}

/** A listening server over a fake supervisor, with a log that keeps its lines. */
export async function httpWorld(options: HttpWorldOptions = {}): Promise<HttpWorld> {
  const { config: change = {}, chat = () => {}, more = [] } = options;
  const config = { ...HTTP_CONFIG, ...change };
  const handle = new FakeHandle();
  const clock = createVirtualClock(1_700_000_000_000);
  const pool = new SsePool({ streamsMax: config.sseStreamsMax });
  const lines: LogLine[] = [];
  const log = keptLog(lines);
  const app = createApp({ handle, config, log, clock, ids: randomIds, pool, chat, more });
  const server = await listen(app, { host: '127.0.0.1', port: config.port }, clock);
  const close = () => server.close();
  return { handle, clock, pool, server, app, port: server.port, lines, log, close };
}

function keptLog(lines: LogLine[]): HttpLog {
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
