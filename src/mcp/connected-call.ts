import type { ToolContext, ToolResult } from '../tool.ts';
import { type CallRequest, failedResult } from './call.ts';
import type { McpClient } from './client.ts';
import type { McpLog } from './deps.ts';
import { McpConnectionError, NotExecutedError } from './failures.ts';
import type { ConnectionLease } from './lease.ts';
import type { ConnectionRegistry } from './registry.ts';
import { unlessAborted } from './wait.ts';

/** The way to a server, whose connection may be lost and rebuilt between two calls. */
export interface CallRoute {
  readonly serverName: string;
  readonly lease: ConnectionLease;
  readonly registry: ConnectionRegistry;
  readonly log: McpLog;
}

/**
 * Makes a call on the connection of a lease.
 *
 * CC1. While the connection is being rebuilt a call waits, as long as its signal lets it.
 * CC2. A call that certainly was not executed is made once more, on the next connection. One that may
 *      have been executed never is.
 * CC3. The call is told as started once, and all its progress carries the token of that start.
 * CC4. A call that is made once more carries its own headers again, and may ask as before.
 */
export async function callConnected(request: CallRequest, route: CallRoute): Promise<ToolResult> {
  const { signal } = request.context;
  signal.throwIfAborted();
  const once = { ...request, context: startedOnce(request.context) };
  try {
    // Asked for at each call: a connection that was lost and rebuilt has another client.
    const client = currentClient(route) ?? (await readyClient(route, signal));
    return await callTwiceAtMost(client, once, route);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof McpConnectionError) return failedResult(error.reason);
    throw error;
  }
}

async function callTwiceAtMost(
  client: McpClient,
  request: CallRequest,
  route: CallRoute,
): Promise<ToolResult> {
  try {
    return await client.call(request);
  } catch (error) {
    if (!(error instanceof NotExecutedError)) throw error;
    const { signal } = request.context;
    await unlessAborted(client.gone, signal);
    const next = await readyClient(route, signal);
    const { serverName: server, log } = route;
    log.info({ server, reason: error.reason }, 'MCP call was not executed and is made once more');
    return next.call(request);
  }
}

const currentClient = ({ registry, lease }: CallRoute): McpClient | undefined =>
  registry.client(lease.connectionId);

/** The client of the connection once it works; rejects with {@link McpConnectionError}. */
async function readyClient(route: CallRoute, signal: AbortSignal): Promise<McpClient> {
  try {
    await unlessAborted(route.lease.ready(), signal);
  } catch (error) {
    if (!(error instanceof McpConnectionError)) throw error;
    throw notConnected(route, error.reason);
  }
  const client = currentClient(route);
  if (client === undefined) throw notConnected(route, 'the connection closed');
  return client;
}

const notConnected = ({ serverName }: CallRoute, reason: string): McpConnectionError =>
  new McpConnectionError(`the MCP server "${serverName}" is not connected: ${reason}`);

function startedOnce(context: ToolContext): ToolContext {
  const { headers, elicit } = context;
  let first: { readonly progressToken?: number | string } | undefined;
  return {
    runId: context.runId,
    sessionId: context.sessionId,
    toolCallId: context.toolCallId,
    signal: context.signal,
    started: (info) => {
      if (first !== undefined) return;
      first = info;
      context.started(info);
    },
    progress: (progress) => context.progress({ ...progress, ...first }),
    ...(headers === undefined ? {} : { headers }),
    ...(elicit === undefined ? {} : { elicit: elicit.bind(context) }),
    cancelSent: (sent) => context.cancelSent?.(sent),
  };
}
