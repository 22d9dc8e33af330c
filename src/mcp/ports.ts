import { type ActorRefFrom, fromCallback, fromPromise } from 'xstate';
import { mcpServerMachine } from '../../machines/mcp-server.machine.ts';
import type {
  ConnectionRef,
  ConnectServerInput,
  McpServerEvent,
  ServerCatalogue,
} from '../../machines/mcp-server.vocabulary.ts';
import type { PoolLogic } from '../../machines/pool.ts';
import type { McpDeps } from './deps.ts';
import { ConnectionRegistry } from './registry.ts';

/** The chart with its ports, and what the ports act on. */
export interface McpPorts {
  readonly machine: typeof mcpServerMachine;
  readonly registry: ConnectionRegistry;
}

/** The pool that holds the connections: an actor of `poolOf('mcp', ports.machine)`. */
export type McpConnections = ActorRefFrom<PoolLogic<typeof mcpServerMachine>>;

/** Makes the ports of the MCP server chart; one call a process, shared by all agents. */
export function createMcpPorts(deps: McpDeps): McpPorts {
  const registry = new ConnectionRegistry(deps);
  const machine = mcpServerMachine.provide({
    actors: {
      connectServer: fromPromise<ServerCatalogue, ConnectServerInput>(({ input, signal }) =>
        registry.connect(input.connectionId, signal),
      ),
      closeServer: fromPromise<void, ConnectionRef>(({ input, signal }) =>
        registry.close(input.connectionId, signal),
      ),
      watchServer: fromCallback<McpServerEvent, ConnectionRef>(({ input, sendBack }) =>
        registry.watch(input.connectionId, (reason) => sendBack({ type: 'mcp.lost', reason })),
      ),
    },
  });
  return { machine, registry };
}
