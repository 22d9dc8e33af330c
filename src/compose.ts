import { randomUUID } from 'node:crypto';
import type { ShutdownEmitted } from '../machines/shutdown.machine.ts';
import type { Agent } from './agent.ts';
import type { Clock } from './clock.ts';
import { packageVersion } from './config/version.ts';
import type { Ids } from './ids.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import { ABANDON_MS, ABORT_MS, DRAIN_MS, DRAIN_TOOL_GRACE_MS, FLUSH_MS } from './limits.ts';
import type { Log } from './log.ts';
import { MCP_LIMITS } from './mcp/limits.ts';
import { createMcpPorts, type McpConnections, type McpPorts } from './mcp/ports.ts';
import type { Store } from './stores/store.ts';
import { WatchedStore } from './stores/watched-store.ts';
import { startRecovery } from './recovery.ts';
import { Supervisor } from './supervisor-handle.ts';
import { SupervisorSystem } from './supervisor.ts';

export interface ComposeOptions {
  /** Closed at the end of a shutdown. */
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly runsMax: number;
  readonly mcpConnectMs: number;
  /** The grace of a shutdown; 0 is none. */
  readonly graceMs: number;
  /** Builds the agents on the pool of MCP connections. Called once. */
  readonly agents: (mcp: { connections: McpConnections; ports: McpPorts }) => readonly Agent[];
  readonly defaultAgent?: string;
  /** Each phase of a shutdown, as it is entered. */
  readonly onShutdown?: (fact: ShutdownEmitted) => void;
}

/** Puts journal, actor system and agents together. Nothing is connected and no run lives yet. */
export function compose(options: ComposeOptions): Supervisor {
  const { clock, ids, log, runsMax, defaultAgent } = options;
  const ownerId = randomUUID();
  const store = new WatchedStore(options.store, {
    onRefused: (err) => log.error({ err }, 'The store refuses writes'),
    onTaken: () => {
      log.info('The store takes writes again');
      recovery.retry();
    },
  });
  void tellOthers(store, { ownerId, clock, log });
  const journal = createJournal({ store, clock, ownerId, log });
  const ports = createMcpPorts({
    clock,
    log,
    limits: { ...MCP_LIMITS, connectMs: options.mcpConnectMs },
    version: packageVersion(),
  });
  const system: SupervisorSystem = new SupervisorSystem({
    journal,
    mcp: ports,
    clock,
    ids,
    log,
    random: Math.random,
    runsMax,
    shutdown: {
      graceMs: options.graceMs,
      drainMs: DRAIN_MS,
      abortMs: ABORT_MS,
      flushMs: FLUSH_MS,
    },
    drainToolGraceMs: DRAIN_TOOL_GRACE_MS,
    flush: () => {
      recovery.stop();
      return flush({ system, journal, store, clock });
    },
    onShutdown: options.onShutdown ?? (() => {}),
    onUnsettled: (runId) => recovery.add(runId),
  });
  const isLive = (runId: string) => system.scopes.get(runId) !== undefined;
  const recovery = startRecovery({ journal, clock, log, isLive });
  const agents = options.agents({ connections: system.connections, ports });
  return new Supervisor({
    system,
    agents,
    ...(defaultAgent !== undefined && { defaultAgent }),
    journal,
    store,
    runsMax,
    clock,
    ids,
    log,
  });
}

/** Each process works, but what lives in one is not reached through the other. */
async function tellOthers(
  store: Store,
  { ownerId, clock, log }: { ownerId: string; clock: Clock; log: Log },
): Promise<void> {
  try {
    const others = (await store.join?.(ownerId, clock.now())) ?? 0;
    if (others === 0) return;
    log.warn(
      { others },
      'Another live process uses the same data directory. Runs and approvals of one are not reached ' +
        'through the other; stop it, or give each a directory of its own',
    );
  } catch (error) {
    log.warn({ err: error }, 'Whether another process uses the store is not known');
  }
}

interface FlushDeps {
  readonly system: SupervisorSystem;
  readonly journal: Journal;
  readonly store: Store;
  readonly clock: Clock;
}

/** Connections and journal do not wait for each other: a hung server must not cost entries. */
async function flush(deps: FlushDeps): Promise<void> {
  await Promise.allSettled([deps.system.closeConnections(), closeJournal(deps)]);
}

/** Runs that were aborted are still about to store their ends and to give their leases back. */
async function closeJournal({ system, journal, store, clock }: FlushDeps): Promise<void> {
  const bound = Promise.withResolvers<void>();
  const timer = clock.setTimeout(bound.resolve, ABANDON_MS);
  await Promise.race([system.abandoned(), bound.promise]);
  clock.clearTimeout(timer);
  await journal.close();
  await store.close();
}
