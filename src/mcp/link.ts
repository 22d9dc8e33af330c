import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { McpDeps } from './deps.ts';
import { createHttpLink, type StreamEvents } from './http-link.ts';
import type { Redact } from './redact.ts';
import type { McpServerConfig } from './server-config.ts';
import { StdioTransport } from './stdio-transport.ts';
import { within } from './wait.ts';

/** What one connection is made to: a server with the headers of one caller. */
export interface ConnectionTarget {
  readonly config: McpServerConfig;
  readonly headers: Readonly<Record<string, string>>;
  readonly redact: Redact;
}

/** A transport and its two ways to end. */
export interface Link {
  readonly transport: Transport;
  /** While a message is received: the request whose own stream brings it, where the transport tells. */
  carrier(): RequestId | undefined;
  /** Ends session, process group and sockets, each within its bound. Never rejects. */
  end(): Promise<void>;
  /** Ends everything now, without a word to the server. */
  kill(): void;
}

/** Makes the transport of a target; it connects when it is started. */
export function createLink(target: ConnectionTarget, deps: McpDeps, streams: StreamEvents): Link {
  if (target.config.transport === 'stdio') {
    const transport = new StdioTransport(target.config, target.redact, deps);
    return {
      transport,
      carrier: () => undefined,
      end: () => transport.close(),
      kill: () => transport.kill(),
    };
  }
  const http = createHttpLink(target.config, {
    headers: target.headers,
    limits: deps.limits,
    streams,
  });
  const kill = () => {
    void http.transport.close().catch(() => {});
    http.destroy();
  };
  const end = async () => {
    const ended = http.endSession().catch(() => {});
    await within(ended, { clock: deps.clock, ms: deps.limits.sessionEndMs, fallback: undefined });
    kill();
  };
  return { transport: http.transport, carrier: () => http.carrier(), end, kill };
}
