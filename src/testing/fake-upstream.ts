import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type Clock, systemClock } from '../clock.ts';
import type { UpstreamStep } from './fake-upstream-steps.ts';
import { faultOf } from './fake-upstream-validation.ts';

/** One request that the upstream received and read to its end. */
export interface UpstreamRequest {
  /** From 0, in the order of arrival. */
  readonly index: number;
  /** The connection it came on, from 0: two requests with the same one shared it. */
  readonly connection: number;
  /** As `node:http` gives them: lower-case names. */
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Resolves when the connection it came on is closed, by whichever side. */
  readonly closed: Promise<void>;
  /** Resolves when the answer is over: `whole` when it was sent to its end. */
  readonly answered: Promise<'whole' | 'broken'>;
}

/** What the upstream does with a request. */
export interface UpstreamAnswer {
  /** 200 without it. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of an error or of anything that is not a stream; an object is written as JSON. */
  readonly body?: string | Readonly<Record<string, unknown>>;
  /** The stream, ended when its steps are; a generator may make them as they are needed. */
  readonly steps?: Iterable<UpstreamStep> | AsyncIterable<UpstreamStep>;
}

export interface FakeUpstreamOptions {
  /** Asked for each valid request. What it throws fails the request with 500. */
  readonly respond: (request: UpstreamRequest) => UpstreamAnswer | Promise<UpstreamAnswer>;
  /** For `delay` steps. */
  readonly clock?: Clock;
  /** When present, requests must carry this key. */
  readonly apiKey?: string;
  /** Where it listens; the system chooses without it. */
  readonly port?: number;
}

export interface FakeUpstream {
  /** The base URL for a client: loopback, with `/v1`. */
  readonly url: string;
  /** The valid requests so far. */
  readonly requests: readonly UpstreamRequest[];
  /** What was refused with 400, for a test to expect to be empty. */
  readonly faults: readonly string[];
  /** The request with this index, now or when it comes. */
  request(index: number): Promise<UpstreamRequest>;
  /** Drops every connection and stops listening. */
  close(): Promise<void>;
}

/**
 * Starts an OpenAI-compatible upstream on loopback whose every step a test decides. It refuses what
 * OpenAI refuses, so that a wrong request cannot pass for a right one.
 */
export async function startFakeUpstream(options: FakeUpstreamOptions): Promise<FakeUpstream> {
  const upstream = new Upstream(options);
  await upstream.listen();
  return upstream;
}

/** Many requests may share one, so its end is listened for once. */
interface Connection {
  readonly index: number;
  readonly closed: Promise<void>;
}

const REQUEST_BYTES_MAX = 64 * 1_048_576;

class Upstream implements FakeUpstream {
  readonly requests: UpstreamRequest[] = [];
  readonly faults: string[] = [];
  readonly #options: FakeUpstreamOptions;
  readonly #server: Server;
  readonly #connections = new WeakMap<Socket, Connection>();
  #connectionCount = 0;
  readonly #waiting = new Map<number, ((request: UpstreamRequest) => void)[]>();

  constructor(options: FakeUpstreamOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.on('connection', (socket) =>
      this.#connections.set(socket, { index: this.#connectionCount++, closed: closeOf(socket) }),
    );
  }

