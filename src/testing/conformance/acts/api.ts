import { createParser } from 'eventsource-parser';
import { expectSame, Mismatch, shown } from './mismatch.ts';
import { type Timers, within } from './within.ts';

/** The server under test, and as whom it is asked. */
export interface Target {
  /** Scheme, host and path without `/v1`. */
  readonly base: string;
  readonly key?: string | undefined;
}

export type Json = Readonly<Record<string, unknown>>;

export interface Ask {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, where it is a JSON object. */
  readonly json: Json;
}

/** Seconds that one answer, or the head of a stream, may take. */
const ANSWER_MS_MAX = 15_000;

export interface ApiDeps {
  readonly fetch: typeof fetch;
  readonly timers: Timers;
  readonly signal: AbortSignal;
}

/** The server as one path asks it. All requests end with the path's signal. */
export class Api {
  readonly target: Target;
  readonly timers: Timers;
  readonly #fetch: typeof fetch;
  readonly #signal: AbortSignal;
  /** What was asked and answered, for the report. */
  readonly trace: string[] = [];

  constructor(target: Target, deps: ApiDeps) {
    this.target = target;
    this.#fetch = deps.fetch;
    this.#signal = deps.signal;
    this.timers = deps.timers;
  }

  async ask(path: string, asked: Ask = {}): Promise<Answer> {
    const { method = 'GET' } = asked;
    const bound = { ms: ANSWER_MS_MAX, timers: this.timers, signal: this.#signal };
    const { response, text } = await within(bound, async (signal) => {
      const head = await this.#send(path, asked, signal);
      return { response: head, text: await head.text() };
    });
    this.trace.push(
      `${method} ${path} ${shown(asked.body ?? '')} -> ${response.status} ${shown(text)}`,
    );
    return { status: response.status, headers: response.headers, text, json: jsonOf(text) };
  }

  /** The same, which must be answered with this status. */
  async expect(status: number, path: string, asked: Ask = {}): Promise<Answer> {
    const answer = await this.ask(path, asked);
    if (answer.status === status) return answer;
    const what = `${asked.method ?? 'GET'} ${path} to be answered with ${status}`;
    throw new Mismatch(what, `${answer.status} ${shown(answer.text)}`);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.ask(path, { method: 'POST', ...(body !== undefined && { body }) });
  }

  /** Opens a stream of events; resolves with its head. */
  async stream(path: string, asked: Ask = {}): Promise<EventReader> {
    const leaving = new AbortController();
    const signal = AbortSignal.any([this.#signal, leaving.signal]);
    const response = await this.#send(path, asked, signal);
    this.trace.push(`${asked.method ?? 'GET'} ${path} -> ${response.status}, as a stream`);
    if (response.status !== 200) {
      throw new Mismatch(`${path} to be a stream`, `${response.status} ${await response.text()}`);
    }
    return new EventReader(response, leaving);
  }

  #send(path: string, { method = 'GET', body, headers = {} }: Ask, signal: AbortSignal) {
    const { base, key } = this.target;
    return this.#fetch(`${base}${path}`, {
      method,
      signal,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }
}

/** One frame of a stream. */
export interface SeenFrame {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads a stream as it comes, until it ends or is left. */
export class EventReader {
  readonly frames: SeenFrame[] = [];
  readonly headers: Headers;
  /** Resolves when nothing more comes: `ended` by the server, `left` by us, `broken` by neither. */
  readonly over: Promise<'ended' | 'left' | 'broken'>;
  #isOver = false;
  readonly #leaving: AbortController;
  readonly #listeners = new Set<() => void>();

  constructor(response: Response, leaving: AbortController) {
    this.headers = response.headers;
    this.#leaving = leaving;
    this.over = this.#read(response);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Calls `listener` after each frame. */
  onFrame(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Closes the connection without reading on. */
  leave(): void {
    this.#leaving.abort();
  }

  async #read(response: Response): Promise<'ended' | 'left' | 'broken'> {
    const parser = createParser({
      onEvent: ({ event, id, data }) => void this.frames.push({ event, id, data }),
    });
    try {
      for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        parser.feed(text);
        for (const listener of this.#listeners) listener();
      }
      return 'ended';
    } catch {
      return this.#leaving.signal.aborted ? 'left' : 'broken';
    } finally {
      this.#isOver = true;
      for (const listener of this.#listeners) listener();
    }
  }
}

function jsonOf(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** The error that an answer holds must have this code, and this field at fault if one is given. */
export function expectError(answer: Answer, status: number, code: string, param?: string): void {
  const error = answer.json['error'] as Json | undefined;
  const seen = [answer.status, error?.['code'], ...(param === undefined ? [] : [error?.['param']])];
  expectSame('the refusal', seen, [status, code, ...(param === undefined ? [] : [param])]);
  if (typeof error?.['message'] === 'string' && error['message'] !== '') return;
  throw new Mismatch('an error with a message', shown(answer.text));
}
