import {
  ErrorCode,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { ElicitationAnswer } from '../tool.ts';
import { type Clock, TIMER_MS_MAX, type TimerHandle } from '../clock.ts';
import { redactCredentials } from '../redact-secrets.ts';
import { Askers, type LiveAsker } from './askers.ts';
import type { McpLog } from './deps.ts';
import type { McpLimits } from './limits.ts';
import {
  type AskedQuestion,
  CANCELLED,
  namedRequestOf,
  type QuestionReply,
  readQuestion,
  refusal,
  replyOf,
} from './question-wire.ts';
import type { Redact } from './redact.ts';
import { boundText } from './results.ts';
import { unlessAborted } from './wait.ts';

export interface QuestionDeps {
  readonly server: string;
  readonly clock: Clock;
  readonly log: McpLog;
  readonly limits: McpLimits;
  readonly redact: Redact;
  send(message: JSONRPCMessage): Promise<void>;
  /** Winds up the timer that the SDK has for a call. */
  refresh(callId: RequestId): void;
}

/** Half of the SDK's longest timer: a call whose question is open is never near its end. */
const REFRESH_MS = Math.floor(TIMER_MS_MAX / 2);

/** What one connection may warn of; a server that asks without end would fill the log. */
const WARNINGS_MAX = 20;

const AMBIGUOUS =
  'MCP server asks a question and does not say for which of its calls; nobody is asked, and the ' +
  'server is told "cancel". Over stdio and SSE only one call at a time can ask; streamable HTTP ' +
  'tells them apart where the server asks on the stream of the call';

/**
 * The questions that the server of one connection asks while it executes tool calls. {@link Askers}
 * says which call a question belongs to.
 *
 * QU1. Every question gets one reply, but for one that the server took back. The reply to one that
 *      belongs to nobody, is over a bound or outlives its call is `cancel`.
 * QU2. No question stays open once its call was stopped or is over, or the server took it back.
 * QU3. While a question is open no timer of the SDK cuts its call.
 */
export class Questions {
  readonly askers: Askers;
  readonly #deps: QuestionDeps;
  readonly #open = new Map<RequestId, AbortController>();
  readonly #withdrawn = new WeakSet<AbortController>();
  #warnings = 0;

  constructor(deps: QuestionDeps) {
    this.askers = new Askers(deps.clock, deps.limits);
    this.#deps = deps;
  }

  /** How many questions wait for an answer. */
  get openCount(): number {
    return this.#open.size;
  }

  /** The server takes a question back. */
  withdraw(questionId: RequestId): void {
    const question = this.#open.get(questionId);
    if (question === undefined) return;
    this.#withdrawn.add(question);
    question.abort('the server took the question back');
  }

  /** A question arrived; `carrier` is the request whose stream brought it, where that is known. */
  receive(request: JSONRPCRequest, carrier: RequestId | undefined): void {
    this.#reply(request, carrier).catch(() => {
      const { log, server } = this.#deps;
      log.debug({ server }, 'The reply to a question of an MCP server could not be sent');
    });
  }

  async #reply(request: JSONRPCRequest, carrier: RequestId | undefined): Promise<void> {
    const reply = await this.#answer(request, carrier);
    if (reply === undefined) return;
    await this.#deps.send({ jsonrpc: '2.0', id: request.id, ...reply });
  }

  async #answer(
    request: JSONRPCRequest,
    carrier: RequestId | undefined,
  ): Promise<QuestionReply | undefined> {
    const call = this.askers.find({ named: namedRequestOf(request), carrier });
    if (typeof call !== 'string') call.asker.heard();
    const question = this.#open.has(request.id)
      ? refusal(ErrorCode.InvalidRequest, 'A question with this id is open')
      : readQuestion(request);
    if (!('schema' in question)) return this.#refuse(question);
    if (typeof call === 'string') return this.#askNobody(call);
    if (call.isStopped || !this.#isWithinBounds(call)) return CANCELLED;
    return this.#ask(request.id, question, call);
  }

  #refuse(reply: QuestionReply): QuestionReply {
    const words = 'error' in reply ? reply.error.message : '';
    const reason = redactCredentials(this.#deps.redact(words));
    this.#warn({ reason }, 'MCP server asks what cannot be asked; it is told so');
    return reply;
  }

  #askNobody(why: 'nobody' | 'ambiguous'): QuestionReply {
    const { log, server } = this.#deps;
    if (why === 'ambiguous') this.#warn(this.askers.counts, AMBIGUOUS);
    else log.debug({ server }, 'MCP server asks a question outside of a call; nobody is asked');
    return CANCELLED;
  }

  #isWithinBounds({ open, asked }: LiveAsker): boolean {
    const { questionsOpenMax, questionsMax } = this.#deps.limits;
    if (open.size < questionsOpenMax && asked < questionsMax) return true;
    const told = { open: open.size, questionsOpenMax, asked, questionsMax };
    this.#warn(told, 'MCP server asks too much in one tool call; nobody is asked');
    return false;
  }

  /** Resolves with nothing when the server took the question back. */
  async #ask(
    id: RequestId,
    question: AskedQuestion,
    call: LiveAsker,
  ): Promise<QuestionReply | undefined> {
    if (call.asker.elicit === undefined) return CANCELLED;
    const stop = new AbortController();
    call.asked += 1;
    call.open.add(stop);
    this.#open.set(id, stop);
    const kept = this.#keepAlive(call.id);
    // A question counts as open until whoever shows it has let go of it.
    const asking = this.#put(question, call, stop.signal).finally(() => call.open.delete(stop));
    try {
      return replyOf(await unlessAborted(asking, stop.signal));
    } catch {
      if (!stop.signal.aborted) this.#warn({}, 'A question of an MCP server could not be asked');
      return this.#withdrawn.has(stop) ? undefined : CANCELLED;
    } finally {
      kept.end();
      this.#open.delete(id);
    }
  }

  async #put(
    { message, schema }: AskedQuestion,
    { asker }: LiveAsker,
    signal: AbortSignal,
  ): Promise<ElicitationAnswer> {
    const { server, limits } = this.#deps;
    const bounded = boundText(asker.redact(message), limits.questionTextBytesMax);
    const answer = asker.elicit?.({ server, message: bounded, schema }, { signal });
    return (await answer) ?? { action: 'cancel' };
  }

  /** See QU3. */
  #keepAlive(callId: RequestId): { readonly end: () => void } {
    const { clock, refresh } = this.#deps;
    let timer: TimerHandle | undefined;
    const windUp = () => {
      refresh(callId);
      timer = clock.setTimeout(windUp, REFRESH_MS);
    };
    windUp();
    return {
      end: () => {
        clock.clearTimeout(timer);
        refresh(callId);
      },
    };
  }

  #warn(fields: object, message: string): void {
    this.#warnings += 1;
    if (this.#warnings > WARNINGS_MAX) return;
    this.#deps.log.warn({ server: this.#deps.server, ...fields }, message);
  }
}
