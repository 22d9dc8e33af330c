import { AsyncLocalStorage } from 'node:async_hooks';
import type {
  FetchLike,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

/** What a tool call is sent with, beyond what the SDK knows. */
export interface CallSendOptions extends TransportSendOptions {
  /** Lower-case names; they win over those of the connection. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

interface RequestScope {
  readonly id: RequestId;
  readonly isCall: boolean;
  readonly headers: CallSendOptions['headers'];
}

/**
 * Keeps together a request, the POST that carries it, and the stream that the POST opens. The SDK's
 * transports do not say by which stream a message came, nor take headers for one request; but what they
 * do for a message they do in the asynchronous context in which it was sent.
 *
 * RS1. The scope of a request reaches its POST and whatever reads the answer to it, a resumed stream
 *      too.
 * RS2. Notifications and replies have no scope, though they be sent while a stream is read.
 */
export class RequestScopes {
  readonly #storage = new AsyncLocalStorage<RequestScope | undefined>();

  /** The request that is being sent, or whose stream is being read, be it a tool call or another. */
  get requestId(): RequestId | undefined {
    return this.#storage.getStore()?.id;
  }

  /** The same, of a tool call alone. */
  get callId(): RequestId | undefined {
    const scope = this.#storage.getStore();
    return scope?.isCall === true ? scope.id : undefined;
  }

  /** The same transport, which from now on sends each request in a scope of its own. */
  attach<T extends Transport>(transport: T): T {
    const send = transport.send.bind(transport);
    transport.send = (message, options) =>
      this.#storage.run(scopeOf(message, options), () => send(message, options));
    return transport;
  }

  /** The same `fetch`, which adds the headers of a call to its POST. The stream is resumed by GET. */
  withHeaders(fetch: FetchLike): FetchLike {
    return (url, init) => {
      const own = init?.method === 'POST' ? this.#storage.getStore()?.headers : undefined;
      if (own === undefined) return fetch(url, init);
      const headers = new Headers(init?.headers);
      for (const [name, value] of Object.entries(own)) headers.set(name, value);
      return fetch(url, { ...init, headers });
    };
  }
}

function scopeOf(message: JSONRPCMessage, options?: CallSendOptions): RequestScope | undefined {
  if (!('method' in message && 'id' in message)) return undefined;
  const isCall = message.method === 'tools/call';
  return { id: message.id, isCall, headers: isCall ? options?.headers : undefined };
}
