import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { type Tool, ToolSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { TIMER_MS_MAX } from '../clock.ts';
import type { McpDeps } from './deps.ts';
import type { McpLimits } from './limits.ts';

/** Loose, so that one tool with a fault does not cost a run all the others. */
const PageSchema = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional(),
});

/**
 * Every tool of a server, page after page. A tool that is not valid MCP is left out and logged, and
 * so is what exceeds `pagesMax`, `toolsMax` or `catalogueBytesMax`. A server without tools gives an
 * empty list.
 */
export async function listTools(
  client: Client,
  { log, limits }: Pick<McpDeps, 'log' | 'limits'>,
  serverName: string,
): Promise<readonly Tool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const kept = new Catalogue(limits);
  let cursor: string | undefined;
  for (let page = 0; page < limits.pagesMax; page += 1) {
    const found = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      PageSchema,
      { timeout: TIMER_MS_MAX },
    );
    for (const raw of found.tools) kept.add(raw);
    cursor = found.nextCursor;
    if (cursor === undefined || kept.isFull) break;
  }
  if (kept.invalid > 0) log.warn({ server: serverName, tools: kept.invalid }, SKIPPED);
  if (cursor === undefined && !kept.isFull) return kept.tools;
  const { toolsMax, catalogueBytesMax } = limits;
  log.warn({ server: serverName, toolsMax, catalogueBytesMax }, LEFT_OUT);
  return kept.tools;
}

const SKIPPED = 'MCP server lists tools that are not valid MCP; they are left out';
const LEFT_OUT = 'MCP server lists too many tools; the rest is left out';

/** What is kept of a list. Once a valid tool found no room, it is full. */
class Catalogue {
  readonly tools: Tool[] = [];
  readonly #limits: McpLimits;
  #bytes = 0;
  #invalid = 0;
  #isFull = false;

  constructor(limits: McpLimits) {
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** How many tools were no valid ones. */
  get invalid(): number {
    return this.#invalid;
  }

  add(raw: unknown): void {
    if (this.#isFull) return;
    const parsed = ToolSchema.safeParse(raw);
    const bytes = parsed.success ? sizeOf(parsed.data) : undefined;
    if (!parsed.success || bytes === undefined) {
      this.#invalid += 1;
      return;
    }
    const { toolsMax, catalogueBytesMax } = this.#limits;
    this.#isFull = this.tools.length >= toolsMax || this.#bytes + bytes > catalogueBytesMax;
    if (this.#isFull) return;
    this.#bytes += bytes;
    this.tools.push(parsed.data);
  }
}

/** Bytes as JSON; undefined for what is nested too deeply to be written. */
function sizeOf(tool: Tool): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(tool));
  } catch {
    return undefined;
  }
}
