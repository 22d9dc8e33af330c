import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { Agent, fetch as undiciFetch } from 'undici';
import { RequestScopes } from './request-scope.ts';
import { McpConnectionError, OversizedMessageError } from './failures.ts';
import type { McpLimits } from './limits.ts';
import { BodyMeter, EventMeter, type MessageMeter } from './message-bound.ts';
import type { HttpServerConfig } from './server-config.ts';

/** A transport over HTTP and what is needed to end it for good. */
export interface HttpLink {
  readonly transport: Transport;
  /** While a message is received: the request whose own stream brings it, if one does. */
  carrier(): RequestId | undefined;
  /** Ends the session the server gave, if it gave one. Rejects when the server refuses. */
  endSession(): Promise<void>;
  /** Closes every socket, whatever is under way on it. */
  destroy(): void;
}

export interface HttpLinkOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: Pick<McpLimits, 'connectMs' | 'messageBytesMax'>;
  readonly streams: StreamEvents;
}

/** What becomes of the event streams of a link, which the SDK keeps to itself. */
export interface StreamEvents {
  /** The stream that was to carry the answer to this tool call has ended. */
  ended(id: RequestId): void;
  /** A stream brought a message over the bound and was cut; `id` where it answers a tool call. */
  oversized(error: OversizedMessageError, id: RequestId | undefined): void;
}

/**
 * Opens nothing yet; the transport connects when it is started. Each link has its own sockets, and no
 * time limit of the HTTP library cuts a tool that works for long in silence. No message over
 * `messageBytesMax` is read to its end. The headers of a call go with the POST of that call alone.
 *
 * Throws {@link McpConnectionError} when the URL is none.
 */
export function createHttpLink(config: HttpServerConfig, options: HttpLinkOptions): HttpLink {
  const url = bareUrl(config.url);
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.limits.connectMs },
  });
  const scopes = new RequestScopes();
  const fetch = observed(scopes.withHeaders(fetchOver(agent)), scopes, options);
  const init = { requestInit: { headers: { ...options.headers } }, fetch };
  const destroy = () => void agent.destroy().catch(() => {});
  if (config.transport === 'sse') {
    const transport = scopes.attach(new SSEClientTransport(url, init));
    // All answers come by one stream, which no request opened.
    return { transport, carrier: () => undefined, endSession: async () => {}, destroy };
  }
  const streamable = new StreamableHTTPClientTransport(url, init);
  // The SDK types `sessionId` as optional without `undefined`, its own contract with it.
  const transport = scopes.attach(streamable as Transport);
  return {
    transport,
    carrier: () => scopes.requestId,
    endSession: () => streamable.terminateSession(),
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
 * Bounds what is read of each response, and tells when the event stream that answers a call has
 * ended: the SDK says nothing when that happens before the answer came, and its caller would wait for
 * ever. The body of a refusal is not read at all: its status says what there is to say.
 */
function observed(
  fetch: FetchLike,
  scopes: RequestScopes,
  { limits, streams }: Pick<HttpLinkOptions, 'limits' | 'streams'>,
): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    if (!response.ok) {
      void response.body.cancel().catch(() => {});
      return response;
    }
    const id = init?.method === 'POST' ? scopes.callId : undefined;
    const body = isEventStream(response)
      ? metered(response.body, new EventMeter(limits.messageBytesMax), watchOf(streams, id))
      : metered(response.body, new BodyMeter(limits.messageBytesMax), {});
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

const isEventStream = (response: Response): boolean =>
  response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;

interface BodyWatch {
  readonly onOversized?: (error: OversizedMessageError) => void;
  readonly onEnd?: () => void;
}

const watchOf = (streams: StreamEvents, id: RequestId | undefined): BodyWatch => ({
  onOversized: (error) => streams.oversized(error, id),
  // The SDK reads on microtasks, so one turn later everything that arrived has been given on.
  ...(id === undefined ? {} : { onEnd: () => void setImmediate(() => streams.ended(id)) }),
});

/** The same body, cut with an error where a message is over its bound. */
function metered(
  body: ReadableStream<Uint8Array>,
  meter: MessageMeter,
  { onOversized, onEnd }: BodyWatch,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          meter.count(value);
          return controller.enqueue(value);
        }
        controller.close();
      } catch (error) {
        controller.error(error);
        if (error instanceof OversizedMessageError) {
          void reader.cancel(error).catch(() => {});
          onOversized?.(error);
        }
      }
      onEnd?.();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
