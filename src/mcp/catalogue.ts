import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { type Tool, ToolSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { TIMER_MS_MAX } from '../clock.ts';
import type { McpDeps } from './deps.ts';

/** Loose, so that one tool with a fault does not cost a run all the others. */
const PageSchema = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional(),
});

/**
 * Every tool of a server, page after page. A tool that is not valid MCP is left out and logged, and
 * so is what exceeds `pagesMax` or `toolsMax`. A server without tools gives an empty list.
 */
export async function listTools(
  client: Client,
  { log, limits }: Pick<McpDeps, 'log' | 'limits'>,
  serverName: string,
): Promise<readonly Tool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < limits.pagesMax; page += 1) {
    const found = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      PageSchema,
      { timeout: TIMER_MS_MAX },
    );
    for (const raw of found.tools)
      keepValid(raw, tools, () => log.warn({ server: serverName }, SKIPPED));
    cursor = found.nextCursor;
    if (cursor === undefined || tools.length >= limits.toolsMax) break;
  }
  if (cursor === undefined && tools.length <= limits.toolsMax) return tools;
  log.warn(
    { server: serverName, toolsMax: limits.toolsMax },
    'MCP server lists too many tools; the rest is left out',
  );
  return tools.slice(0, limits.toolsMax);
}

const SKIPPED = 'MCP server lists a tool that is not valid MCP; it is left out';

function keepValid(raw: unknown, tools: Tool[], onInvalid: () => void): void {
  const parsed = ToolSchema.safeParse(raw);
  if (parsed.success) tools.push(parsed.data);
  else onInvalid();
}
