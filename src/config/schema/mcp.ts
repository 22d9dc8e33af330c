import * as z from 'zod';
import type { McpServerConfig } from '../../mcp/server-config.ts';
import { httpUrl, type Reader, text, toggle } from '../values.ts';
import { field, notYet, present, strings, stringMap, table } from './fields.ts';
import { headerNames, headers } from './headers.ts';

const command: Reader<readonly string[]> = (value) => {
  const suggestion = 'Write the program and its arguments as a list: ["node", "server.js"].';
  if (!Array.isArray(value) || value.some((part) => typeof part !== 'string')) {
    return { ok: false, problem: 'is not a list of strings', suggestion };
  }
  const [program = ''] = value;
  if (program.trim() !== '') return { ok: true, value };
  return { ok: false, problem: 'names no program', suggestion };
};

const common = {
  description: z.string().optional(),
  scratchpad: notYet('Leave the scratchpad of this server out.'),
};

const stdio = table({
  ...common,
  transport: z.literal('stdio'),
  cmd: field(command),
  args: strings.optional(),
  env: stringMap.optional(),
});

const remote = table({
  ...common,
  transport: z.literal(['http_streamable', 'sse']),
  url: field(httpUrl),
  headers: headers.optional(),
  headers_from_request: headerNames.optional(),
});

const server = z.discriminatedUnion('transport', [stdio, remote]);

/** `[mcp]`. */
export const mcpSchema = table({
  sanitize_schemas: field(toggle).optional(),
  servers: z.record(field(text('[mcp.servers.files]')), server).optional(),
});

/** One server in the shape the MCP client takes. */
export function toServerConfig(name: string, toml: z.output<typeof server>): McpServerConfig {
  const description = present({ description: toml.description });
  if (toml.transport === 'stdio') {
    const { transport, cmd, args = [], env = {} } = toml;
    return { name, transport, cmd: [...cmd], args, env, ...description };
  }
  const { transport, url, headers: fixed = {}, headers_from_request: fromRequest = {} } = toml;
  return { name, transport, url, headers: fixed, headersFromRequest: fromRequest, ...description };
}
