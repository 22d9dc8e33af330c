import type { TimerHandle } from '../../clock.ts';
import type { CliIo } from '../io.ts';
import { bodyOf, parsed, streamOf } from './answer.ts';
import { type OperatorError, unreachable } from './errors.ts';
import { networkFailure } from './network.ts';
import { refusalOf } from './refusal.ts';
import type { Target } from './target.ts';

/** An ordinary answer comes within this time. */
const ANSWER_MS = 30_000;

export type Query = Readonly<Record<string, string | undefined>>;

export interface ReadOptions {
  readonly query?: Query;
  /** What to do when the thing is not there, for the error; a function may look first. */
  readonly ifMissing?: string | (() => Promise<string>);
  /** What to do when it is 401 for another reason than the key, for the error. */
  readonly ifUnsigned?: string;
}

export interface AskOptions extends ReadOptions {
  readonly body?: object;
  /** Headers that sign the body, as it is sent. */
  readonly sign?: (body: string) => Readonly<Record<string, string>>;
  /** The answer comes when something has ended, however long that takes. */
  readonly patient?: boolean;
}

export interface StreamOptions extends ReadOptions {
  readonly lastEventId: string | undefined;
}

/** What the server sent: the text as it came, and what it says. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  /** Undefined for an answer without a body. */
  readonly json: unknown;
}

/** A stream that is open. */
export interface OpenStream {
  readonly body: AsyncIterable<Uint8Array>;
  /** Breaks the stream off; who reads it gets the error. */
  cut(error: OperatorError): void;
}

type ClientDeps = Pick<CliIo, 'fetch' | 'timers'> & { readonly signal: AbortSignal };

interface Request extends AskOptions {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The API of one server. Every method rejects with {@link OperatorError} alone, or, when the signal it
 * was made with aborts, with the reason of that.
 */
export class ServerClient {
  readonly base: string;
  readonly #key: string | undefined;
  readonly #deps: ClientDeps;

  constructor({ base, key }: Target, deps: ClientDeps) {
    this.base = base;
    this.#key = key;
    this.#deps = deps;
  }

  get(path: string, options: ReadOptions = {}): Promise<Answer> {
    return this.#answer({ method: 'GET', path, ...options });
  }

  post(path: string, options: AskOptions = {}): Promise<Answer> {
    return this.#answer({ method: 'POST', path, ...options });
  }

  /** Undefined when the server says that there is nothing more to come. */
  async open(
    path: string,
    { lastEventId, ...options }: StreamOptions,
  ): Promise<OpenStream | undefined> {
    const last = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    const headers = { Accept: 'text/event-stream', ...last };
    return this.#limited({ method: 'GET', path, headers, ...options }, (response, stop) =>
      response.status === 204
        ? undefined
        : { body: streamOf(response, this.base), cut: (error) => stop.abort(error) },
    );
  }

  #answer(request: Request): Promise<Answer> {
    return this.#limited(request, async (response) => {
      const { status } = response;
      const text = await bodyOf(response, this.base);
      return { status, text, json: status === 204 ? undefined : parsed(text, this.base) };
    });
  }

  /** Sends, and takes the answer; both together within the time limit. */
  async #limited<T>(
    request: Request,
    take: (response: Response, stop: AbortController) => T | Promise<T>,
  ): Promise<T> {
    const { timers } = this.#deps;
    const stop = new AbortController();
    const timer = request.patient === true ? undefined : this.#limit(stop);
    try {
      const response = await this.#send(request, stop);
      if (!response.ok) throw await this.#refusal(response, request);
      return await take(response, stop);
    } finally {
      timers.clearTimeout(timer);
    }
  }

  #limit(stop: AbortController): TimerHandle {
    const late = unreachable(`${this.base} did not answer within ${ANSWER_MS / 1_000} s.`);
    return this.#deps.timers.setTimeout(() => stop.abort(late), ANSWER_MS);
  }

  async #send(request: Request, stop: AbortController): Promise<Response> {
    const { fetch, signal } = this.#deps;
    const { method } = request;
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    try {
      return await fetch(urlOf(this.base, request), {
        method,
        redirect: 'manual',
        headers: this.#headers(request, body),
        signal: AbortSignal.any([signal, stop.signal]),
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      throw networkFailure(error, this.base);
    }
  }

  #headers({ headers, sign }: Request, body: string | undefined): Record<string, string> {
    return {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(this.#key === undefined ? {} : { Authorization: `Bearer ${this.#key}` }),
      ...(body === undefined ? {} : sign?.(body)),
      ...headers,
    };
  }

  async #refusal(response: Response, request: Request): Promise<OperatorError> {
    const { status, headers } = response;
    const body = await bodyOf(response, this.base);
    const { ifUnsigned } = request;
    const ifMissing = status === 404 ? await missingHint(request) : undefined;
    const withKey = this.#key !== undefined;
    return refusalOf({ status, headers, body, base: this.base, ifMissing, ifUnsigned, withKey });
  }
}

const missingHint = async ({ ifMissing }: ReadOptions): Promise<string | undefined> =>
  typeof ifMissing === 'function' ? await ifMissing() : ifMissing;

function urlOf(base: string, { path, query = {} }: Request): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, value);
  }
  return `${base}${path}${params.size === 0 ? '' : `?${params.toString()}`}`;
}
