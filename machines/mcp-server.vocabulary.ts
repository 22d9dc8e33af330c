/**
 * The words of the MCP server chart: what goes into it, what it hears, tells and asks its ports for.
 * All shapes are JSON.
 */

/** The limits that the chart enforces. Milliseconds, but for the counts. */
export interface McpServerLimits {
  /** From the start of the transport to the end of the first tool list. */
  readonly connectMs: number;
  /** Bound of the whole close: session end, process group and sockets. */
  readonly closeMs: number;
  /** How long a connection that nobody holds is kept for the next run. */
  readonly idleMs: number;
  readonly backoffMsFirst: number;
  readonly backoffMsMax: number;
  /** A connection that lived this long has proved itself: earlier failures are forgotten. */
  readonly steadyMs: number;
  /** Failures in a row after which a lost connection is no longer rebuilt by itself. */
  readonly failuresMax: number;
}

export interface McpServerInput {
  /** Names the connection among all connections of the process; holds no secret. */
  readonly connectionId: string;
  readonly serverName: string;
  readonly limits: McpServerLimits;
}

export interface ConnectServerInput {
  readonly connectionId: string;
  /** 1 for the first try since the last steady connection. */
  readonly attempt: number;
}

export interface ConnectionRef {
  readonly connectionId: string;
}

/** What a connect yields for decisions; the client object itself stays in the registry. */
export interface ServerCatalogue {
  readonly toolsCount: number;
}

/** A connect that failed rejects with this; anything else is a bug and is not shown. */
export interface McpFailure {
  /** A sentence for the reader, free of secrets. */
  readonly reason: string;
}

export type McpServerEvent =
  | { type: 'mcp.acquire'; holder: string }
  | { type: 'mcp.release'; holder: string; evict: boolean }
  | { type: 'mcp.lost'; reason: string }
  | { type: 'mcp.close' };

export type McpServerEmitted =
  | { type: 'mcp.connecting'; connectionId: string; serverName: string; attempt: number }
  | { type: 'mcp.connected'; connectionId: string; serverName: string; toolsCount: number }
  | {
      type: 'mcp.failed';
      connectionId: string;
      serverName: string;
      reason: string;
      retryAfterMs: number;
    }
  | { type: 'mcp.degraded'; connectionId: string; serverName: string; reason: string }
  | { type: 'mcp.closed'; connectionId: string; serverName: string };

export interface McpServerOutput {
  readonly connectionId: string;
  readonly serverName: string;
}

/**
 * What an outsider may ask of a connection.
 *
 * `accepting`: an acquire sent now is counted. `ready`: calls can be made. `failed`: the last
 * attempt failed, `context.reason` says why. `closing`: it ends within its bound.
 */
export type McpServerTag = 'accepting' | 'ready' | 'failed' | 'closing';

/** Exponential and capped. No jitter: one process opens one connection per server and header set. */
export function mcpBackoffMs(failures: number, limits: McpServerLimits): number {
  return Math.min(limits.backoffMsFirst * 2 ** Math.max(0, failures - 1), limits.backoffMsMax);
}
