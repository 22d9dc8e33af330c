import { setTimeout as sleep } from 'node:timers/promises';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CancelledNotificationSchema,
  type RequestId,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const COUNT_MAX = 10_000;
const DELAY_MS = 500;
const DELAY_MS_MAX = 60_000;
const IGNORE_SECONDS = 30;
const IGNORE_SECONDS_MAX = 600;
const IGNORE_BEAT_MS = 250;

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

/**
 * Adds `add`, `slow_count`, `always_fails` and `ignores_cancel`.
 *
 * The SDK never sends the answer of a call that was cancelled, whatever its handler does. So that
 * `ignores_cancel` can go on as a deaf server does, cancellations are routed here: each handler gets a
 * signal of its own, and this one tool has none.
 */
export function registerWorkTools(server: McpServer): void {
  const cancels = routeCancellations(server);
  server.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema: { a: z.number(), b: z.number() } },
    async ({ a, b }) => text(String(a + b)),
  );
  server.registerTool(
    'slow_count',
    {
      description: 'Counts from 1 to a number, slowly, and reports its progress.',
      inputSchema: {
        to: z.number().int().min(1).max(COUNT_MAX),
        delay_ms: z.number().int().min(0).max(DELAY_MS_MAX).optional(),
      },
    },
    ({ to, delay_ms }, extra) =>
      cancels.run(extra, (signal) => count({ to, delayMs: delay_ms ?? DELAY_MS, extra, signal })),
  );
  server.registerTool(
    'always_fails',
    { description: 'Fails, always.', inputSchema: {} },
    async () => ({ ...text('This tool always fails.'), isError: true }),
  );
  server.registerTool(
    'ignores_cancel',
    {
      description: 'Works for some seconds and does not stop when it is told to.',
      inputSchema: { seconds: z.number().min(0).max(IGNORE_SECONDS_MAX).optional() },
    },
    ({ seconds }, extra) => ignore(seconds ?? IGNORE_SECONDS, extra),
  );
}

interface CountOptions {
  readonly to: number;
  readonly delayMs: number;
  readonly extra: Extra;
  readonly signal: AbortSignal;
}

async function count({ to, delayMs, extra, signal }: CountOptions) {
  for (let number = 1; number <= to; number += 1) {
    await sleep(delayMs, undefined, { signal });
    await report(extra, { progress: number, total: to, message: `Counted to ${number}` });
  }
  return text(`Counted to ${to}.`);
}

async function ignore(seconds: number, extra: Extra) {
  const endsAt = performance.now() + seconds * 1_000;
  let beats = 0;
  for (let left = seconds * 1_000; left > 0; left = endsAt - performance.now()) {
    await sleep(Math.min(IGNORE_BEAT_MS, left));
    beats += 1;
    await report(extra, { progress: beats, message: 'Still working' });
  }
  return text(`Worked for ${seconds} seconds.`);
}

async function report(
  extra: Extra,
  note: { progress: number; total?: number; message: string },
): Promise<void> {
  const progressToken = extra._meta?.progressToken;
  if (progressToken === undefined) return;
  await extra.sendNotification({
    method: 'notifications/progress',
    params: { progressToken, ...note },
  });
}

interface Cancels {
  /** Runs a handler that obeys. Once it is cancelled it never answers, as the protocol asks. */
  run<T>(extra: Extra, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

function routeCancellations(server: McpServer): Cancels {
  const live = new Map<RequestId, AbortController>();
  server.server.setNotificationHandler(CancelledNotificationSchema, ({ params }) => {
    if (params.requestId !== undefined) live.get(params.requestId)?.abort(params.reason);
  });
  return {
    run: async (extra, work) => {
      const controller = new AbortController();
      live.set(extra.requestId, controller);
      try {
        return await work(controller.signal);
      } catch (error) {
        if (controller.signal.aborted) return new Promise<never>(() => {});
        throw error;
      } finally {
        live.delete(extra.requestId);
      }
    },
  };
}
