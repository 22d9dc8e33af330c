import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { ToolContext, ToolResult } from '../tool.ts';
import { type Clock, steadyNow, TIMER_MS_MAX, type TimerHandle } from '../clock.ts';
import { cancelReasonOf } from './cancel-reason.ts';
import { NotExecutedError } from './failures.ts';
import type { McpLimits } from './limits.ts';
import type { Questions } from './questions.ts';
import { callRedactorOf, type Redact } from './redact.ts';
import { boundText, renderResult } from './results.ts';
import type { CallEnd, CallWatch, ProgressNote, TappedTransport } from './tap.ts';
import { deferred, unlessAborted, within } from './wait.ts';

export interface CallRequest {
  /** As the server calls it. */
  readonly toolName: string;
  readonly args: Record<string, unknown>;
  readonly context: ToolContext;
}

export interface CallDeps {
  readonly client: Client;
  readonly tap: TappedTransport;
  readonly clock: Clock;
  readonly limits: McpLimits;
  readonly questions: Questions;
  /** The call's own headers, as they can be sent. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A sentence for what went wrong, free of the connection's secrets and of what `redact` knows. */
  describe(error: unknown, redact: Redact): string;
}

/** Clients of this wire recognise a failure to execute by these words. */
const FAILED_PREFIX = 'Tool execution failed: ';

export const failedResult = (reason: string): ToolResult => ({
  text: FAILED_PREFIX + reason,
  isError: true,
});

/**
 * One tool call over one connection.
 *
 * CA1. No timer of the SDK cuts it: the caller's signal is the only deadline.
 * CA2. After the signal aborted nothing of the call is told on: no result, no progress.
 * CA3. An aborted call rejects with the signal's reason, and not before its server has answered, has
 *      lost the connection, or has read the cancellation and stayed silent for `cancelQuietMs`.
 * CA4. A call that certainly was not executed rejects with {@link NotExecutedError}: it may be made
 *      again. Every other failure is a result.
 * CA5. No listener of it is left on the caller's signal or on the connection.
 * CA6. Its own headers go with its request alone, and their values into no error, progress or question.
 * CA7. What it has asked a person ends with it, and as soon as the signal aborts.
 */
export async function performCall(request: CallRequest, deps: CallDeps): Promise<ToolResult> {
  const { signal } = request.context;
  signal.throwIfAborted();
  const call = new ToolCall(request, deps);
  const answer = call.send();
  try {
    return renderResult(await unlessAborted(answer, signal), deps.limits, call.redact);
  } catch (error) {
    if (!signal.aborted) return call.fail(error);
    await call.cancel();
    throw signal.reason;
  } finally {
    call.forget();
  }
}

class ToolCall {
  readonly redact: Redact;
  readonly #request: CallRequest;
  readonly #deps: CallDeps;
  /** The SDK never removes its listener from the signal it gets, so it gets one of our own. */
  readonly #abandon = new AbortController();
  readonly #over = deferred<CallEnd>();
  readonly #broken = deferred<never>();
  #id: RequestId | undefined;
  #end: CallEnd | undefined;
  #written: Promise<void> | undefined;
  #lastSignOfLife = 0;

  constructor(request: CallRequest, deps: CallDeps) {
    this.#request = request;
    this.#deps = deps;
    this.redact = callRedactorOf(deps.headers);
  }

