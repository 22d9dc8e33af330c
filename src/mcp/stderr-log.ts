import type { Readable } from 'node:stream';
import type { McpDeps } from './deps.ts';
import { redactCredentials } from '../redact-secrets.ts';
import type { Redact } from './redact.ts';

export interface StderrLogOptions {
  readonly serverName: string;
  readonly redact: Redact;
}

/**
 * Logs what a server writes to its standard error, line by line at debug level. Long lines are cut and
 * after `stderrBytesMax` nothing more is logged; the stream is read to its end all the same, so that
 * the server never blocks on a full pipe.
 */
export function logStderr(
  stream: Readable,
  { log, limits }: Pick<McpDeps, 'log' | 'limits'>,
  { serverName, redact }: StderrLogOptions,
): void {
  const shown = (text: string) => redactCredentials(redact(text));
  let left = limits.stderrBytesMax;
  let line = '';
  const flush = () => {
    if (line !== '') log.debug({ server: serverName, line: shown(line) }, 'MCP server stderr');
    line = '';
  };
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    if (left <= 0) return;
    left -= chunk.length;
    const [first = '', ...others] = chunk.split('\n');
    line = cut(line + first, limits.stderrLineBytesMax);
    for (const next of others) {
      flush();
      line = cut(next, limits.stderrLineBytesMax);
    }
    if (left > 0) return;
    flush();
    log.debug({ server: serverName }, 'MCP server stderr is no longer logged: it said too much');
  });
  stream.on('end', flush);
  stream.on('error', () => {});
}

const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max)}…`;
