import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  ElicitResultSchema,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

/** Longer than any test: whoever is asked takes their time. */
const PATIENCE_MS = 2_000_000_000;

export const REASON_SCHEMA = {
  type: 'object',
  properties: { reason: { type: 'string', minLength: 3 } },
  required: ['reason'],
};

/**
 * Tools that ask the client's person. `via: 'call'` asks on the stream of the call, where there is one;
 * `'connection'` says nothing of the call. What they were told is their result, as JSON.
 */
export function registerAskingTools(server: McpServer): void {
  const via = z.enum(['call', 'connection']).default('call');

  const ask = (params: Record<string, unknown>, how: 'call' | 'connection', extra: Extra) => {
    const request = { method: 'elicitation/create', params } as unknown as ServerRequest;
    const options = { timeout: PATIENCE_MS };
    return how === 'call'
      ? extra.sendRequest(request, ElicitResultSchema, options)
      : server.server.request(request, ElicitResultSchema, options);
  };

  server.registerTool(
    'ask',
    { inputSchema: { message: z.string(), times: z.number().default(1), via } },
    async ({ message, times, via: how }, extra) => {
      const told: unknown[] = [];
      for (let n = 1; n <= times; n += 1) {
        const asked = times === 1 ? message : `${message} ${n}`;
        told.push(await ask({ message: asked, requestedSchema: REASON_SCHEMA }, how, extra));
      }
      return text(JSON.stringify(told));
    },
  );

  server.registerTool(
    'ask_at_once',
    { inputSchema: { count: z.number(), via } },
    async ({ count, via: how }, extra) => {
      const asked = Array.from({ length: count }, (_, n) =>
        ask({ message: `Question ${n}`, requestedSchema: REASON_SCHEMA }, how, extra),
      );
      return text(JSON.stringify((await Promise.all(asked)).map(({ action }) => action)));
    },
  );

  server.registerTool(
    'ask_raw',
    { inputSchema: { params: z.record(z.string(), z.unknown()), via } },
    async ({ params, via: how }, extra) => {
      const told = await ask(params, how, extra).catch((error: Error) => error.message);
      return text(JSON.stringify(told));
    },
  );

  server.registerTool('take_back', { inputSchema: {} }, async (_args, extra) => {
    const stop = new AbortController();
    const request = {
      method: 'elicitation/create',
      params: { message: 'Still there?', requestedSchema: REASON_SCHEMA },
    } as unknown as ServerRequest;
    const { signal } = stop;
    const asked = extra.sendRequest(request, ElicitResultSchema, { signal, timeout: PATIENCE_MS });
    // Two questions, so that the one that is taken back is not the one with the id 0.
    await extra.sendRequest(request, ElicitResultSchema, { timeout: PATIENCE_MS });
    stop.abort('changed my mind');
    await asked.catch(() => {});
    return text('taken back');
  });

  const held = new Set<() => void>();
  server.registerTool('hold', { inputSchema: {} }, async (_args, extra) => {
    await extra.sendNotification({
      method: 'notifications/progress',
      params: { progressToken: extra._meta?.progressToken ?? 0, progress: 1 },
    });
    await new Promise<void>((resolve) => held.add(resolve));
    return text('held');
  });
  server.registerTool('let_go', { inputSchema: {} }, async () => {
    for (const release of held) release();
    return text('let go');
  });
}
