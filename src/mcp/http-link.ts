import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { Agent, fetch as undiciFetch } from 'undici';
import { McpConnectionError } from './failures.ts';
import type { HttpServerConfig } from './server-config.ts';

/** A transport over HTTP and what is needed to end it for good. */
export interface HttpLink {
  readonly transport: Transport;
  /** Ends the session the server gave, if it gave one. Rejects when the server refuses. */
  endSession(): Promise<void>;
  /** Closes every socket, whatever is under way on it. */
  destroy(): void;
}

export interface HttpLinkOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly connectMs: number;
  /** The body that was to carry the answer to this request has ended. */
  onStreamEnd(id: RequestId): void;
}

/**
 * Opens nothing yet; the transport connects when it is started. Each link has its own sockets, and no
 * time limit of the HTTP library cuts a tool that works for long in silence.
 *
 * Throws {@link McpConnectionError} when the URL is none.
 */
export function createHttpLink(config: HttpServerConfig, options: HttpLinkOptions): HttpLink {
  const url = bareUrl(config.url);
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.connectMs },
  });
  const fetch = observed(fetchOver(agent), options.onStreamEnd);
  const init = { requestInit: { headers: { ...options.headers } }, fetch };
  const destroy = () => void agent.destroy().catch(() => {});
  if (config.transport === 'sse') {
    return { transport: new SSEClientTransport(url, init), endSession: async () => {}, destroy };
  }
  const transport = new StreamableHTTPClientTransport(url, init);
  // The SDK types `sessionId` as optional without `undefined`, its own contract with it.
  return {
    transport: transport as Transport,
    endSession: () => transport.terminateSession(),
    destroy,
  };
}

/** The URL without user name and password, which travel as a header. */
function bareUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new McpConnectionError('`url` of this server is not an http or https URL; correct it');
  }
  url.username = '';
  url.password = '';
  return url;
}

/** undici's own `fetch`, so that it and the agent are of one version. */
function fetchOver(agent: Agent): FetchLike {
  return async (url, init) => {
    // Both sides implement the same web standard; only their type declarations differ.
    const request = { ...init, dispatcher: agent } as unknown as Parameters<typeof undiciFetch>[1];
    return (await undiciFetch(url, request)) as unknown as Response;
  };
}

/**
 * Tells when the event stream that answers a request has ended. The SDK says nothing when that happens
 * before the answer came, and its caller would wait for ever.
 */
function observed(fetch: FetchLike, onEnd: (id: RequestId) => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    const id = init?.method === 'POST' ? callIdOf(init.body) : undefined;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (id === undefined || !response.ok || response.body === null || !isStream) return response;
    // The SDK reads on microtasks, so one turn later everything that arrived has been given on.
    const body = endObserved(response.body, () => setImmediate(() => onEnd(id)));
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

function endObserved(
  body: ReadableStream<Uint8Array>,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      onEnd();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The id of a tool call in a request body; undefined for everything else. */
function callIdOf(body: unknown): RequestId | undefined {
  if (typeof body !== 'string' || !body.includes('"tools/call"')) return undefined;
  const message = JSON.parse(body) as { method?: unknown; id?: unknown };
  const { method, id } = message;
  if (method !== 'tools/call') return undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
