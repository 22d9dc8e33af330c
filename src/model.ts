/**
 * A model that answers, as a contract: the supervisor never learns which SDK or transport stands
 * behind it.
 */

import type { Failure, Usage } from '../machines/vocabulary.ts';
import type { ToolSpec } from './tool.ts';

export interface ToolCall {
  /** As the provider gave it. */
  readonly id: string;
  /** The name the model used, already sanitised. */
  readonly name: string;
  /** The arguments as the model wrote them; not necessarily valid JSON. */
  readonly argumentsText: string;
}

/** The conversation as a model sees it. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string;
      readonly toolCalls?: readonly ToolCall[];
      /** The turn was cut off before the model had ended it. Providers are not told. */
      readonly interrupted?: true;
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string };

export interface ModelRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolSpec[];
}

/**
 * Where a provider puts what it receives, in the order it came. Calls are synchronous and cheap:
 * one network read may hold hundreds of deltas.
 */
export interface ModelSink {
  text(delta: string): void;
  reasoning(delta: string): void;
  /** A whole call: the provider gathers the parts. */
  toolCall(call: ToolCall): void;
  usage(usage: Usage): void;
  finish(reason: FinishReason): void;
  /** Something came that cannot be told yet, such as a part of a call: the model is not silent. */
  activity(): void;
  /**
   * Resolves when there is room again; undefined while there is. A provider asks after each
   * network read and pauses its socket until then.
   */
  full(): Promise<void> | undefined;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/**
 * One exchange with a model.
 *
 * Resolves when the answer is complete. Rejects with {@link ModelError}; with the signal's reason
 * when it was aborted, after its socket is closed. It never retries: the turn chart does. An answer
 * cut short (no `finish_reason`, no `[DONE]`) rejects, it never looks complete.
 */
export interface ModelProvider {
  /** `openai`, `scripted`, … the first half of the `model` of every response. */
  readonly provider: string;
  readonly model: string;
  readonly contextWindow?: number;
  stream(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<void>;
}

/**
 * A provider's failure, mapped once by the adapter that owns the SDK. The message of its `cause` goes
 * to the log, so that one must be free of secrets as well.
 */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly failure: Failure;

  constructor(failure: Failure, options?: { cause?: unknown }) {
    super(failure.message, options);
    this.failure = failure;
  }
}
