import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock, TimerHandle } from '../../clock.ts';
import { ANSWER_BYTES_MAX, CONNECT_MS, PROBE_MS } from './limits.ts';

export interface PostOptions {
  /** http or https. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

export type PostResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      /** Whole for a 2xx. Empty for any other status: it says what there is to say. */
      readonly body: Buffer;
    }
  | {
      readonly kind: 'broken';
      /** A sentence without address and without secrets. */
      readonly message: string;
      readonly retryable: boolean;
    };

/**
 * One POST on a connection of its own, which is closed afterwards.
 *
 * W1. Settles once, after the connection is closed. Rejects only when the signal aborts, with its reason.
 * W2. Nothing is sent a second time, and no redirect is followed.
 * W3. Beside {@link CONNECT_MS} for the connection it has no deadline of its own: the signal is the
 *     caller's.
 * W4. Of an answer at most {@link ANSWER_BYTES_MAX} are kept; a longer one is cut off.
 */
export function post(options: PostOptions): Promise<PostResult> {
  if (options.signal.aborted) return Promise.reject(options.signal.reason);
  return new Promise((resolve, reject) => {
    new Post(options, { resolve, reject }).start();
  });
}

interface Outcome {
  readonly resolve: (result: PostResult) => void;
  readonly reject: (reason: unknown) => void;
}

class Post {
  readonly #options: PostOptions;
  readonly #outcome: Outcome;
  readonly #abort = (): void => {
    // An answer that was whole before is not lost.
    this.#isAborted = this.#result === undefined;
    this.#request?.destroy();
  };
  #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #connectTimer: TimerHandle | undefined;
  #isConnected = false;
  #isAborted = false;
  #body = Buffer.alloc(0);
  #length = 0;
  /** The first result counts; it is told when the connection is closed. */
  #result: PostResult | undefined;

  constructor(options: PostOptions, outcome: Outcome) {
    this.#options = options;
    this.#outcome = outcome;
  }

  start(): void {
    const { url, body, signal, clock } = this.#options;
    const request = this.#prepare();
    if (request === undefined) return this.#outcome.resolve(UNUSABLE);
    this.#request = request;
    const connected = url.protocol === 'https:' ? 'secureConnect' : 'connect';
    this.#connectTimer = clock.setTimeout(() => this.#connectIsLate(), CONNECT_MS);
    signal.addEventListener('abort', this.#abort, { once: true });
    request.on('socket', (socket) => {
      socket.setKeepAlive(true, PROBE_MS);
      socket.once(connected, () => this.#connected());
    });
    request.on('response', (response) => this.#opened(response));
    request.on('error', (cause) => this.#broke(cause));
    request.on('close', () => this.#closed());
    request.end(body);
  }

  /** Undefined for an address that parses and yet cannot be used; the error would repeat it. */
  #prepare(): ClientRequest | undefined {
    const { url, headers } = this.#options;
    // Without an agent the connection is this request's alone and holds nothing open after it.
    const init = { method: 'POST', headers, agent: false } as const;
    try {
      return url.protocol === 'https:' ? httpsRequest(url, init) : httpRequest(url, init);
    } catch {
      return undefined;
    }
  }

  #connectIsLate(): void {
    this.#end(broken(`no connection to the webhook within ${CONNECT_MS / 1_000} s`));
  }

  #connected(): void {
    this.#isConnected = true;
    this.#options.clock.clearTimeout(this.#connectTimer);
  }

  #opened(response: IncomingMessage): void {
    this.#response = response;
    const { statusCode: status = 0 } = response;
    response.on('error', (cause) => this.#broke(cause));
    if (status < 200 || status > 299) return this.#answered();
    response.on('data', (bytes: Buffer) => this.#took(bytes));
    response.on('end', () => this.#answered());
  }

  /** Chunks are copied together: kept as they came, very small ones would take many times their size. */
  #took(bytes: Buffer): void {
    if (this.#result !== undefined) return;
    const length = this.#length + bytes.length;
    if (length > ANSWER_BYTES_MAX) return this.#end(OVERSIZED);
    if (length > this.#body.length) this.#grow(length);
    this.#body.set(bytes, this.#length);
    this.#length = length;
  }

  #grow(length: number): void {
    const larger = Buffer.alloc(Math.max(length, 2 * this.#body.length));
    larger.set(this.#body);
    this.#body = larger;
  }

  #answered(): void {
    const { statusCode: status = 0, headers = {} } = this.#response ?? {};
    this.#end({ kind: 'answered', status, headers, body: this.#body.subarray(0, this.#length) });
  }

  #broke(cause: Error): void {
    const code = codeOf(cause);
    if (!this.#isConnected) return this.#end(broken(`no connection to the webhook${code}`));
    // The codes of Node's parser. An answer that ends too soon is no complaint of its.
    const isGarbled = code.includes('HPE_');
    this.#end(isGarbled ? { ...GARBLED, message: `${GARBLED.message}${code}` } : cut(code));
  }

  /** The connection is of no use any more, whatever became of the request. */
  #end(result: PostResult): void {
    this.#result ??= result;
    this.#request?.destroy();
  }

  #closed(): void {
    const { signal, clock } = this.#options;
    clock.clearTimeout(this.#connectTimer);
    signal.removeEventListener('abort', this.#abort);
    if (this.#isAborted) this.#outcome.reject(signal.reason);
    else this.#outcome.resolve(this.#result ?? cut(''));
  }
}

const broken = (message: string): PostResult => ({ kind: 'broken', message, retryable: true });

const cut = (code: string): PostResult =>
  broken(`the connection to the webhook broke before its answer was complete${code}`);

const UNUSABLE: PostResult = {
  kind: 'broken',
  message:
    'no request to the webhook can be made; its url has a user or password that is malformed',
  retryable: false,
};

const OVERSIZED: PostResult = {
  kind: 'broken',
  message: `the webhook's answer is longer than ${ANSWER_BYTES_MAX} bytes`,
  retryable: false,
};

const GARBLED = {
  kind: 'broken',
  message: 'the webhook did not answer in HTTP',
  retryable: false,
} as const;

/** The code alone: the text of such an error names addresses. */
function codeOf(cause: Error): string {
  const code = 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? ` (${code})` : '';
}
