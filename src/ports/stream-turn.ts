import { fromCallback } from 'xstate';
import type { AttemptRef, TurnEvent } from '../../machines/turn.machine.ts';
import type { Failure, ObligationRef, Usage } from '../../machines/vocabulary.ts';
import { steadyNow } from '../clock.ts';
import { ModelError } from '../model.ts';
import type { Ids } from '../ids.ts';
import { callRequest } from './call-request.ts';
import { keepCheckpoint, keepUsage } from './checkpoint-run.ts';
import type { RunScope } from './run-scope.ts';
import type { RunScopes } from './run-scopes.ts';
import { RunStoppedError } from './run-stopped.ts';
import { TurnSink } from './turn-sink.ts';

export interface StreamTurnDeps {
  readonly scopes: RunScopes;
  readonly ids: Ids;
  /** From 0 to 1: spreads the attempts of many runs. */
  readonly random: () => number;
}

/** One attempt of one turn: asks the model, passes on what it sends, tells the chart how it ended. */
export function streamTurnPort(deps: StreamTurnDeps) {
  return fromCallback<{ type: 'never' }, AttemptRef>(({ input, sendBack }) => {
    const scope = deps.scopes.require(input.runId);
    const abandoned = new AbortController();
    const attempt = new Attempt(scope, deps, abandoned.signal, sendBack);
    // As the run's chart names it.
    const work: ObligationRef = { what: 'model', id: `turn-${input.turn}` };
    scope.work = work;
    scope.modelDone = attempt.run().finally(() => {
      if (scope.work === work) scope.work = undefined;
    });
    return () => {
      if (!attempt.ended) abandoned.abort(new Error('the attempt was abandoned'));
    };
  });
}

class Attempt {
  /** The model has answered or failed: there is no request left to abort. */
  ended = false;
  readonly #scope: RunScope;
  readonly #deps: StreamTurnDeps;
  readonly #abandoned: AbortSignal;
  readonly #tell: (event: TurnEvent) => void;
  readonly #sink: TurnSink;

  constructor(
    scope: RunScope,
    deps: StreamTurnDeps,
    abandoned: AbortSignal,
    tell: (event: TurnEvent) => void,
  ) {
    this.#scope = scope;
    this.#deps = deps;
    this.#abandoned = abandoned;
    this.#tell = tell;
    this.#sink = new TurnSink(scope, abandoned, () => tell({ type: 'turn.firstChunk' }));
  }

  /** Settles when the request is closed; never rejects. */
  async run(): Promise<void> {
    const { agent, conversation, toolSpecs, stop } = this.#scope;
    const signal = AbortSignal.any([stop.signal, this.#abandoned]);
    this.#scope.lastActivityAt = steadyNow(this.#scope.clock);
    try {
      this.#closeTurnBefore();
      signal.throwIfAborted();
      await agent.model.stream(
        { messages: conversation.messages, tools: toolSpecs },
        this.#sink,
        signal,
      );
      // An SDK stream that is aborted may end as if it were complete.
      signal.throwIfAborted();
      this.#answered();
    } catch (error) {
      this.#failed(error, signal);
    }
  }

  #end(event: TurnEvent): void {
    this.ended = true;
    this.#tell(event);
  }

  /** The results of the turn before go into the conversation, in the order of its calls. */
  #closeTurnBefore(): void {
    const { lastTurn, conversation, calls } = this.#scope;
    if (lastTurn === undefined) return;
    conversation.addResults(lastTurn.calls, (id) => calls.get(id)?.result?.text ?? '');
    this.#scope.lastTurn = { ...lastTurn, calls: [] };
    if (lastTurn.calls.length > 0) keepCheckpoint(this.#scope);
  }

  #answered(): void {
    const { conversation } = this.#scope;
    const { calls, answer, reported, finished: finish } = this.#sink;
    conversation.addAnswer(answer, calls);
    this.#scope.lastTurn = { usage: reported ?? NO_USAGE, calls, finish };
    this.#scope.turns += 1;
    this.#reportUsage(reported);
    if (calls.length > 0) keepCheckpoint(this.#scope);
    const mint = () => this.#deps.ids.decision();
    this.#end({
      type: 'turn.answered',
      calls: calls.map((call) => callRequest(this.#scope, call, mint)),
    });
  }

  #failed(error: unknown, signal: AbortSignal): void {
    this.#reportUsage(this.#sink.reported);
    this.#scope.conversation.addInterrupted(this.#sink.answer);
    if (signal.aborted) return; // The chart has left; it knows why.
    const failure = toFailure(error, this.#scope);
    this.#tellFailed(error, failure);
    this.#end({
      type: 'turn.failed',
      failure,
      begun: this.#sink.begun,
      jitter: this.#deps.random(),
    });
  }

  /** The caller reads a general sentence; here is what stands behind it, free of secrets. */
  #tellFailed(error: unknown, { code, message, status, retryable }: Failure): void {
    if (!(error instanceof ModelError)) return;
    const { log, runId, agent } = this.#scope;
    const cause = error.cause instanceof Error ? error.cause.message : undefined;
    log.warn(
      {
        run_id: runId,
        model: `${agent.model.provider}/${agent.model.model}`,
        code,
        ...(status !== undefined && { status }),
        retryable,
        reason: this.#scope.redact(message),
        ...(cause !== undefined && { upstream: this.#scope.redact(cause) }),
      },
      'A model call failed',
    );
  }

  #reportUsage(usage: Usage | undefined): void {
    if (usage === undefined) return;
    this.#scope.addUsage(usage);
    keepUsage(this.#scope);
    const toolIds = this.#scope.unreported;
    if (toolIds.length === 0) return;
    this.#scope.unreported = [];
    this.#scope.journal.append('agent', {
      type: 'tool_usage',
      tool_ids: toolIds,
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      total_tokens: usage.totalTokens,
    });
  }
}

const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

function toFailure(error: unknown, scope: RunScope): Failure {
  if (error instanceof ModelError) return error.failure;
  if (error instanceof RunStoppedError) {
    return { code: 'internal_error', message: error.message, retryable: false };
  }
  scope.log.error({ run_id: scope.runId, err: error }, 'The model provider threw');
  return { code: 'internal_error', message: 'The model provider crashed.', retryable: false };
}
