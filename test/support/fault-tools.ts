/**
 * An MCP server whose calls leave a line in the file it was started with, before they do anything:
 * how often a tool was executed is known outside the process that asked for it.
 *
 * `quick` answers, `hold` works until it is told to stop, `once` does that the first time and answers
 * from then on, `deaf` works on for ever and shows it, `kill` takes the process with it that started
 * this one.
 */

import { appendFileSync, readFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type {
  ProgressNotification,
  ServerNotification,
  ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const witness = process.argv[2];
if (witness === undefined) throw new Error('The path of the witness file is missing.');

const BEAT_MS = 50;

const inputSchema = { id: z.string(), how: z.enum(['quick', 'hold', 'once', 'deaf', 'kill']) };
type Asked = z.output<z.ZodObject<typeof inputSchema>>;
type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

async function work({ id, how }: Asked, { signal, _meta }: Extra) {
  appendFileSync(witness as string, `${id}\n`); // Checked above.
  await tell({ progressToken: _meta?.progressToken ?? 0, progress: 0, message: 'Noted' });
  if (how === 'kill') process.kill(process.ppid, 'SIGKILL');
  if (how === 'deaf') await shown(_meta?.progressToken ?? 0);
  if (how !== 'quick' && (how !== 'once' || executions(id) === 1)) await stopped(signal);
  return { content: [{ type: 'text' as const, text: `${id} is done` }] };
}

function executions(id: string): number {
  const lines = readFileSync(witness as string, 'utf8').split('\n'); // Checked above.
  return lines.filter((line) => line === id).length;
}

const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/** Beside the request, which the SDK counts as over once it is cancelled. */
const tell = (params: ProgressNotification['params']): Promise<void> =>
  server.server.notification({ method: 'notifications/progress', params });

async function shown(progressToken: string | number): Promise<never> {
  for (let progress = 1; ; progress += 1) {
    await tell({ progressToken, progress, message: 'Still at it' });
    await new Promise((resolve) => setTimeout(resolve, BEAT_MS));
  }
}

const server = new McpServer({ name: 'fault', version: '1.0.0' });
for (const name of ['work', 'work_again', 'gated']) {
  server.registerTool(name, { inputSchema }, work);
}

const leave = (): never => process.exit(0);
process.stdin.once('end', leave);
process.stdin.once('close', leave);
process.once('SIGTERM', leave);
await server.connect(new StdioServerTransport());