  /** Sends the request and says so. Rejects with what the connection or the server said. */
  send(): Promise<CallToolResult> {
    const { client, tap } = this.#deps;
    const { toolName, args, context } = this.#request;
    let answer: Promise<CallToolResult> | undefined;
    tap.expect(this.#watch(), () => {
      answer = client.request(
        { method: 'tools/call', params: { name: toolName, arguments: args } },
        CallToolResultSchema,
        {
          signal: this.#abandon.signal,
          timeout: TIMER_MS_MAX,
          // Progress is read off the wire; this makes the SDK start its timer anew at a refresh.
          resetTimeoutOnProgress: true,
          onprogress: () => {},
        },
      );
    });
    answer?.catch(() => {});
    if (this.#id !== undefined) context.started({ progressToken: this.#id });
    return Promise.race([answer ?? this.#broken.promise, this.#broken.promise]);
  }

  /** The result of a call that failed. Throws {@link NotExecutedError} for one that may be repeated. */
  fail(error: unknown): ToolResult {
    const reason = this.#deps.describe(error, this.redact);
    const wasRefused = this.#id === undefined || this.#end === 'refused';
    if (wasRefused) throw new NotExecutedError(reason, { cause: error });
    return failedResult(reason);
  }

  /** Tells the server to stop and waits until there is reason to believe that it has. */
  async cancel(): Promise<void> {
    const { clock, limits } = this.#deps;
    const { context } = this.#request;
    if (this.#id === undefined) return;
    this.#lastSignOfLife = steadyNow(clock);
    this.#abandon.abort(cancelReasonOf(context.signal.reason));
    this.#deps.questions.askers.stop(this.#id);
    const written = this.#written?.then(
      () => true,
      () => false,
    );
    const confirmed = await within(written ?? Promise.resolve(false), {
      clock,
      ms: limits.cancelWriteMs,
      fallback: false,
    });
    context.cancelSent?.({ requestId: String(this.#id), confirmed });
    await this.#stopped(confirmed);
  }

  /**
   * Drops what is kept of a call that never got its answer. The SDK sends a cancellation whenever its
   * signal aborts, also for a request it has answered, so an answered call is left alone.
   */
  forget(): void {
    const isUnanswered = this.#end !== 'answered' && this.#end !== 'closed';
    if (this.#end !== undefined && isUnanswered) this.#abandon.abort('over');
    if (this.#end !== undefined || this.#id === undefined) return;
    this.#deps.tap.forget(this.#id);
    this.#deps.questions.askers.end(this.#id, { mayGoOn: true });
  }

  /** Waits for the end, or for silence after the server has read the cancellation. */
  async #stopped(confirmed: boolean): Promise<void> {
    if (!confirmed) return void (await this.#over.promise);
    const stop = new AbortController();
    const silent = this.#ping(stop.signal).then(() => this.#silence(stop.signal));
    await Promise.race([this.#over.promise, silent]);
    stop.abort('over');
  }

  /** Resolves when the server has read everything that was sent before. */
  async #ping(stop: AbortSignal): Promise<void> {
    const abandon = new AbortController();
    const drop = () => abandon.abort('over');
    stop.addEventListener('abort', drop, { once: true });
    try {
      await this.#deps.client.ping({ signal: abandon.signal, timeout: TIMER_MS_MAX });
    } catch {
      // A refusal shows just as well that the server has read what came before.
    } finally {
      stop.removeEventListener('abort', drop);
    }
  }

  /** Resolves after `cancelQuietMs` without a sign of life; never once `stop` aborted. */
  #silence(stop: AbortSignal): Promise<void> {
    const { clock, limits } = this.#deps;
    let timer: TimerHandle | undefined;
    stop.addEventListener('abort', () => clock.clearTimeout(timer), { once: true });
    this.#lastSignOfLife = steadyNow(clock);
    return new Promise((resolve) => {
      const look = () => {
        const left = this.#lastSignOfLife + limits.cancelQuietMs - steadyNow(clock);
        if (left <= 0) resolve();
        else if (!stop.aborted) timer = clock.setTimeout(look, left);
      };
      look();
    });
  }

  #watch(): CallWatch {
    return {
      headers: this.#deps.headers,
      sent: (id) => this.#begin(id),
      progress: (note) => this.#progress(note),
      cancelling: (written) => {
        this.#written = written;
      },
      over: (how, error) => {
        this.#end = how;
        this.#endQuestions(how);
        if (how === 'broken') this.#broken.reject(error ?? new AnswerLostError());
        this.#over.resolve(how);
      },
    };
  }

  #begin(id: RequestId): void {
    const { context } = this.#request;
    this.#id = id;
    this.#deps.questions.askers.begin(id, {
      ...(context.elicit === undefined ? {} : { elicit: context.elicit.bind(context) }),
      redact: this.redact,
      heard: () => this.#heard(),
    });
  }

  #endQuestions(how: CallEnd): void {
    if (this.#id === undefined) return;
    const mayGoOn = how === 'unsent' || how === 'broken';
    this.#deps.questions.askers.end(this.#id, { mayGoOn });
  }

  #heard(): void {
    this.#lastSignOfLife = steadyNow(this.#deps.clock);
  }

  #progress(note: ProgressNote): void {
    const { context } = this.#request;
    const { limits } = this.#deps;
    this.#heard();
    if (context.signal.aborted || this.#id === undefined) return;
    const { message, ...percent } = describeProgress(note);
    const bounded = boundText(this.redact(message), limits.progressTextBytesMax);
    context.progress({ message: bounded, ...percent, progressToken: this.#id });
  }
}

/** The server closed the stream of a call before its answer came. */
export class AnswerLostError extends Error {
  override readonly name = 'AnswerLostError';

  constructor() {
    super('the server closed the stream before the answer came');
  }
}

/** Message and whole percent of a notification; without a total there is no percent. */
export function describeProgress({ progress, total, message }: ProgressNote): {
  readonly message: string;
  readonly percent?: number;
} {
  const said = message ?? `Progress: ${progress}${total === undefined ? '' : `/${total}`}`;
  if (total === undefined) return { message: said };
  const percent = total === 0 ? 100 : Math.floor((progress / total) * 100);
  return {
    message: said,
    percent: Math.min(100, Math.max(0, Number.isNaN(percent) ? 0 : percent)),
  };
}
