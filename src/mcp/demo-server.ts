/**
 * The bundled MCP server: a few real tools over stdio, for the demo agent and for tests. It ends when
 * its standard input closes.
 */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { registerDeployTool } from './demo-deploy.ts';
import { registerFileTools } from './demo-files.ts';
import { registerWorkTools } from './demo-work.ts';

const server = new McpServer(
  { name: 'runwarden-demo', version: '1.0.0' },
  { capabilities: { tools: {} } },
);
registerWorkTools(server);
const scratch = registerFileTools(server);
registerDeployTool(server, scratch);

/** Standard input is the parent's grip on this process: without it nobody is there to serve. */
function leave(): void {
  scratch.remove();
  process.exit(0);
}

process.stdin.once('end', leave);
process.stdin.once('close', leave);
process.once('SIGTERM', leave);
process.once('SIGINT', leave);
await server.connect(new StdioServerTransport());
