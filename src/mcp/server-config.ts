import { basename } from 'node:path';
import type { McpServerSummary } from '../handle.ts';

/** A server that runs as a child process and speaks over its standard streams. */
export interface StdioServerConfig {
  readonly name: string;
  readonly transport: 'stdio';
  /** The executable, then arguments that belong to it. */
  readonly cmd: readonly string[];
  /** Arguments after those of `cmd`. */
  readonly args: readonly string[];
  /** Added to the few inherited variables that a process needs. Values are secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly description?: string;
}

/** A server behind a URL. */
export interface HttpServerConfig {
  readonly name: string;
  readonly transport: 'http_streamable' | 'sse';
  readonly url: string;
  /** Sent with every request. Values are secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Outgoing header name to the name in the caller's request; the caller's value wins. */
  readonly headersFromRequest: Readonly<Record<string, string>>;
  readonly description?: string;
}

/** One `[mcp.servers.NAME]` table, parsed. */
export type McpServerConfig = StdioServerConfig | HttpServerConfig;

/**
 * What may be told about a server to anybody: the basename of its command or the origin of its URL.
 * Arguments, environment, headers, paths, queries and user names stay inside.
 */
export function summarizeServer(config: McpServerConfig): McpServerSummary {
  const described = config.description === undefined ? {} : { description: config.description };
  if (config.transport === 'stdio') {
    const command = basename(config.cmd[0] ?? '') || '<unknown>';
    return { name: config.name, transport: 'stdio', command, ...described };
  }
  return {
    name: config.name,
    transport: config.transport,
    url: originOf(config.url),
    ...described,
  };
}

/** The origin of an HTTP URL, `<invalid url>` for anything else. */
export function originOf(url: string): string {
  const parsed = URL.parse(url);
  const isHttp = parsed?.protocol === 'http:' || parsed?.protocol === 'https:';
  return parsed !== null && isHttp ? parsed.origin : '<invalid url>';
}
