import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Clock, TimerHandle } from '../clock.ts';
import { AFTER_ANSWER_MS, AFTER_FINISH_MS } from './limits.ts';

/** What reads one response. Each method throws to give up; the connection is then closed. */
export interface BodyReader {
  /** Takes what arrived in one turn of the event loop. */
  read(bytes: Buffer): void;
  /** The body is over. `cause` is present when the connection died before its proper end. */
  end(cause?: Error): void;
  /** Nothing more is wanted; the exchange is over though the body may not be. */
  readonly done: boolean;
  /** The answer is there; what may still come is worth a moment and no more. */
  readonly whole: boolean;
  /** Resolves when more may be read; undefined while it may. */
  full(): Promise<void> | undefined;
}

/** The head of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** One POST and the reading of its response. */
export interface ExchangeOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly sockets: Sockets;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Chooses the reader by the head; throws to give up. */
  readonly open: (head: ResponseHead) => BodyReader;
  /** The error for a request that got no response. */
  readonly unreachable: (cause: Error) => Error;
}

/** The connections of one provider, kept alive between requests. */
export interface Sockets {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/**
 * An idle connection does not hold the process. One in use is probed, since a peer that vanished
 * without a word shows in no other way.
 */
export function createSockets(): Sockets {
  const options = { keepAlive: true, keepAliveMsecs: 15_000, scheduling: 'lifo' } as const;
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

/**
 * Sends the request and feeds the response to its reader.
 *
 * E1. Settles once. It rejects only after the connection is closed or the response is at its end,
 *     with the signal's reason when that was aborted, else with what went wrong first.
 * E2. After it settled the reader hears nothing.
 * E3. While the reader is full the socket is paused, so at most one read is held here.
 * E4. It has no deadline of its own: the signal is the caller's. A whole answer is the exception: the
 *     rest of it is waited for {@link AFTER_FINISH_MS}, and then the connection is closed.
 */
export function exchange(options: ExchangeOptions): Promise<void> {
  if (options.signal.aborted) return Promise.reject(options.signal.reason);
  return new Promise((resolve, reject) => {
    new Exchange(options, { resolve, reject }).start();
  });
}

interface Outcome {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

class Exchange {
  readonly #options: ExchangeOptions;
  readonly #outcome: Outcome;
  readonly #abort = (): void => this.#fail(this.#options.signal.reason);
  readonly #flush = (): void => this.#readArrived();
  #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #reader: BodyReader | undefined;
  /** What arrived in this turn of the event loop: one read may hold hundreds of HTTP chunks. */
  #arrived: Buffer[] = [];
  #failure: { readonly reason: unknown } | undefined;
  /** The connection is closed or belongs to others again. */
  #isReleased = false;
  #isSettled = false;
  #afterAnswer: TimerHandle | undefined;
  #afterFinish: TimerHandle | undefined;

  constructor(options: ExchangeOptions, outcome: Outcome) {
    this.#options = options;
    this.#outcome = outcome;
  }

  start(): void {
    const { url, headers, body, sockets, signal } = this.#options;
    const target = new URL(url);
    const init = { method: 'POST', headers };
    this.#request =
      target.protocol === 'https:'
        ? httpsRequest(target, { ...init, agent: sockets.https })
        : httpRequest(target, { ...init, agent: sockets.http });
    signal.addEventListener('abort', this.#abort, { once: true });
    this.#request.on('response', (response) => this.#opened(response));
    this.#request.on('error', (cause) => this.#broke(cause));
    this.#request.on('close', () => this.#released());
    this.#request.end(body);
  }

  #opened(response: IncomingMessage): void {
    this.#response = response;
    response.on('error', (cause) => this.#broke(cause));
    response.on('data', (bytes: Buffer) => this.#took(bytes));
    response.on('end', () => this.#ended());
    // After an end or an error this changes nothing; without either it is a death.
    response.on('close', () => this.#broke(new Error('The connection was closed.')));
    this.#attempt(() => {
      const { statusCode: status = 0, headers } = response;
      this.#reader = this.#options.open({ status, headers });
    });
  }

  #took(bytes: Buffer): void {
    if (this.#isOver()) return;
    if (this.#arrived.push(bytes) === 1) process.nextTick(this.#flush);
  }

  #readArrived(): void {
    const { length } = this.#arrived;
    if (length === 0 || this.#isOver()) return;
    const bytes = length === 1 ? this.#arrived[0] : Buffer.concat(this.#arrived);
    this.#arrived = [];
    this.#attempt(() => {
      if (bytes !== undefined) this.#reader?.read(bytes);
      if (this.#reader?.done) return this.#complete();
      if (this.#reader?.whole) this.#awaitRest();
      this.#pauseWhileFull();
    });
  }

  /** From the first moment on that the answer is whole, however much still drips in. */
  #awaitRest(): void {
    this.#afterFinish ??= this.#options.clock.setTimeout(() => this.#restIsLate(), AFTER_FINISH_MS);
  }

  #restIsLate(): void {
    this.#afterFinish = undefined;
    // While the socket is paused the rest may be here, unread.
    if (this.#response?.isPaused()) return this.#awaitRest();
    this.#finishReading();
    this.#request?.destroy();
  }

  #pauseWhileFull(): void {
    const room = this.#reader?.full();
    if (room === undefined) return;
    this.#response?.pause();
    room.then(
      () => this.#response?.resume(),
      (reason: unknown) => this.#fail(reason),
    );
  }

  #ended(): void {
    this.#isReleased = true;
    this.#readArrived();
    this.#finishReading();
  }

  /** No response, or one that died: its reader knows whether that matters. */
  #broke(cause: Error): void {
    if (this.#isOver()) return;
    if (this.#reader === undefined) return this.#fail(this.#options.unreachable(cause));
    this.#readArrived();
    this.#finishReading(cause);
  }

  #finishReading(cause?: Error): void {
    if (this.#isOver()) return;
    this.#attempt(() => {
      this.#reader?.end(cause);
      this.#complete();
    });
  }

  #attempt(step: () => void): void {
    try {
      step();
    } catch (reason) {
      this.#fail(reason);
    }
  }

  #isOver(): boolean {
    return this.#isSettled || this.#failure !== undefined;
  }

  /** The first failure counts; it is told when the connection is closed. */
  #fail(reason: unknown): void {
    if (this.#isOver()) return;
    this.#failure = { reason };
    if (this.#isReleased) this.#settle();
    else this.#request?.destroy();
  }

  /** The answer is whole. The connection gets a moment to end the response, to be used again. */
  #complete(): void {
    if (this.#isOver()) return;
    this.#settle();
    if (this.#isReleased || this.#response?.complete === true) return;
    const { clock } = this.#options;
    this.#afterAnswer = clock.setTimeout(() => this.#request?.destroy(), AFTER_ANSWER_MS);
  }

  #released(): void {
    this.#options.clock.clearTimeout(this.#afterAnswer);
    this.#isReleased = true;
    if (this.#failure !== undefined) this.#settle();
    else if (this.#reader === undefined) this.#broke(new Error('The connection was closed.'));
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { signal, clock } = this.#options;
    clock.clearTimeout(this.#afterFinish);
    signal.removeEventListener('abort', this.#abort);
    if (this.#failure === undefined) this.#outcome.resolve();
    else this.#outcome.reject(signal.aborted ? signal.reason : this.#failure.reason);
  }
}
