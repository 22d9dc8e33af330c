import { join } from 'node:path';
import type { ShutdownEmitted } from '../machines/shutdown.machine.ts';
import { buildAgents } from './build-agents.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { compose } from './compose.ts';
import { packageVersion } from './config/version.ts';
import type { ShutdownOutcome, SupervisorHandle } from './handle.ts';
import { createApp } from './http/app.ts';
import { createChatRoutes } from './http/chat/routes.ts';
import type { HttpConfig } from './http/config.ts';
import { type HttpServer, listen } from './http/server.ts';
import { SsePool } from './http/sse-pool.ts';
import { type Ids, randomIds } from './ids.ts';
import { RUNS_MAX } from './limits.ts';
import { createLog, type Log } from './log.ts';
import { createMemoryStore } from './stores/memory.ts';
import { openSqliteStore } from './stores/sqlite.ts';
import type { Store } from './stores/store.ts';

export interface ServerDeps {
  readonly log?: Log;
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** A store of the caller's own; the server closes it. */
  readonly store?: Store;
}

export interface RunningServer {
  /** Where it is reached, as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly handle: SupervisorHandle;
  readonly stopped: Promise<ShutdownOutcome>;
  /** The first call begins the shutdown, a second one hurries it. */
  shutdown(signal: 'SIGINT' | 'SIGTERM'): void;
}

/** The file of the embedded store in the data directory. */
const STORE_FILE = 'runwarden.db';

/**
 * Serves what the configuration says. Resolves when it listens; rejects with a `SupervisorError`
 * when the store or the address cannot be had.
 */
export async function startServer(config: Config, deps: ServerDeps = {}): Promise<RunningServer> {
  const log = deps.log ?? createLog({ level: config.server.logLevel });
  const clock = deps.clock ?? systemClock;
  const ids = deps.ids ?? randomIds;
  const store = deps.store ?? openStore(config);
  const doors = new Doors(log);
  const { defaultAgent, shutdownTimeoutMs } = config.server;
  const handle = compose({
    store,
    clock,
    ids,
    log,
    runsMax: RUNS_MAX,
    mcpConnectMs: config.timeouts.mcpConnectMs,
    graceMs: shutdownTimeoutMs,
    agents: (mcp) => buildAgents({ ...mcp, config, clock, log }),
    ...(defaultAgent !== undefined && { defaultAgent }),
    onShutdown: (fact) => doors.hear(fact),
  });
  const http = await listenOrClose(config, { log, clock, ids, handle }, store);
  doors.open(http);
  const stopped = handle.stopped.then(async (outcome) => {
    await http.close();
    return outcome;
  });
  return { url: http.url, handle, stopped, shutdown: (signal) => handle.shutdown(signal) };
}

function openStore({ journal, server }: Config): Store {
  if (journal.store === 'memory') return createMemoryStore();
  const path = join(server.dataDir, STORE_FILE);
  return openSqliteStore({ path, durability: journal.durability });
}

/** An address that cannot be had must not leave the store's file locked. */
async function listenOrClose(
  config: Config,
  deps: { log: Log; clock: Clock; ids: Ids; handle: SupervisorHandle },
  store: Store,
): Promise<HttpServer> {
  const httpConfig = httpConfigOf(config);
  const pool = new SsePool({ streamsMax: httpConfig.sseStreamsMax });
  const httpDeps = { ...deps, config: httpConfig, pool };
  try {
    return await listen(createApp({ ...httpDeps, chat: createChatRoutes(httpDeps) }), httpConfig);
  } catch (error) {
    await store.close();
    throw error;
  }
}

function httpConfigOf({ server }: Config): HttpConfig {
  return {
    host: server.host,
    port: server.port,
    allowedOrigins: server.allowedOrigins,
    toolResultMode: server.toolResultMode,
    toolResultMaxLength: server.toolResultMaxLength,
    customEvents: server.customEvents,
    emitReasoning: server.emitReasoning,
    debugProviderErrors: server.debugProviderErrors,
    version: packageVersion(),
    serverName: 'runwarden',
    ...HTTP_LIMITS,
  };
}

/** AURA's body limit and heartbeat; the rest bounds what one reader may cost. */
const HTTP_LIMITS = {
  bodyBytesMax: 2 * 1_024 * 1_024,
  heartbeatMs: 15_000,
  sseBufferBytesMax: 1_048_576,
  sseStallMs: 30_000,
  sseStreamsMax: 20_000,
} as const;

/** The HTTP server follows the phases of a shutdown, and the log tells of them. */
class Doors {
  readonly #log: Log;
  #http: HttpServer | undefined;
  #drained = false;

  constructor(log: Log) {
    this.#log = log;
  }

  open(http: HttpServer): void {
    this.#http = http;
  }

  hear(fact: ShutdownEmitted): void {
    switch (fact.type) {
      case 'shutdown.gated':
        this.#log.info(`Received ${fact.signal}, initiating graceful shutdown`);
        if (fact.inFlight === 0) return;
        this.#log.info(
          { in_flight: fact.inFlight },
          `Allowing ${fact.graceMs / 1_000}s for in-flight requests to complete`,
        );
        return;
      case 'shutdown.draining':
        this.#drained = true;
        this.#log.info('Grace period expired, terminating remaining streams');
        this.#http?.drain();
        return;
      case 'shutdown.aborting':
        this.#drained = true;
        this.#log.warn('Stream shutdown grace period expired, aborting stragglers');
        void this.#http?.close();
        return;
      case 'shutdown.completed':
        this.#complete(fact);
    }
  }

  #complete(fact: Extract<ShutdownEmitted, { type: 'shutdown.completed' }>): void {
    if (!this.#drained) this.#log.info('All in-flight requests completed, shutting down early');
    this.#log.info(
      { clean_shutdown: fact.cleanShutdown, unaborted_tasks: fact.unabortedTasks },
      'shutdown complete',
    );
    this.#http?.drain();
  }
}
