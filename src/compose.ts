import { randomUUID } from 'node:crypto';
import type { ShutdownEmitted } from '../machines/shutdown.machine.ts';
import type { Agent } from './agents.ts';
import type { Clock } from './clock.ts';
import { packageVersion } from './config/version.ts';
import type { Ids } from './ids.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import { ABORT_MS, DRAIN_MS, DRAIN_TOOL_GRACE_MS, FLUSH_MS } from './limits.ts';
import type { Log } from './log.ts';
import { MCP_LIMITS } from './mcp/limits.ts';
import { createMcpPorts, type McpConnections, type McpPorts } from './mcp/ports.ts';
import type { Store } from './stores/store.ts';
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
  const { store, clock, ids, log, runsMax, defaultAgent } = options;
  const journal = createJournal({ store, clock, ownerId: randomUUID(), log });
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
    flush: () => flush(system, journal, store),
    onShutdown: options.onShutdown ?? (() => {}),
  });
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

/** Connections and journal do not wait for each other: a hung server must not cost entries. */
async function flush(system: SupervisorSystem, journal: Journal, store: Store): Promise<void> {
  await Promise.allSettled([system.closeConnections(), journal.close().then(() => store.close())]);
}
