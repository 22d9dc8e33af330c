import type { FinishReason, ModelProvider, ModelRequest, ModelSink } from '../../src/model.ts';

/** One request to the model, answered by the test. */
export class ManualTurn {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly #sink: ModelSink;
  readonly #end = Promise.withResolvers<void>();
  /** The test has ended it. */
  over = false;
  #calls = 0;

  constructor(request: ModelRequest, sink: ModelSink, signal: AbortSignal, deaf: boolean) {
    this.request = request;
    this.signal = signal;
    this.#sink = sink;
    if (!deaf) signal.addEventListener('abort', () => this.#end.reject(signal.reason));
  }

  get ended(): Promise<void> {
    return this.#end.promise;
  }

  say(text: string): this {
    this.#sink.text(text);
    return this;
  }

  think(text: string): this {
    this.#sink.reasoning(text);
    return this;
  }

  call(name: string, args: unknown = {}, id = `call_${this.#nextId()}`): this {
    const argumentsText = typeof args === 'string' ? args : JSON.stringify(args);
    this.#sink.toolCall({ id, name, argumentsText });
    return this;
  }

  finish(reason: FinishReason = 'stop', tokens = 10): void {
    this.#sink.usage({ promptTokens: tokens, completionTokens: 2, totalTokens: tokens + 2 });
    this.#sink.finish(reason);
    this.over = true;
    this.#end.resolve();
  }

  fail(error: unknown): void {
    this.over = true;
    this.#end.reject(error);
  }

  /** A deaf request that closes at last. */
  close(): void {
    this.#end.reject(new Error('closed'));
  }

  #nextId(): string {
    this.#calls += 1;
    return `${this.request.messages.length}_${this.#calls}`;
  }
}

/** A model that answers when the test says so. */
export class ManualModel implements ModelProvider {
  readonly provider = 'manual';
  readonly model = 'test';
  readonly turns: ManualTurn[] = [];
  /** A deaf request ignores its signal until the test closes it. */
  deaf = false;

  async stream(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<void> {
    const turn = new ManualTurn(request, sink, signal, this.deaf);
    this.turns.push(turn);
    await turn.ended;
  }

  /** The newest request. */
  get turn(): ManualTurn {
    const turn = this.turns.at(-1);
    if (turn === undefined) throw new Error('the model has not been asked yet');
    return turn;
  }
}
