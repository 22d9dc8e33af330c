import type { Failure, Usage } from '../../machines/vocabulary.ts';
import {
  type FinishReason,
  ModelError,
  type ModelProvider,
  type ModelRequest,
  type ModelSink,
  type ToolCall,
} from '../model.ts';
import type { Clock } from '../clock.ts';
import { SupervisorError } from '../errors.ts';

/** One thing a scripted model does, `afterMs` milliseconds after the one before. */
export type ScriptStep = { readonly afterMs?: number } & (
  | { readonly do: 'text'; readonly text: string }
  | { readonly do: 'reasoning'; readonly text: string }
  | { readonly do: 'toolCall'; readonly call: ToolCall }
  | { readonly do: 'usage'; readonly usage: Usage }
  | { readonly do: 'finish'; readonly reason: FinishReason }
  /** Says nothing more until it is aborted. */
  | { readonly do: 'stall' }
  | { readonly do: 'error'; readonly failure: Failure }
  /** Breaks off, as a turn does that ends without `finish`. */
  | { readonly do: 'cut' }
);

/** One exchange: what the model does from the request to the end of its answer. */
export type ScriptTurn = readonly ScriptStep[];

export interface ScriptedOptions {
  /**
   * The turns, one for each request in the order in which they come, or a function that makes the
   * turn for a request; `call` counts the requests from 0.
   */
  readonly script: readonly ScriptTurn[] | ((request: ModelRequest, call: number) => ScriptTurn);
  readonly clock: Clock;
  /** `scripted` without it. */
  readonly model?: string;
  readonly contextWindow?: number;
}

/**
 * A model without a network that does what a script says. It keeps the contract of a provider: it
 * waits while the sink is full, stops at once when it is aborted, and rejects an answer without an
 * end. A request beyond the script is refused with {@link SupervisorError} `script_exhausted`.
 */
export function createScriptedProvider(options: ScriptedOptions): ModelProvider {
  const { script, clock, model = 'scripted', contextWindow } = options;
  let calls = 0;
  const turnFor = (request: ModelRequest): ScriptTurn => {
    const call = calls++;
    return typeof script === 'function' ? script(request, call) : turnAt(script, call);
  };
  return {
    provider: 'scripted',
    model,
    ...(contextWindow !== undefined && { contextWindow }),
    async stream(request, sink, signal) {
      signal.throwIfAborted();
      await new Player({ sink, signal, clock }).play(turnFor(request));
    },
  };
}

function turnAt(script: readonly ScriptTurn[], call: number): ScriptTurn {
  const turn = script[call];
  if (turn !== undefined) return turn;
  const words = `The script has ${script.length} turns, but request ${call + 1} came; add a turn.`;
  throw new SupervisorError('script_exhausted', words);
}

interface Stage {
  readonly sink: ModelSink;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

class Player {
  readonly #stage: Stage;
  #hasContent = false;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async play(turn: ScriptTurn): Promise<void> {
    let isFinished = false;
    for (const step of turn) {
      this.#stage.signal.throwIfAborted();
      await this.#wait(step.afterMs ?? 0);
      if (step.do === 'cut') break;
      await this.#perform(step);
      isFinished ||= step.do === 'finish';
    }
    if (!isFinished) throw new ModelError(cutShort(this.#hasContent));
  }

  async #perform(step: ScriptStep): Promise<void> {
    if (step.do === 'stall') return this.#wait(Number.POSITIVE_INFINITY);
    if (step.do === 'error') throw new ModelError(step.failure);
    this.#give(step);
    const room = this.#stage.sink.full();
    if (room !== undefined) await this.#unlessAborted(room);
  }

  #give(step: ScriptStep): void {
    const { sink } = this.#stage;
    this.#hasContent ||= step.do !== 'usage';
    if (step.do === 'text') sink.text(step.text);
    else if (step.do === 'reasoning') sink.reasoning(step.text);
    else if (step.do === 'toolCall') sink.toolCall(step.call);
    else if (step.do === 'usage') sink.usage(step.usage);
    else if (step.do === 'finish') sink.finish(step.reason);
  }

  async #wait(ms: number): Promise<void> {
    if (ms <= 0) return;
    const { clock } = this.#stage;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = clock.setTimeout(resolve, ms);
    try {
      await this.#unlessAborted(promise);
    } finally {
      clock.clearTimeout(timer);
    }
  }

  async #unlessAborted(event: Promise<void>): Promise<void> {
    const { signal } = this.#stage;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([event, aborted]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }
}

function cutShort(hasContent: boolean): Failure {
  const message = 'The scripted model broke off: the answer was cut short.';
  return { code: 'provider_error', message, retryable: !hasContent };
}
