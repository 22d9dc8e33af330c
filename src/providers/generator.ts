import {
  type FinishReason,
  ModelError,
  type ModelProvider,
  type ModelRequest,
  type ModelSink,
  type ToolCall,
} from '../model.ts';
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
  let isOver = false;
  try {
    for (;;) {
      // A generator that ignores its signal must not hold the run: the wait ends, not the work.
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next === 'aborted') throw signal.reason;
      if (next.done === true) {
        isOver = true;
        break;
      }
      deliver(next.value, sink);
      await sink.full();
    }
    sink.finish('stop');
  } finally {
    aborted.forget();
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

/** The types say what an event is, but an agent in JavaScript may yield anything. */
function deliver(event: ModelEvent, sink: ModelSink): void {
  switch (event?.type) {
    case 'text':
      return sink.text(deltaOf(event));
    case 'reasoning':
      return sink.reasoning(deltaOf(event));
    case 'tool_call':
      return sink.toolCall(callOf(event));
    case 'usage':
      return sink.usage(usageOf(event));
    case 'finish':
      return sink.finish(reasonOf(event));
    default:
      throw unknownEvent(event);
  }
}

type Of<Type extends ModelEvent['type']> = Extract<ModelEvent, { readonly type: Type }>;

function deltaOf(event: Of<'text' | 'reasoning'>): string {
  if (typeof event.delta === 'string') return event.delta;
  throw wrongField(event, 'delta', 'a string');
}

function callOf(event: Of<'tool_call'>): ToolCall {
  for (const field of ['id', 'name', 'argumentsText'] as const) {
    if (typeof event.call?.[field] !== 'string')
      throw wrongField(event, `call.${field}`, 'a string');
  }
  return event.call;
}

function usageOf(event: Of<'usage'>): Usage {
  for (const field of ['promptTokens', 'completionTokens', 'totalTokens'] as const) {
    if (!Number.isFinite(event.usage?.[field])) {
      throw wrongField(event, `usage.${field}`, 'a number');
    }
  }
  return event.usage;
}

const REASONS: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter'];

function reasonOf(event: Of<'finish'>): FinishReason {
  if (REASONS.includes(event.reason)) return event.reason;
  throw wrongField(event, 'reason', `one of ${REASONS.map((reason) => `"${reason}"`).join(', ')}`);
}

function wrongField({ type }: ModelEvent, field: string, wanted: string): ModelError {
  return badEvent(`an event "${type}" whose "${field}" is not ${wanted}`);
}

function unknownEvent(event: unknown): ModelError {
  const isObject = typeof event === 'object' && event !== null;
  const what = isObject ? `an event of the unknown type "${typeOf(event)}"` : 'no event';
  const known = 'text, reasoning, tool_call, usage and finish';
  return badEvent(`${what}; yield objects whose "type" is one of ${known}`);
}

const typeOf = (event: object): string => String('type' in event ? event.type : undefined);

const badEvent = (what: string): ModelError =>
  new ModelError({
    code: 'internal_error',
    message: `The agent yielded ${what}.`,
    retryable: false,
  });

function abortedOnce(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<'aborted'>();
  const onAbort = () => resolve('aborted');
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return { promise, forget: () => signal.removeEventListener('abort', onAbort) };
}
