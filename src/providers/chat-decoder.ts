import type { Usage } from '../../machines/vocabulary.ts';
import type { FinishReason, ModelSink, ToolCall } from '../model.ts';
import { DeltaTemplate } from './delta-template.ts';
import { asRecord, asText, isRecord } from './json.ts';
import { UnreadableAnswerError } from './unreadable.ts';

/** The upstream reported an error inside the stream. */
export class ErrorFrameError extends Error {
  override readonly name = 'ErrorFrameError';
  /** As it came: an object with `message`, `type` and `code`, or a text, or anything else. */
  readonly payload: unknown;

  constructor(payload: unknown) {
    super('The upstream reported an error inside the stream.');
    this.payload = payload;
  }
}

/** Where the parts of tool calls go until the answer ends. */
export interface ToolCallParts {
  add(part: unknown): void;
  take(): readonly ToolCall[];
}

type Channel = 'text' | 'reasoning';

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
};

/**
 * Turns the events of a chat-completions stream into calls of a sink.
 *
 * D1. Tool calls are given whole, before the finish reason; usage is given once, when the answer
 *     is complete, because some upstreams send a running count with every chunk.
 * D2. The first finish reason counts. What comes after `[DONE]` is ignored.
 * D3. A plain delta read by the fast path and one read by `JSON.parse` give the same calls.
 */
export class ChatDecoder {
  /** Something reached the sink or belongs to a call that will, so a second try is no option. */
  hasContent = false;
  /** `[DONE]` was seen: nothing more is to come. */
  done = false;
  readonly #sink: ModelSink;
  readonly #parts: ToolCallParts;
  readonly #template = new DeltaTemplate();
  #templateChannel: Channel = 'text';
  #finished = false;
  #usage: Usage | undefined;

  constructor(sink: ModelSink, parts: ToolCallParts) {
    this.#sink = sink;
    this.#parts = parts;
  }

  /** The answer is whole: its end was announced. */
  get isComplete(): boolean {
    return this.#finished || this.done;
  }

  /** Takes one event. Throws {@link UnreadableAnswerError}, {@link ErrorFrameError}. */
  event(data: string, name: string): void {
    if (this.done) return;
    const plain = name === '' ? this.#template.match(data) : undefined;
    if (plain !== undefined) this.#give(this.#templateChannel, plain);
    else this.#unusual(data, name);
  }

  /** Gives what the end of the stream sets free. To be called once, however the stream ended. */
  end(): void {
    if (this.done && !this.#finished) this.#finish('stop');
    if (this.#usage !== undefined) this.#sink.usage(this.#usage);
  }

  /** Some upstreams keep the connection alive by events without data. */
  #unusual(data: string, name: string): void {
    const trimmed = data.trim();
    if (trimmed === '[DONE]') this.done = true;
    else if (trimmed !== '') this.#chunk(data, name);
  }

  #chunk(data: string, name: string): void {
    const chunk = parseChunk(data);
    if (chunk['error'] || name === 'error') throw new ErrorFrameError(chunk['error'] ?? chunk);
    this.#usage = usageOf(chunk['usage']) ?? this.#usage;
    const { choices } = chunk;
    if (!Array.isArray(choices)) return;
    for (const choice of choices) this.#choice(asRecord(choice), { data, chunk });
  }

  /** We ask for one choice; what an upstream sends beyond it is another answer. */
  #choice(choice: Readonly<Record<string, unknown>>, frame: Frame): void {
    if (typeof choice['index'] === 'number' && choice['index'] !== 0) return;
    const delta = asRecord(choice['delta']);
    const text = textOf(delta);
    const reasoning = reasoningOf(delta);
    const calls = Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : [];
    const reason = asText(choice['finish_reason']);
    this.#give('reasoning', reasoning);
    this.#give('text', text);
    if (calls.length > 0) this.#addCalls(calls);
    if (reason !== '') this.#finish(reason);
    else if (calls.length === 0) this.#learn(frame, { text, reasoning });
  }

  /** Only a frame that meant its text and nothing else may become a template. */
  #learn({ data, chunk }: Frame, { text, reasoning }: { text: string; reasoning: string }): void {
    if (isRecord(chunk['usage']) || (text === '') === (reasoning === '')) return;
    if (Array.isArray(chunk['choices']) && chunk['choices'].length !== 1) return;
    const channel = text === '' ? 'reasoning' : 'text';
    const read = channel === 'text' ? textOf : reasoningOf;
    const { obfuscation } = chunk;
    const isLearned = this.#template.learn(data, {
      textOf: (frame) => read(firstDelta(frame)),
      text: text || reasoning,
      ...(typeof obfuscation === 'string' && { obfuscation }),
    });
    if (isLearned) this.#templateChannel = channel;
  }

  #give(channel: Channel, delta: string): void {
    if (delta === '') return;
    this.hasContent = true;
    this.#sink[channel](delta);
  }

  #addCalls(parts: readonly unknown[]): void {
    this.hasContent = true;
    for (const part of parts) this.#parts.add(part);
    this.#sink.activity();
  }

  #finish(reason: string): void {
    if (this.#finished) return;
    if (reason === 'error') throw new ErrorFrameError({ message: 'finish_reason: error' });
    this.#finished = true;
    this.hasContent = true;
    const calls = this.#parts.take();
    for (const call of calls) this.#sink.toolCall(call);
    const mapped = REASONS[reason] ?? 'stop';
    this.#sink.finish(calls.length > 0 && mapped === 'stop' ? 'tool_calls' : mapped);
  }
}

interface Frame {
  readonly data: string;
  readonly chunk: Readonly<Record<string, unknown>>;
}

function parseChunk(data: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw new UnreadableAnswerError('An event of the stream is not JSON.', { cause });
  }
  if (isRecord(value)) return value;
  throw new UnreadableAnswerError('An event of the stream is not a JSON object.');
}

function firstDelta(frame: unknown): Readonly<Record<string, unknown>> {
  const { choices } = asRecord(frame);
  return asRecord(asRecord(Array.isArray(choices) ? choices[0] : undefined)['delta']);
}

/** A refusal is what the model has to say, so it is its text. */
function textOf(delta: Readonly<Record<string, unknown>>): string {
  const { content } = delta;
  const text = Array.isArray(content) ? content.map(partText).join('') : asText(content);
  return text + asText(delta['refusal']);
}

const partText = (part: unknown): string => asText(asRecord(part)['text']);

/** Upstreams that send both names send the same text under both. */
function reasoningOf(delta: Readonly<Record<string, unknown>>): string {
  return asText(delta['reasoning_content']) || asText(delta['reasoning']);
}

function usageOf(usage: unknown): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const promptTokens = countOf(usage['prompt_tokens']);
  const completionTokens = countOf(usage['completion_tokens']);
  const totalTokens = countOf(usage['total_tokens']) || promptTokens + completionTokens;
  return { promptTokens, completionTokens, totalTokens };
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
