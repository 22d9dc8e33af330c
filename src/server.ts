import { join } from 'node:path';
import type { ShutdownEmitted } from '../machines/shutdown.machine.ts';
import { buildAgents } from './build-agents.ts';
import { type Clock, systemClock, type TimerHandle } from './clock.ts';
import type { Config } from './config/config.ts';
import { compose } from './compose.ts';
import type { ShutdownOutcome, SupervisorHandle } from './handle.ts';
import { secretsOf } from './config/redact.ts';
import { createApp } from './http/app.ts';
import { exposureWarnings } from './http/auth/exposure.ts';
import { createChatRoutes } from './http/chat/routes.ts';
import { type HttpDoors, type HttpServer, listen } from './http/server.ts';
import { SsePool } from './http/sse-pool.ts';
import { httpConfigOf } from './http-config.ts';
import { type Ids, randomIds } from './ids.ts';
import { LAST_FRAMES_MS, RUNS_MAX } from './limits.ts';
import { createLog, type Log } from './log.ts';
import { createRedactor, type Redact } from './redact-secrets.ts';
import { createMemoryStore } from './stores/memory.ts';
import { openSqliteStore } from './stores/sqlite.ts';
import type { Store } from './stores/store.ts';
import type { Supervisor } from './supervisor-handle.ts';

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

/** Requests that the log names one by one, in each phase of a shutdown that has to wait. */
const HOLDERS_TOLD_MAX = 20;

/** The file of the embedded store in the data directory. */
const STORE_FILE = 'runwarden.db';

/**
 * Serves what the configuration says. Resolves when it listens; rejects with a `SupervisorError`
 * when the store or the address cannot be had.
 */
export async function startServer(config: Config, deps: ServerDeps = {}): Promise<RunningServer> {
  const secrets = secretsOf(config);
  const log = deps.log ?? createLog({ level: config.server.logLevel, secrets });
  const clock = deps.clock ?? systemClock;
  const ids = deps.ids ?? randomIds;
  const store = deps.store ?? openStore(config);
  const doors = new Doors(log, clock);
  const { defaultAgent, shutdownTimeoutMs } = config.server;
  const redact = createRedactor(secrets);
  const handle = compose({
    redact,
    store,
    clock,
    ids,
    log,
    runsMax: RUNS_MAX,
    recover: config.crash.recover,
    park: config.park,
    retention: config.journal,
    checkInvariants: config.journal.checkInvariants,
    mcpConnectMs: config.timeouts.mcpConnectMs,
    graceMs: shutdownTimeoutMs,
    agents: (mcp) => buildAgents({ ...mcp, config, clock, log, redact }),
    ...(defaultAgent !== undefined && { defaultAgent }),
    onShutdown: (fact) => doors.hear(fact),
  });
  const http = await listenOrClose(config, { log, clock, ids, handle, redact });
  doors.open(http);
  for (const warning of exposureWarnings(httpConfigOf(config), http.url)) {
    log.warn({ url: http.url }, warning);
  }
  const stopped = handle.stopped.then(async (outcome) => {
    await doors.close();
    return outcome;
  });
  return { url: http.url, handle, stopped, shutdown: (signal) => handle.shutdown(signal) };
}

function openStore({ journal, server }: Config): Store {
  if (journal.store === 'memory') return createMemoryStore();
  const path = join(server.dataDir, STORE_FILE);
  return openSqliteStore({ path, durability: journal.durability });
}

/** An address that cannot be had must leave no timer and no locked file. */
async function listenOrClose(
  config: Config,
  deps: { log: Log; clock: Clock; ids: Ids; handle: Supervisor; redact: Redact },
): Promise<HttpServer> {
  const httpConfig = httpConfigOf(config);
  const pool = new SsePool({ streamsMax: httpConfig.sseStreamsMax });
  const httpDeps = { ...deps, config: httpConfig, pool };
  try {
    const app = createApp({ ...httpDeps, chat: createChatRoutes(httpDeps) });
    return await listen(app, httpConfig, deps.clock);
  } catch (error) {
    await deps.handle.dispose();
    throw error;
  }
}

/** The HTTP server follows the phases of a shutdown, and the log tells of them. */
export class Doors {
  readonly #log: Log;
  readonly #clock: Clock;
  #http: HttpDoors | undefined;
  #drained = false;
  #cut: TimerHandle | undefined;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  open(http: HttpDoors): void {
    this.#http = http;
  }

  /** The supervisor has ended, so whatever is still open is cut. */
  close(): Promise<void> {
    this.#clock.clearTimeout(this.#cut);
    return this.#http?.close() ?? Promise.resolve();
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
        this.#tellHolders(fact.inFlight);
        this.#http?.drain();
        return;
      case 'shutdown.aborting':
        this.#drained = true;
        this.#log.warn('Stream shutdown grace period expired, aborting stragglers');
        this.#tellHolders(fact.inFlight);
        this.#http?.drain();
        // The ends of the runs that are aborted now are on their way to the readers.
        this.#cut = this.#clock.setTimeout(() => void this.#http?.close(), LAST_FRAMES_MS);
        return;
      case 'shutdown.completed':
        this.#complete(fact);
    }
  }

  /** What would not leave by itself: `in_flight` counts the runs beside the requests. */
  #tellHolders(inFlight: number): void {
    const held = this.#http?.inFlight(HOLDERS_TOLD_MAX);
    if (inFlight === 0 || held === undefined) return;
    const { count: requests, oldest } = held;
    this.#log.warn({ in_flight: inFlight, requests, oldest }, 'Still in flight at shutdown');
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
