/** A server whose tools show what becomes of its process. `--deaf` ignores SIGTERM and a closed input. */

import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

if (process.argv.includes('--deaf')) {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 60_000);
}
if (process.argv.includes('--exit')) process.exit(3);
if (process.argv.includes('--mute')) setInterval(() => {}, 60_000);
else await serve();

async function serve() {
  if (process.env['SAY'] !== undefined) process.stderr.write(`I know ${process.env['SAY']}\n`);
  const server = new McpServer({ name: 'probe', version: '1.0.0' });
  server.registerTool('pid', { inputSchema: {} }, async () => text(String(process.pid)));
  server.registerTool('plug_ears', { inputSchema: {} }, async () => {
    setInterval(() => {}, 60_000);
    // The end of its own input would close the server, which is to live on here.
    process.stdin.removeAllListeners('end').removeAllListeners('close').destroy();
    closeSync(0);
    return text(String(process.pid));
  });
  server.registerTool('die', { inputSchema: {} }, async () => process.exit(1));
  server.registerTool('shout', { inputSchema: { bytes: z.number() } }, async ({ bytes }) =>
    text('x'.repeat(bytes)),
  );
  server.registerTool('grandchild', { inputSchema: {} }, async () => {
    const code =
      'process.on("SIGTERM",()=>{});setInterval(()=>{},60000);process.stdout.write("up")';
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'ignore'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    return text(String(child.pid));
  });
  await server.connect(new StdioServerTransport());
}
