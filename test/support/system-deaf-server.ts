/**
 * An MCP server that cannot be talked out of its work: it ignores cancellations, a closed input and
 * SIGTERM, and so does the process it starts. Its one tool tells both process ids as its progress.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const DEAF = 'process.on("SIGTERM",()=>{});setInterval(()=>{},60000);process.stdout.write("up")';

process.on('SIGTERM', () => {});
setInterval(() => {}, 60_000);
const server = new McpServer({ name: 'deaf', version: '1.0.0' });
server.registerTool('deaf', { inputSchema: {} }, async (_args, extra) => {
  const child = spawn(process.execPath, ['-e', DEAF], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const progressToken = extra._meta?.progressToken ?? 0;
  const message = `${process.pid} ${child.pid}`;
  const params = { progressToken, progress: 1, message };
  await extra.sendNotification({ method: 'notifications/progress', params });
  return new Promise<never>(() => {});
});
await server.connect(new StdioServerTransport());
