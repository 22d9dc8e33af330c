import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { listTools } from '../../src/mcp/catalogue.ts';
import { MCP_LIMITS, type McpLimits } from '../../src/mcp/limits.ts';
import { Notices } from '../../src/mcp/notices.ts';

/** Lists the tools of a server whose pages come from `pageOf`, for ever. */
async function list(
  pageOf: (page: number) => { tools: unknown[]; nextCursor?: string },
  limits: Partial<McpLimits> = {},
) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  let pages = 0;
  far.onmessage = (message) => {
    if (!('id' in message) || !('method' in message)) return;
    const serverInfo = { name: 'test', version: '1' };
    const result =
      message.method === 'initialize'
        ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }
        : pageOf(pages++);
    void far.send({ jsonrpc: '2.0', id: message.id, result } as JSONRPCMessage);
  };
  await far.start();
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(near);
  const warned: object[] = [];
  const log = { debug: () => {}, info: () => {}, warn: (fields: object) => warned.push(fields) };
  const tools = await listTools(client, { log, limits: { ...MCP_LIMITS, ...limits } }, 'web');
  return { names: tools.map(({ name }) => name), pages, warned };
}

const tool = (name: string, description = '') => ({
  name,
  description,
  inputSchema: { type: 'object' },
});

describe('the list of a server', () => {
  it('is cut where its tools add up to more than the bound', async () => {
    const { names, pages, warned } = await list(
      (page) => ({ tools: [tool(`t${page}`, 'x'.repeat(400))], nextCursor: 'more' }),
      { catalogueBytesMax: 1_000 },
    );
    expect(names).toEqual(['t0', 't1']);
    expect(pages).toBe(3);
    expect(warned).toHaveLength(1);
  });

  it('is cut at the number of tools, and only when there are more', async () => {
    const three = { tools: ['a', 'b', 'c'].map((name) => tool(name)) };
    expect((await list(() => three, { toolsMax: 2 })).names).toEqual(['a', 'b']);
    const exact = await list(() => three, { toolsMax: 3 });
    expect(exact).toMatchObject({ names: ['a', 'b', 'c'], warned: [] });
  });

  it('is cut at the number of pages', async () => {
    const { names, warned } = await list(
      (page) => ({ tools: [tool(`t${page}`)], nextCursor: 'more' }),
      { pagesMax: 2 },
    );
    expect(names).toEqual(['t0', 't1']);
    expect(warned).toHaveLength(1);
  });

  it('has one warning for all tools that are not valid', async () => {
    const { names, warned } = await list(() => ({ tools: [1, tool('a'), {}, { name: 2 }] }));
    expect(names).toEqual(['a']);
    expect(warned).toEqual([{ server: 'web', tools: 3 }]);
  });
});

describe('a notice', () => {
  it('is news once, and again when its details change', () => {
    const notices = new Notices();
    expect(notices.isNew('renamed', ['a'])).toBe(true);
    expect(notices.isNew('renamed', ['a'])).toBe(false);
    expect(notices.isNew('renamed', ['b'])).toBe(true);
    expect(notices.isNew('left out', ['a'])).toBe(true);
    expect(notices.isNew('renamed', ['a'])).toBe(false);
  });

  it('is forgotten after many others', () => {
    const notices = new Notices();
    notices.isNew('renamed', 'first');
    for (let other = 0; other < 256; other += 1) notices.isNew('renamed', other);
    expect(notices.isNew('renamed', 'first')).toBe(true);
    expect(notices.isNew('renamed', 255)).toBe(false);
  });
});