  get url(): string {
    // A server that listens on TCP has an address of this shape.
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/v1`;
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#options.port ?? 0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  request(index: number): Promise<UpstreamRequest> {
    const known = this.requests[index];
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => {
      this.#waiting.set(index, [...(this.#waiting.get(index) ?? []), resolve]);
    });
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await this.#accept(incoming, response);
      if (body === undefined) return;
      const request = this.#record(incoming, response, body);
      await this.#answer(response, await this.#options.respond(request), body);
    } catch (error) {
      if (response.headersSent || response.destroyed) response.destroy();
      else sendError(response, 500, error instanceof Error ? error.message : String(error));
    }
  }

  /** Reads and checks the request; answers a wrong one itself. */
  async #accept(
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const text = await readBody(incoming);
    if (incoming.url !== '/v1/chat/completions') return sendError(response, 404, 'Unknown path.');
    if (incoming.method !== 'POST') return sendError(response, 405, 'Only POST is served.');
    const { apiKey } = this.#options;
    const { authorization = '' } = incoming.headers;
    const isKnown =
      apiKey === undefined
        ? /^Bearer \S+$/.test(authorization)
        : authorization === `Bearer ${apiKey}`;
    if (!isKnown) return sendError(response, 401, `Incorrect API key provided: ${authorization}.`);
    const body = parse(text);
    const fault = faultOf(body);
    if (fault === undefined) return body;
    this.faults.push(fault);
    return sendError(response, 400, fault);
  }

  #record(
    { headers, socket }: IncomingMessage,
    response: ServerResponse,
    body: Readonly<Record<string, unknown>>,
  ): UpstreamRequest {
    const connection = this.#connections.get(socket);
    const request: UpstreamRequest = {
      index: this.requests.length,
      connection: connection?.index ?? -1,
      headers,
      body,
      closed: connection?.closed ?? Promise.resolve(),
      answered: closeOf(response).then(() => (response.writableFinished ? 'whole' : 'broken')),
    };
    this.requests.push(request);
    for (const resolve of this.#waiting.get(request.index) ?? []) resolve(request);
    this.#waiting.delete(request.index);
    return request;
  }

  async #answer(
    response: ServerResponse,
    answer: UpstreamAnswer,
    body: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const { status = 200, headers = {}, steps } = answer;
    if (steps === undefined) return sendBody(response, answer);
    response.writeHead(status, { 'content-type': 'text/event-stream', ...headers });
    response.flushHeaders();
    const player = new StepPlayer(response, { body, clock: this.#options.clock ?? systemClock });
    for await (const step of steps) {
      if (!(await player.play(step))) return;
    }
    response.end();
  }
}

/** Plays the steps of one answer for as long as somebody listens. */
class StepPlayer {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #wantsUsage: boolean;
  readonly #frame: string;
  readonly #gone: Promise<unknown>;

  constructor(
    response: ServerResponse,
    { body, clock }: { body: Readonly<Record<string, unknown>>; clock: Clock },
  ) {
    this.#response = response;
    this.#clock = clock;
    this.#gone = closeOf(response);
    const options = body['stream_options'];
    this.#wantsUsage =
      typeof options === 'object' && options !== null && 'include_usage' in options
        ? options.include_usage === true
        : false;
    const head = { id: 'chatcmpl-fake', object: 'chat.completion.chunk', created: 1_700_000_000 };
    this.#frame = JSON.stringify({ ...head, model: body['model'] }).slice(0, -1);
  }

  /** Returns whether the answer goes on. */
  async play(step: UpstreamStep): Promise<boolean> {
    if (this.#response.destroyed) return false;
    switch (step.kind) {
      case 'chunk':
        return this.#write(this.#framed(step.chunk));
      case 'usage':
        if (!this.#wantsUsage) return true;
        return this.#write(this.#framed({ choices: [], usage: step.usage }));
      case 'raw':
        return this.#write(step.bytes);
      case 'gate':
        return this.#until(step.open);
      case 'delay':
        return this.#delay(step.ms);
      case 'stall':
        await this.#gone;
        return false;
      case 'cut':
        await flushed();
        this.#response.destroy();
        return false;
      case 'done':
        this.#response.end('data: [DONE]\n\n');
        return false;
    }
  }

  #framed(chunk: Readonly<Record<string, unknown>>): string {
    const rest = JSON.stringify(chunk).slice(1);
    return `data: ${this.#frame}${rest === '}' ? '' : ','}${rest}\n\n`;
  }

  async #write(bytes: string | Uint8Array): Promise<boolean> {
    if (this.#response.write(bytes)) return true;
    return this.#until(new Promise<void>((resolve) => this.#response.once('drain', resolve)));
  }

  async #until(event: Promise<unknown>): Promise<boolean> {
    await Promise.race([event, this.#gone]);
    return !this.#response.destroyed;
  }

  async #delay(ms: number): Promise<boolean> {
    let cancel = (): void => {};
    const elapsed = new Promise<void>((resolve) => {
      const timer = this.#clock.setTimeout(resolve, ms);
      cancel = () => this.#clock.clearTimeout(timer);
    });
    const goesOn = await this.#until(elapsed);
    cancel();
    return goesOn;
  }
}

/** Node holds what is written until the end of the turn; a destroyed response would lose it. */
const flushed = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function sendBody(
  response: ServerResponse,
  { status = 200, headers, body = '' }: UpstreamAnswer,
): void {
  const [text, type] =
    typeof body === 'string' ? [body, 'text/plain'] : [JSON.stringify(body), 'application/json'];
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(text);
}

function sendError(response: ServerResponse, status: number, message: string): undefined {
  const error = { message, type: 'invalid_request_error', param: null, code: null };
  sendBody(response, { status, body: { error } });
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of incoming) {
    // Without an encoding set, a request is read in buffers.
    pieces.push(piece as Buffer);
    bytes += pieces.at(-1)?.length ?? 0;
    if (bytes > REQUEST_BYTES_MAX) throw new Error(`The body exceeds ${REQUEST_BYTES_MAX} bytes.`);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** The body, or an empty object that the validation will refuse. */
function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function closeOf(emitter: Socket | ServerResponse): Promise<void> {
  return new Promise((resolve) => emitter.once('close', () => resolve()));
}
