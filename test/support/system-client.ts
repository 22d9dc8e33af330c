import { once } from 'node:events';
import http from 'node:http';
import { createParser } from 'eventsource-parser';

/** One server-sent event as a client reads it. */
export interface Frame {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: string;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

type Json = Record<string, unknown>;

/** One request on a connection of its own, read as it comes, that its caller can leave at any time. */
export class Exchange {
  readonly #request: http.ClientRequest;
  /** Resolves with the head of the response; rejects when the connection ended before. */
  readonly answered: Promise<http.IncomingMessage>;
  /** Resolves when the connection is closed, by whichever side. */
  readonly closed: Promise<void>;
  readonly frames: Frame[] = [];
  /** The body so far. */
  body = '';
  /** Whether the response was read to its proper end. */
  complete = false;
  readonly #waiting = new Set<() => void>();

  constructor(url: string, { method = 'GET', headers = {}, body }: Asked = {}) {
    const json = body === undefined ? undefined : JSON.stringify(body);
    this.#request = http.request(url, {
      method,
      headers: { ...(json !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      agent: new http.Agent({ keepAlive: false }),
    });
    this.answered = once(this.#request, 'response').then(([response]) => this.#read(response));
    this.answered.catch(() => {}); // Whoever waits for it hears of it.
    this.closed = once(this.#request, 'close').then(
      () => this.#wake(),
      () => this.#wake(),
    );
    this.#request.on('error', () => {}); // Leaving is an error to the client itself.
    this.#request.end(json);
  }

  async header(name: string): Promise<string> {
    return String((await this.answered).headers[name]);
  }

  async status(): Promise<number> {
    return (await this.answered).statusCode ?? 0;
  }

  runId(): Promise<string> {
    return this.header('x-run-id');
  }

  /** Resolves when what has come satisfies; rejects when the response ends before. */
  async until(isSo: (so: this) => boolean): Promise<void> {
    await this.answered;
    while (!isSo(this)) {
      if (this.#request.closed) throw new Error(`The response ended first: ${this.body}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** The frames of the whole response. */
  async all(): Promise<readonly Frame[]> {
    await this.answered;
    await this.closed;
    return this.frames;
  }

  /** Closes the connection without reading on. */
  async leave(): Promise<void> {
    this.#request.destroy();
    await this.closed;
  }

  /** The whole response as JSON. */
  async json(): Promise<Json> {
    await this.answered;
    await this.closed;
    return JSON.parse(this.body) as Json;
  }

  /** The parsed data of each frame with this event name; ordinary chunks have none. */
  data(event?: string): readonly Json[] {
    return this.frames
      .filter((frame) => frame.event === event && frame.data !== '[DONE]')
      .map((frame) => JSON.parse(frame.data) as Json);
  }

  /** The text of the answer so far. */
  get text(): string {
    return this.choices.map(({ delta }) => delta?.content ?? '').join('');
  }

  /** The finish reasons so far: one at the most. */
  get finishReasons(): readonly string[] {
    return this.choices.flatMap(({ finish_reason: reason }) => reason ?? []);
  }

  get choices(): readonly Choice[] {
    return this.data().flatMap((chunk) => (chunk['choices'] ?? []) as Choice[]);
  }

  /** What the error frame says, in a stream that has one. */
  get error(): Json | undefined {
    return this.data('error')[0]?.['error'] as Json | undefined;
  }

  #read(response: http.IncomingMessage): http.IncomingMessage {
    const parser = createParser({
      onEvent: ({ event, id, data }) => void this.frames.push({ event, id, data }),
    });
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      this.body += text;
      parser.feed(text);
      this.#wake();
    });
    response.on('end', () => {
      this.complete = response.complete;
    });
    response.on('error', () => {}); // `complete` tells.
    return response;
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

interface Choice {
  readonly delta?: {
    readonly content?: string;
    readonly role?: string;
    readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string } }[];
  };
  readonly finish_reason?: string;
}

export const HELLO = { messages: [{ role: 'user', content: 'Hello' }] };
