import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';
import type { ModelProvider, ModelRequest, ModelSink } from '../model.ts';
import { type Clock, systemClock } from '../clock.ts';
import { SupervisorError } from '../errors.ts';
import { readerFor } from './answer-reader.ts';
import { ChatDecoder } from './chat-decoder.ts';
import { createSockets, exchange, type Sockets } from './exchange.ts';
import { FailureMapper } from './failures.ts';
import { type RequestSettings, toBody } from './openai-request.ts';
import { ToolCallGatherer } from './tool-call-gatherer.ts';

export interface OpenAiOptions extends RequestSettings {
  /** Sent as a bearer token and kept out of every message. */
  readonly apiKey: string;
  /**
   * Where the API is, with its version: the address before `/chat/completions`. Left out, it is
   * `OPENAI_BASE_URL` or else OpenAI's own.
   */
  readonly baseUrl?: string;
  /** In tokens; told to clients, not enforced. */
  readonly contextWindow?: number;
  /** Failures repeat the upstream's words, up to 500 characters, instead of a general sentence. */
  readonly debugErrors?: boolean;
  /** For `Retry-After` dates and for the wait that gives a connection back. */
  readonly clock?: Clock;
  /** Ids for tool calls that come without one of their own. */
  readonly mintToolCallId?: () => string;
}

/**
 * A model behind OpenAI's chat completions, at OpenAI or at any upstream that speaks the same.
 *
 * The SDK builds the requests and sorts the errors; the bytes of the answer do not pass through
 * it. Throws {@link SupervisorError} `invalid_config` for an option that cannot work.
 */
export function createOpenAiProvider(options: OpenAiOptions): ModelProvider {
  checkOptions(options);
  return new OpenAiProvider(options);
}

interface RequestHead {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

class OpenAiProvider implements ModelProvider {
  readonly provider = 'openai';
  readonly model: string;
  declare readonly contextWindow?: number;
  readonly #options: OpenAiOptions;
  readonly #clock: Clock;
  readonly #client: OpenAI;
  readonly #failures: FailureMapper;
  readonly #sockets: Sockets = createSockets();
  #head: RequestHead | undefined;

  constructor(options: OpenAiOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.model = options.model;
    if (options.contextWindow !== undefined) this.contextWindow = options.contextWindow;
    this.#client = createClient(options);
    this.#failures = new FailureMapper({
      provider: this.provider,
      model: this.model,
      secrets: secretsOf(options),
      debugErrors: options.debugErrors ?? false,
      now: () => this.#clock.now(),
    });
  }

  async stream(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<void> {
    this.#head ??= await this.#buildHead();
    const { url, headers } = this.#head;
    const body = JSON.stringify(toBody(this.#options, request));
    const decoder = new ChatDecoder(sink, this.#gatherer(request));
    const context = { decoder, failures: this.#failures, full: () => sink.full() };
    await exchange({
      url,
      headers,
      body,
      signal,
      sockets: this.#sockets,
      clock: this.#clock,
      open: (head) => readerFor(head, context),
      unreachable: (cause) => this.#failures.unreachable(cause),
    });
  }

  /** What the SDK says of a request before its body; it is the same for all of one client. */
  async #buildHead(): Promise<RequestHead> {
    const { req, url } = await this.#client.buildRequest({
      method: 'post',
      path: '/chat/completions',
      headers: { 'content-type': 'application/json' },
    });
    return { url, headers: Object.fromEntries(req.headers) };
  }

  #gatherer({ messages }: ModelRequest): ToolCallGatherer {
    const ids = messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : [],
    );
    return new ToolCallGatherer(ids, this.#options.mintToolCallId ?? mintToolCallId);
  }
}

const mintToolCallId = (): string => `call_${randomUUID().replaceAll('-', '')}`;

/** With an address of its own an upstream is not OpenAI, whose account is no business of it. */
function createClient({ apiKey, baseUrl }: OpenAiOptions): OpenAI {
  const elsewhere =
    baseUrl === undefined ? {} : { baseURL: baseUrl, organization: null, project: null };
  return new OpenAI({ apiKey, ...elsewhere, maxRetries: 0, logLevel: 'off' });
}

function secretsOf({ apiKey, baseUrl }: OpenAiOptions): readonly string[] {
  if (baseUrl === undefined) return [apiKey];
  const { username, password } = new URL(baseUrl);
  const inUrl = [username, password].flatMap((part) => [part, unquote(part)]);
  return [apiKey, ...inUrl].filter((secret) => secret !== '');
}

/** As it was before it was written into a URL. */
const unquote = (part: string): string => new URLSearchParams(`_=${part}`).get('_') ?? part;

/** The values themselves are not repeated: each may hold a secret. */
function checkOptions({ apiKey, model, baseUrl }: OpenAiOptions): void {
  // Any other character cannot stand in a header, and the error of the header would show it.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    refuse('api_key', 'must be printable ASCII without spaces; check for a stray line break');
  }
  if (model.trim() === '') refuse('model', 'must not be empty; name a model of the provider');
  if (baseUrl === undefined) return;
  const protocol = URL.canParse(baseUrl) ? new URL(baseUrl).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:') {
    refuse('base_url', 'must be an absolute http or https URL, such as http://127.0.0.1:11434/v1');
  }
}

function refuse(key: string, remedy: string): never {
  throw new SupervisorError('invalid_config', `The model's ${key} ${remedy}.`);
}
