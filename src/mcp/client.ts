import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import {
  McpError,
  type RequestId,
  type Tool,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type {
  JsonSchemaValidator,
  jsonSchemaValidator,
} from '@modelcontextprotocol/sdk/validation';
import type { ToolResult } from '../tool.ts';
import { steadyNow, TIMER_MS_MAX } from '../clock.ts';
import { AnswerLostError, type CallRequest, performCall } from './call.ts';
import { listTools } from './catalogue.ts';
import type { McpDeps } from './deps.ts';
import {
  describeFailure,
  httpStatusOf,
  isClosedError,
  McpConnectionError,
  OversizedMessageError,
} from './failures.ts';
import { callHeaders } from './headers.ts';
import { type ConnectionTarget, createLink, type Link } from './link.ts';
import { Questions } from './questions.ts';
import type { Redact } from './redact.ts';
import { type SendFailure, TappedTransport } from './tap.ts';
import { deferred, unlessAborted, within } from './wait.ts';

/** A server that is connected. */
export interface McpClient {
  /**
   * The tools as the server names them; asked for again after it said that they changed. Rejects with
   * {@link McpConnectionError}.
   */
  tools(): Promise<readonly Tool[]>;
  /** How many tools the last list had. */
  readonly toolsCount: number;
  /** See {@link performCall}. */
  call(request: CallRequest): Promise<ToolResult>;
  /**
   * Makes sure that a connection that was silent for long still works; one that does not is lost, and
   * {@link onLost} says so. Never rejects.
   */
  probe(): Promise<void>;
  /** Hears once when the connection died by itself, at once if it has. Gives the unsubscribe. */
  onLost(listener: (reason: string) => void): () => void;
  /** Resolves when it was lost, ended or killed: when no call can be made any more. */
  readonly gone: Promise<void>;
  /** Ends it in order, within the bounds of its transport. Never rejects. */
  end(): Promise<void>;
  /** Ends it now. */
  kill(): void;
}

/** Nothing here validates by schema, and the SDK's own validator is dear to make. */
const NO_VALIDATION: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/** The transport's word for: the answer will not be resumed. No code of the SDK says it. */
const RESUMPTION_FAILED = 'Maximum reconnection attempts';

/**
 * Connects and lists the tools. Rejects with {@link McpConnectionError}, having begun to end what it
 * began; `ending` gets that end, which may take longer than the rejection.
 */
export async function connectClient(
  target: ConnectionTarget,
  deps: McpDeps,
  { signal, ending }: { signal: AbortSignal; ending: (ended: Promise<void>) => void },
): Promise<McpClient> {
  const live = new LiveClient(target, deps);
  try {
    await unlessAborted(live.connect(), signal);
    return live;
  } catch (error) {
    // Without a session there is nothing to end in order, and the server may not answer at all.
    if (signal.aborted && !live.hasSession) live.kill();
    ending(live.end());
    throw new McpConnectionError(live.describe(error), { cause: error });
  }
}

class LiveClient implements McpClient {
  readonly #target: ConnectionTarget;
  readonly #deps: McpDeps;
  readonly #link: Link;
  readonly #tap: TappedTransport;
  readonly #client: Client;
  readonly #questions: Questions;
  readonly #lostListeners = new Set<(reason: string) => void>();
  readonly #gone = deferred<void>();
  /** Rejects when the connection as a whole got a message over the bound. */
  readonly #flooded = deferred<never>();
  #flood: OversizedMessageError | undefined;
  #tools: Promise<readonly Tool[]> | undefined;
  #toolsCount = 0;
  #lostReason: string | undefined;
  #isEnding = false;
  #isSessionOver = false;
  #lastHeardMs: number;

  constructor(target: ConnectionTarget, deps: McpDeps) {
    this.#target = target;
    this.#deps = deps;
    this.#lastHeardMs = steadyNow(deps.clock);
    this.#link = createLink(target, deps, {
      ended: (id) => this.#tap.streamEnded(id),
      oversized: (error, id) => this.#onOversizedEvent(error, id),
    });
    this.#tap = new TappedTransport(this.#link.transport, () => this.#link.carrier());
    this.#questions = new Questions({
      ...deps,
      server: target.config.name,
      redact: target.redact,
      send: (message) => this.#tap.send(message),
      refresh: (id) => this.#tap.refresh(id),
    });
    this.#client = new Client(
      { name: 'runwarden', version: deps.version },
      { capabilities: { elicitation: { form: {} } }, jsonSchemaValidator: NO_VALIDATION },
    );
    this.#listen();
  }

  get toolsCount(): number {
    return this.#toolsCount;
  }

  /** Whether the server keeps a session for us that it should be told to end. */
  get hasSession(): boolean {
    return this.#link.transport.sessionId !== undefined;
  }

  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  async connect(): Promise<void> {
    const opened = this.#client.connect(this.#tap, { timeout: TIMER_MS_MAX });
    // The SDK waits for ever for an answer whose stream was cut.
    await Promise.race([opened.then(() => this.tools()), this.#flooded.promise]);
  }

  tools(): Promise<readonly Tool[]> {
    this.#tools ??= this.#list();
    return this.#tools;
  }

  call(request: CallRequest): Promise<ToolResult> {
    return performCall(request, {
      client: this.#client,
      tap: this.#tap,
      clock: this.#deps.clock,
      limits: this.#deps.limits,
      questions: this.#questions,
      headers: this.#headersOf(request),
      describe: (error, redact) => this.describe(error, redact),
    });
  }

  /** The headers of one call; over stdio there are none. */
  #headersOf({ context }: CallRequest): Readonly<Record<string, string>> | undefined {
    const { name: server, transport } = this.#target.config;
    if (context.headers === undefined || transport === 'stdio') return undefined;
    return callHeaders(context.headers, (header) =>
      this.#deps.log.warn({ server, header }, 'A header of an MCP call cannot be sent'),
    );
  }

  async probe(): Promise<void> {
    const { clock, limits } = this.#deps;
    if (steadyNow(clock) - this.#lastHeardMs < limits.probeAfterMs) return;
    // A server may read nothing but the answer to its question, and a person takes their time.
    if (this.#questions.openCount > 0) return;
    const abandon = new AbortController();
    const pong = this.#client.ping({ signal: abandon.signal, timeout: TIMER_MS_MAX }).then(
      () => undefined,
      (error: unknown) => (this.#isAnswer(error) ? undefined : this.describe(error)),
    );
    const late = `no answer within ${limits.probeMs / 1_000} s`;
    const trouble = await within(pong, { clock, ms: limits.probeMs, fallback: late });
    if (trouble === undefined) return;
    this.#lose(trouble);
    if (trouble === late) abandon.abort('no answer');
  }

  onLost(listener: (reason: string) => void): () => void {
    if (this.#lostReason !== undefined) listener(this.#lostReason);
    else this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#gone.resolve();
    if (this.#isSessionOver) await this.#hearRefusals();
    else await this.#link.end();
  }

  /** Calls that went out with the session learn for certain that they were not executed. */
  async #hearRefusals(): Promise<void> {
    const { clock, limits } = this.#deps;
    await within(this.#tap.whenIdle(), { clock, ms: limits.sessionEndMs, fallback: undefined });
    this.#link.kill();
  }

  kill(): void {
    this.#isEnding = true;
    this.#gone.resolve();
    this.#link.kill();
  }

  /** A sentence for the error, free of the connection's secrets and of what `redact` knows. */
  describe(error: unknown, redact: Redact = (text) => text): string {
    if (error instanceof AnswerLostError) return error.message;
    if (this.#flood !== undefined && !this.#isAnswer(error)) return this.#flood.reason;
    const charsMax = this.#deps.limits.reasonCharsMax;
    return describeFailure(error, {
      redact: (text) => redact(this.#target.redact(text)),
      charsMax,
      closed: this.#tap.closed,
    });
  }

  /** A server that answers with an error is there. */
  #isAnswer(error: unknown): boolean {
    return error instanceof McpError && !isClosedError(error, this.#tap.closed);
  }

  async #list(): Promise<readonly Tool[]> {
    try {
      const tools = await listTools(this.#client, this.#deps, this.#target.config.name);
      this.#toolsCount = tools.length;
      return tools;
    } catch (error) {
      this.#tools = undefined;
      throw new McpConnectionError(this.describe(error), { cause: error });
    }
  }

  #listen(): void {
    this.#client.onclose = () => this.#lose('the connection closed');
    this.#client.onerror = (error) => this.#onError(error);
    this.#tap.onactivity = () => {
      this.#lastHeardMs = steadyNow(this.#deps.clock);
    };
    this.#tap.onsendfailure = (failure) => this.#onSendFailure(failure);
    this.#tap.onquestion = (request, carrier) => this.#questions.receive(request, carrier);
    this.#tap.onwithdrawal = (id) => this.#questions.withdraw(id);
    this.#tap.onlateanswer = (id) => this.#questions.askers.answeredLate(id);
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      this.#tools = undefined;
    });
  }

  #onError(error: Error): void {
    if (error instanceof OversizedMessageError) {
      this.#onOversized(error, { isFatal: this.#target.config.transport === 'stdio' });
      return;
    }
    const told = { server: this.#target.config.name, reason: this.describe(error) };
    this.#deps.log.debug(told, 'MCP transport error');
    if (error.message.startsWith(RESUMPTION_FAILED)) this.#tap.resumptionFailed();
    // The event source reconnects by itself, but to a session that was never initialised.
    if (error instanceof SseError) this.#lose(told.reason);
  }

  /** A session that the server no longer knows is gone for good; other failures may pass. */
  #onSendFailure({ error, hadSession }: SendFailure): void {
    if (!hadSession || httpStatusOf(error) !== 404) return;
    this.#isSessionOver = true;
    this.#lose('the server ended the session');
  }

  /** An event that belongs to one call costs that call; any other would come again and again. */
  #onOversizedEvent(error: OversizedMessageError, id: RequestId | undefined): void {
    this.#onOversized(error, { isFatal: id === undefined });
    if (id !== undefined) this.#tap.streamFailed(id, error);
  }

  #onOversized(error: OversizedMessageError, { isFatal }: { isFatal: boolean }): void {
    if (this.#isEnding || this.#flood !== undefined) return;
    const { name } = this.#target.config;
    this.#deps.log.warn({ server: name, reason: error.reason }, 'MCP server sent too much');
    if (!isFatal) return;
    this.#flood = error;
    this.#flooded.reject(error);
    this.#lose(error.reason);
  }

  #lose(reason: string): void {
    if (this.#lostReason !== undefined || this.#isEnding) return;
    this.#lostReason = reason;
    this.#gone.resolve();
    for (const listener of [...this.#lostListeners]) listener(reason);
    this.#lostListeners.clear();
  }
}
