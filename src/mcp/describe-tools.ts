import type { ToolLeaseRequest } from '../tool.ts';
import type { AgentTools } from '../handle.ts';
import type { McpToolSource } from './tool-source.ts';

/**
 * What the servers of an agent offer, by server name, for a caller with these headers. A server that
 * failed is absent. Rejects only when the signal aborts; no connection is held afterwards.
 */
export async function describeTools(
  source: McpToolSource,
  request: ToolLeaseRequest,
): Promise<AgentTools> {
  const lease = await source.acquire(request);
  try {
    const connected = lease.servers.filter(({ status }) => status === 'connected');
    return Object.fromEntries(
      connected.map(({ serverName }) => [
        serverName,
        lease.tools.filter((tool) => tool.serverName === serverName).map(({ spec }) => spec),
      ]),
    );
  } finally {
    await lease.release({ evict: false });
  }
}
