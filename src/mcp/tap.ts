import type {
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/sdk/shared/transport.js';
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtraInfo,
  RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { CallSendOptions } from './request-scope.ts';
import { wasNotExecuted } from './failures.ts';
import { ASK_METHOD } from './question-wire.ts';

/** A message that could not be written, and whether the server had given us a session by then. */
export interface SendFailure {
  readonly error: unknown;
  readonly hadSession: boolean;
}

/** One progress notification, as it came. */
export interface ProgressNote {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a call learns from the wire beyond its answer. */
export interface CallWatch {
  /** Headers of this one request, for a transport that has headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The request goes out under this id, which is its progress token too. */
  sent(id: RequestId): void;
  progress(note: ProgressNote): void;
  /** `notifications/cancelled` is on its way; settles when it is written. */
  cancelling(written: Promise<void>): void;
  /** The answer arrived, or never will. `error` says why a stream broke. Called at most once. */
  over(how: CallEnd, error?: Error): void;
}

/**
 * How a call ended on the wire. `unsent`: the request could not be written or its answer not be read,
 * its promise says why. `refused`: that, and it certainly was not executed ({@link wasNotExecuted}).
 * `broken`: the stream that was to carry the answer ended without it.
 */
export type CallEnd = 'answered' | 'unsent' | 'refused' | 'broken' | 'closed';

const CANCEL_METHOD = 'notifications/cancelled';

/** A request or a notification. */
type OwnMessage = Extract<JSONRPCMessage, { method: string }>;

interface LiveCall {
  readonly watch: CallWatch;
  /** The SDK gave up on the answer: it must not see it any more. */
  cancelled: boolean;
  /** The server can replay the rest of this answer on another connection. */
  resumable: boolean;
  streamEnded: boolean;
}

/**
 * Stands between the SDK's client and its transport and follows each tool call by its request id.
 *
 * TP1. The progress token of a call is its request id.
 * TP2. Progress is given on in the order of the wire and before the answer that follows it; the SDK
 *      would lose the last one, because it hands notifications on a microtask later than answers.
 * TP3. An answer that comes after the cancellation ends its call and goes no further.
 * TP4. Every call is over exactly once: answered, unsent, refused, broken, or closed with the
 *      transport.
 * TP5. A question to a person is given to `onquestion` with the request whose stream brought it, and never
 *      to the SDK, which knows nothing of calls.
 */
export class TappedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  /** Hears every message that arrives; the pool reads how long a connection has been silent. */
  onactivity?: () => void;
  /** Hears every message that could not be written. */
  onsendfailure?: (failure: SendFailure) => void;
  /** Hears the server's questions; `carrier` is the request whose stream brought it, if one did. */
  onquestion?: (request: JSONRPCRequest, carrier: RequestId | undefined) => void;
  /** The server takes one of its requests back. */
  onwithdrawal?: (requestId: RequestId) => void;
  /** An answer arrived that no call waits for any more. */
  onlateanswer?: (id: RequestId) => void;
  readonly #inner: Transport;
  readonly #carrierOf: () => RequestId | undefined;
  readonly #calls = new Map<RequestId, LiveCall>();
  /** Calls that ended without an answer: the SDK is still to drop them, which sends nothing. */
  readonly #dead = new Set<RequestId>();
  readonly #idle = new Set<() => void>();
  #expected: CallWatch | undefined;
  #closed = false;

  /** `carrierOf` gives, while a message is received, the request whose stream brings it. */
  constructor(inner: Transport, carrierOf: () => RequestId | undefined = () => undefined) {
    this.#inner = inner;
    this.#carrierOf = carrierOf;
    inner.onclose = () => this.#close();
    inner.onerror = (error) => this.onerror?.(error);
    inner.onmessage = (message, extra) => this.#receive(message, extra);
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  /** Whether the transport has closed, by itself or by us. */
  get closed(): boolean {
    return this.#closed;
  }

  /** How many calls are under way. */
  get callsLive(): number {
    return this.#calls.size;
  }

  /** Resolves when no call is under way. */
  async whenIdle(): Promise<void> {
    if (this.#calls.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.add(resolve));
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** The next tool call that is sent, within the same synchronous step, is followed by `watch`. */
  expect(watch: CallWatch, send: () => void): void {
    this.#expected = watch;
    try {
      send();
    } finally {
      this.#expected = undefined;
    }
  }

  /** A call whose end nobody waits for any more; its answer will be an unknown one. */
  forget(id: RequestId): void {
    this.#drop(id);
  }

  /** The SDK starts the timer of a call anew, as it does at its progress. */
  refresh(id: RequestId): void {
    const params = { progressToken: id, progress: 0 };
    if (!this.#calls.has(id)) return;
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/progress', params });
  }

  /** The HTTP body that was to carry the answer of a call has ended. */
  streamEnded(id: RequestId): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.streamEnded = true;
    if (!call.resumable) this.#finish(id, 'broken');
  }

  /** The HTTP body that was to carry the answer of a call brought what cannot be read. */
  streamFailed(id: RequestId, error: Error): void {
    this.#finish(id, 'broken', error);
  }

  /** The transport no longer tries to resume: answers that depended on that never come. */
  resumptionFailed(): void {
    for (const [id, call] of this.#calls) {
      if (call.streamEnded && call.resumable) this.#finish(id, 'broken');
    }
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    // Asked before: a refusal may carry the header of a session of its own.
    const hadSession = this.#inner.sessionId !== undefined;
    const written = this.#route(message, options);
    written.catch((error: unknown) => this.onsendfailure?.({ error, hadSession }));
    return written;
  }

  #route(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('id' in message && 'method' in message && message.method === 'tools/call') {
      return this.#sendCall(message, options);
    }
    if ('method' in message && message.method === CANCEL_METHOD) {
      return this.#sendCancellation(message, options);
    }
    return this.#inner.send(message, options);
  }

  #sendCall(
    message: Extract<JSONRPCMessage, { method: string; id: RequestId }>,
    options?: TransportSendOptions,
  ): Promise<void> {
    const watch = this.#expected;
    this.#expected = undefined;
    if (watch === undefined) return this.#inner.send(message, options);
    const call: LiveCall = { watch, cancelled: false, resumable: false, streamEnded: false };
    this.#calls.set(message.id, call);
    watch.sent(message.id);
    const hadSession = this.#inner.sessionId !== undefined;
    const meta = { ...(message.params?._meta ?? {}), progressToken: message.id };
    const own: CallSendOptions = {
      ...options,
      onresumptiontoken: () => (call.resumable = true),
      headers: watch.headers,
    };
    const written = this.#inner.send(
      { ...message, params: { ...message.params, _meta: meta } },
      own,
    );
    written.catch((error: unknown) =>
      this.#finish(message.id, wasNotExecuted(error, hadSession) ? 'refused' : 'unsent'),
    );
    return written;
  }

  #sendCancellation(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const id = cancelledIdOf(message);
    const call = id === undefined ? undefined : this.#calls.get(id);
    if (id !== undefined && this.#dead.delete(id)) return Promise.resolve();
    const written = this.#inner.send(message, options);
    if (call !== undefined) {
      call.cancelled = true;
      call.watch.cancelling(written);
    }
    return written;
  }

  #receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    this.onactivity?.();
    if ('method' in message) {
      this.#receiveOwn(message, extra);
      return;
    }
    const call = message.id === undefined ? undefined : this.#calls.get(message.id);
    if (call === undefined || message.id === undefined) {
      if (message.id !== undefined) this.onlateanswer?.(message.id);
      this.onmessage?.(message, extra);
      return;
    }
    if (!call.cancelled) this.onmessage?.(message, extra);
    this.#finish(message.id, 'answered');
  }

  /** What the server says of its own accord. */
  #receiveOwn(message: OwnMessage, extra?: MessageExtraInfo): void {
    if (message.method === 'notifications/progress') {
      this.#progress(message.params);
      return;
    }
    if ('id' in message && message.method === ASK_METHOD && this.onquestion !== undefined) {
      this.onquestion(message, this.#carrierOf());
      return;
    }
    const withdrawn = message.method === CANCEL_METHOD ? cancelledIdOf(message) : undefined;
    if (withdrawn !== undefined) this.onwithdrawal?.(withdrawn);
    this.onmessage?.(message, extra);
  }

  #progress(params: Record<string, unknown> | undefined): void {
    const { progressToken, progress, total, message } = params ?? {};
    const call = this.#calls.get(progressToken as RequestId);
    if (call === undefined || typeof progress !== 'number') return;
    call.watch.progress({
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    });
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const id of [...this.#calls.keys()]) this.#finish(id, 'closed');
    this.onclose?.();
  }

  #finish(id: RequestId, how: CallEnd, error?: Error): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#drop(id);
    if (how !== 'answered' && how !== 'closed') this.#dead.add(id);
    call.watch.over(how, error);
  }

  #drop(id: RequestId): void {
    this.#calls.delete(id);
    if (this.#calls.size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }
}

function cancelledIdOf(message: JSONRPCMessage): RequestId | undefined {
  const params = 'params' in message ? message.params : undefined;
  const id = params?.['requestId'];
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
