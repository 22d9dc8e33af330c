import type { Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js';
import type { Tool } from '../tool.ts';
import { callConnected } from './connected-call.ts';
import type { McpLog } from './deps.ts';
import type { ToolFilter } from './filter.ts';
import type { ConnectionLease } from './lease.ts';
import { assignUniqueNames, sanitizeToolName } from './names.ts';
import type { Notices } from './notices.ts';
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
  readonly lease: ConnectionLease;
}

export interface FindOptions {
  readonly serverName: string;
  readonly lease: ConnectionLease;
  readonly filter: ToolFilter;
  readonly sanitizeSchemas: boolean;
  readonly log: McpLog;
  readonly notices: Notices;
}

/** The tools of one server's list that an agent may use; those that no model can call are logged. */
export function findTools(listed: readonly ListedTool[], options: FindOptions): FoundTool[] {
  const uncallable: string[] = [];
  const found = listed.flatMap((tool) => {
    const name = sanitizeToolName(tool.name);
    if (!options.filter(name)) return [];
    const parameters = options.sanitizeSchemas
      ? sanitizeSchema(tool.inputSchema)
      : tool.inputSchema;
    if (parameters === undefined) {
      uncallable.push(name);
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
        lease: options.lease,
      },
    ];
  });
  warnOnce('MCP tools take no object and are left out', uncallable, options);
  return found;
}

/** A tool that says where it comes from. */
export interface ServedTool extends Tool {
  readonly serverName: string;
}

export interface BuildOptions {
  readonly registry: ConnectionRegistry;
  readonly sanitizeSchemas: boolean;
  readonly log: McpLog;
  readonly notices: Notices;
}

/** Gives the tools of all servers their final names and makes them callable. */
export function buildTools(
  found: readonly FoundTool[],
  options: BuildOptions,
): readonly ServedTool[] {
  const renamed: Renamed[] = [];
  const names = assignUniqueNames(found, ({ serverName, name }, unique) =>
    renamed.push({ server: serverName, name, renamed: unique }),
  );
  warnOnce('MCP tool names are taken; the tools got others', renamed, options);
  return found.map((tool, index) => callable(tool, names[index] ?? tool.name, options));
}

/** Sanitised names: a server's own may be of any length. */
interface Renamed {
  readonly server: string;
  readonly name: string;
  readonly renamed: string;
}

/** How many of the tools that a warning is about are named in it. */
const NAMED_MAX = 20;

/** One line for one catalogue, however many runs read it. */
function warnOnce(
  message: string,
  tools: readonly (Renamed | string)[],
  options: { readonly log: McpLog; readonly notices: Notices; readonly serverName?: string },
): void {
  const { serverName: server, notices, log } = options;
  if (tools.length === 0 || !notices.isNew(message, [server, tools])) return;
  const named = { count: tools.length, tools: tools.slice(0, NAMED_MAX) };
  log.warn(server === undefined ? named : { server, ...named }, message);
}

function callable(tool: FoundTool, name: string, options: BuildOptions): ServedTool {
  const { description, parameters, original, inputSchema, serverName } = tool;
  return {
    serverName,
    ...(tool.name !== name && { plainName: tool.name }),
    spec: { name, ...(description === undefined ? {} : { description }), parameters },
    ...(options.sanitizeSchemas && { inputSchema }),
    execute: async (args, context) => {
      const sent = options.sanitizeSchemas ? restoreArguments(args, inputSchema) : args;
      const { registry, log } = options;
      const route = { serverName, lease: tool.lease, registry, log };
      return callConnected({ toolName: original, args: sent, context }, route);
    },
  };
}
