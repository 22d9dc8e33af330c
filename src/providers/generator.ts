import {
  type FinishReason,
  ModelError,
  type ModelProvider,
  type ModelRequest,
  type ModelSink,
  type ToolCall,
} from '../agent.ts';
import type { Usage } from '../../machines/vocabulary.ts';

/** What an agent written as an async generator yields. */
export type ModelEvent =
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'reasoning'; readonly delta: string }
  | { readonly type: 'tool_call'; readonly call: ToolCall }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason };

/**
 * An agent's turn: given the conversation so far, yields what it says and which tools it wants.
 * The tools it asks for are executed by the supervisor, gated and bounded, and it is asked again
 * with their results. A turn without a tool call is the answer.
 */
export type TurnGenerator = (
  request: ModelRequest,
  context: { readonly signal: AbortSignal },
) => AsyncIterable<ModelEvent>;

export interface GeneratorModelOptions {
  /** The first half of the `model` of every response; `custom` without it. */
  readonly provider?: string;
  readonly model: string;
  readonly contextWindow?: number;
  readonly turn: TurnGenerator;
}

/**
 * Makes a model of an async generator. When the run is stopped the generator's signal is aborted
 * and its `return` is called; what it still yields is dropped. An exception it throws fails the run
 * with `internal_error`; throw a {@link ModelError} to say more, `retryable` included.
 */
export function modelFromGenerator(options: GeneratorModelOptions): ModelProvider {
  return {
    provider: options.provider ?? 'custom',
    model: options.model,
    ...(options.contextWindow !== undefined && { contextWindow: options.contextWindow }),
    stream: (request, sink, signal) => drive(options.turn, { request, sink, signal }),
  };
}

interface Drive {
  readonly request: ModelRequest;
  readonly sink: ModelSink;
  readonly signal: AbortSignal;
}

async function drive(turn: TurnGenerator, { request, sink, signal }: Drive): Promise<void> {
  const iterator = turn(request, { signal })[Symbol.asyncIterator]();
  const aborted = abortedOnce(signal);
  try {
    for (;;) {
      // A generator that ignores its signal must not hold the run: the wait ends, not the work.
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next === 'aborted') throw signal.reason;
      if (next.done === true) break;
      deliver(next.value, sink);
      await sink.full();
    }
    sink.finish('stop');
  } finally {
    aborted.forget();
    if (signal.aborted) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

function deliver(event: ModelEvent, sink: ModelSink): void {
  switch (event.type) {
    case 'text':
      return sink.text(event.delta);
    case 'reasoning':
      return sink.reasoning(event.delta);
    case 'tool_call':
      return sink.toolCall(event.call);
    case 'usage':
      return sink.usage(event.usage);
    case 'finish':
      return sink.finish(event.reason);
    default:
      throw new ModelError({
        code: 'internal_error',
        message: `The agent yielded an unknown event "${String((event as { type: unknown }).type)}".`,
        retryable: false,
      });
  }
}

function abortedOnce(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<'aborted'>();
  const onAbort = () => resolve('aborted');
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return { promise, forget: () => signal.removeEventListener('abort', onAbort) };
}
