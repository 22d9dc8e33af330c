import type { ServerStatus, ToolLease, ToolLeaseRequest, ToolSource } from '../tool.ts';
import type { Clock } from '../clock.ts';
import type { McpLog } from './deps.ts';
import { McpConnectionError } from './failures.ts';
import { compileToolFilter, type ToolFilter } from './filter.ts';
import { resolveHeaders } from './headers.ts';
import { type ConnectionLease, leaseConnection } from './lease.ts';
import type { McpLimits } from './limits.ts';
import type { ConnectionTarget } from './link.ts';
import { Notices } from './notices.ts';
import type { McpConnections, McpPorts } from './ports.ts';
import { redactorOf } from './redact.ts';
import type { McpServerConfig } from './server-config.ts';
import { buildTools, type FoundTool, findTools, type ServedTool } from './tools.ts';
import { unlessAborted, within } from './wait.ts';

export interface ToolSourceOptions {
  readonly servers: readonly McpServerConfig[];
  /** `mcp_filter`: undefined for all tools, an empty list for none. */
  readonly filter?: readonly string[] | undefined;
  readonly sanitizeSchemas: boolean;
  /** The pool of connections, an actor of `poolOf('mcp', ports.machine)`. */
  readonly connections: McpConnections;
  readonly ports: McpPorts;
  readonly clock: Clock;
  readonly log: McpLog;
  readonly limits: McpLimits;
}

/** A {@link ToolLease} whose tools say which server they come from. */
export interface McpToolLease extends ToolLease {
  readonly tools: readonly ServedTool[];
}

export interface McpToolSource extends ToolSource {
  acquire(request: ToolLeaseRequest): Promise<McpToolLease>;
}

/** What one server gave a run: tools and the count on their connection, or the reason why not. */
interface Served {
  readonly status: ServerStatus;
  readonly tools: readonly FoundTool[];
  readonly lease: ConnectionLease | undefined;
}

interface ServeScope {
  readonly request: ToolLeaseRequest;
  readonly holder: string;
  readonly filter: ToolFilter;
  readonly notices: Notices;
  readonly options: ToolSourceOptions;
}

/**
 * The tools of one agent's MCP servers.
 *
 * TS1. Servers are connected at the same time, each within `connectMs`; one that fails costs the run
 *      its own tools and nothing else.
 * TS2. Every count on a connection is given back: by the release, or at once when the signal aborts.
 */
export function createToolSource(options: ToolSourceOptions): McpToolSource {
  const filter = compileToolFilter(options.filter);
  const notices = new Notices();
  let leases = 0;
  return {
    acquire: async (request) => {
      request.signal.throwIfAborted();
      // Off the caller's stack, which may be a transition of the pool.
      await Promise.resolve();
      leases += 1;
      const scope = { request, holder: `${request.runId}:${leases}`, filter, notices, options };
      const served = await Promise.all(options.servers.map((config) => serve(config, scope)));
      if (!request.signal.aborted) return leaseOf(served, scope);
      await releaseAll(served, { evict: false });
      throw request.signal.reason;
    },
  };
}

/** Never rejects: what goes wrong is the server's status. */
async function serve(config: McpServerConfig, scope: ServeScope): Promise<Served> {
  let lease: ConnectionLease | undefined;
  try {
    const { options, request } = scope;
    lease = leaseConnection(targetOf(config, request.requestHeaders), scope.holder, {
      connections: options.connections,
      registry: options.ports.registry,
      limits: options.limits,
    });
    const listed = await unlessAborted(listBounded(lease, options), request.signal);
    const found = findTools(listed, {
      serverName: config.name,
      lease,
      filter: scope.filter,
      sanitizeSchemas: options.sanitizeSchemas,
      log: options.log,
      notices: scope.notices,
    });
    return { lease, tools: found, status: connected(config, listed.length) };
  } catch (error) {
    await lease?.release({ evict: false });
    return { lease: undefined, tools: [], status: failed(config, error, scope) };
  }
}

/** The server's tools, from a connection that is known to work. */
async function listBounded(lease: ConnectionLease, options: ToolSourceOptions) {
  const { clock, limits, ports } = options;
  const late = `did not connect within ${limits.connectMs / 1_000} s`;
  const listed = await within(list(lease, ports), { clock, ms: limits.connectMs, fallback: late });
  if (typeof listed === 'string') throw new McpConnectionError(listed);
  return listed;
}

async function list(lease: ConnectionLease, { registry }: McpPorts) {
  await lease.ready();
  await registry.client(lease.connectionId)?.probe();
  // The probe may have found the connection dead; then it is being rebuilt now.
  await lease.ready();
  const client = registry.client(lease.connectionId);
  if (client === undefined) throw new McpConnectionError('the connection closed');
  return client.tools();
}

function targetOf(
  config: McpServerConfig,
  requestHeaders: Readonly<Record<string, string>>,
): ConnectionTarget {
  const headers = config.transport === 'stdio' ? {} : resolveHeaders(config, requestHeaders);
  return { config, headers, redact: redactorOf(config, headers) };
}

function connected(config: McpServerConfig, toolsCount: number): ServerStatus {
  return { serverName: config.name, transport: config.transport, status: 'connected', toolsCount };
}

function failed(config: McpServerConfig, error: unknown, scope: ServeScope): ServerStatus {
  const reason = error instanceof McpConnectionError ? error.reason : 'the connection failed';
  const { name, transport } = config;
  if (!scope.request.signal.aborted) {
    scope.options.log.warn({ server: name, reason }, 'MCP server is not available to this run');
  }
  return { serverName: name, transport, status: 'failed', toolsCount: 0, reason };
}

function leaseOf(served: readonly Served[], { options, notices }: ServeScope): McpToolLease {
  const { log, ports, sanitizeSchemas } = options;
  const found = served.flatMap((server) => server.tools);
  return {
    tools: buildTools(found, { registry: ports.registry, sanitizeSchemas, log, notices }),
    servers: served.map((server) => server.status),
    release: (how) => releaseAll(served, how),
  };
}

async function releaseAll(
  served: readonly Served[],
  how: { readonly evict: boolean },
): Promise<void> {
  await Promise.all(served.map(async (server) => server.lease?.release(how)));
}
