/** A server over stdio whose tools ask. */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { registerAskingTools } from './asking-tools.ts';

const server = new McpServer({ name: 'asking', version: '1.0.0' });
registerAskingTools(server);
await server.connect(new StdioServerTransport());
