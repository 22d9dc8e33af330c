import * as z from 'zod';
import type { McpServerConfig } from '../../mcp/server-config.ts';
import { httpUrl, type Reader, text, toggle } from '../values.ts';
import { field, notYet, present, strings, stringMap, table } from './fields.ts';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

const headerName: Reader<string> = (value) => {
  if (typeof value === 'string' && HEADER_NAME.test(value)) return { ok: true, value };
  const suggestion = 'Use letters, digits and "-" in the names of headers.';
  return { ok: false, problem: 'is not the name of a header', suggestion };
};

/** The value is never shown: it is a secret as a rule. */
const headerValue: Reader<string> = (value) => {
  if (typeof value !== 'string') {
    return { ok: false, problem: 'is not a string', suggestion: 'Write it in quotes.' };
  }
  if (HEADER_VALUE.test(value)) return { ok: true, value };
  const suggestion = 'Remove its line breaks and other control characters.';
  return { ok: false, problem: 'has a value that no header can carry', suggestion };
};

const headers = z.record(field(headerName), field(headerValue)).superRefine(refuseTwins);
const headerNames = z.record(field(headerName), field(headerName)).superRefine(refuseTwins);

/** Case does not count in header names, so two that differ only there are one header. */
function refuseTwins(map: Record<string, string>, ctx: z.core.$RefinementCtx): void {
  const seen = new Set<string>();
  for (const name of Object.keys(map)) {
    const plain = name.toLowerCase();
    if (seen.has(plain)) refuse(ctx, name, 'is the same header as another', 'Keep one of them.');
    seen.add(plain);
  }
}

function refuse(
  ctx: z.core.$RefinementCtx,
  key: string,
  message: string,
  suggestion: string,
): void {
  ctx.addIssue({ code: 'custom', path: [key], message, params: { suggestion } });
}

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
