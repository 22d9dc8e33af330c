import type { Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js';
import type { Tool } from '../agent.ts';
import { failedResult } from './call.ts';
import type { McpLog } from './deps.ts';
import type { ToolFilter } from './filter.ts';
import { assignUniqueNames, sanitizeToolName } from './names.ts';
import type { ConnectionRegistry } from './registry.ts';
import { restoreArguments, sanitizeSchema } from './schemas.ts';

/** A tool of a server that the agent's filter lets through. */
export interface FoundTool {
  readonly serverName: string;
  /** As the server calls it. */
  readonly original: string;
  /** Sanitised, not yet unique among the servers. */
  readonly name: string;
  readonly description: string | undefined;
  /** As the server wrote it. */
  readonly inputSchema: Record<string, unknown>;
  /** As the model reads it. */
  readonly parameters: Record<string, unknown>;
  readonly connectionId: string;
}

export interface FindOptions {
  readonly serverName: string;
  readonly connectionId: string;
  readonly filter: ToolFilter;
  readonly sanitizeSchemas: boolean;
  readonly log: McpLog;
}

/** The tools of one server's list that an agent may use; one that no model can call is logged. */
export function findTools(listed: readonly ListedTool[], options: FindOptions): FoundTool[] {
  return listed.flatMap((tool) => {
    const name = sanitizeToolName(tool.name);
    if (!options.filter(name)) return [];
    const parameters = options.sanitizeSchemas
      ? sanitizeSchema(tool.inputSchema)
      : tool.inputSchema;
    if (parameters === undefined) {
      const { serverName } = options;
      options.log.warn(
        { server: serverName, tool: name },
        'MCP tool takes no object and is left out',
      );
      return [];
    }
    return [
      {
        serverName: options.serverName,
        original: tool.name,
        name,
        description: tool.description,
        inputSchema: tool.inputSchema,
        parameters,
        connectionId: options.connectionId,
      },
    ];
  });
}

/** A tool that says where it comes from. */
export interface ServedTool extends Tool {
  readonly serverName: string;
}

export interface BuildOptions {
  readonly registry: ConnectionRegistry;
  readonly sanitizeSchemas: boolean;
  readonly log: McpLog;
}

/** Gives the tools of all servers their final names and makes them callable. */
export function buildTools(
  found: readonly FoundTool[],
  options: BuildOptions,
): readonly ServedTool[] {
  const names = assignUniqueNames(found, ({ serverName, original, name }, unique) =>
    options.log.warn(
      { server: serverName, tool: original, name, renamed: unique },
      'MCP tool name is taken; the tool got another',
    ),
  );
  return found.map((tool, index) => callable(tool, names[index] ?? tool.name, options));
}

function callable(tool: FoundTool, name: string, options: BuildOptions): ServedTool {
  const { description, parameters, original, inputSchema, serverName } = tool;
  return {
    serverName,
    spec: { name, ...(description === undefined ? {} : { description }), parameters },
    execute: async (args, context) => {
      context.signal.throwIfAborted();
      // Asked for at each call: a connection that was lost and rebuilt has another client.
      const client = options.registry.client(tool.connectionId);
      if (client === undefined) {
        return failedResult(`the MCP server "${serverName}" is not connected`);
      }
      const sent = options.sanitizeSchemas ? restoreArguments(args, inputSchema) : args;
      return client.call({ toolName: original, args: sent, context });
    },
  };
}
