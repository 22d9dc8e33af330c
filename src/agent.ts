/**
 * What a run needs of the outside: a model that answers and tools that act. Both are contracts,
 * so that the supervisor never learns which SDK, transport or library stands behind them.
 */

import type { Failure, Usage } from '../machines/vocabulary.ts';

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
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string };

/** A tool as the model is told of it. `parameters` is a JSON Schema. */
export interface ToolSpec {
  readonly name: string;
  readonly description?: string;
  readonly parameters: Record<string, unknown>;
}

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

export interface ToolProgress {
  readonly message: string;
  /** 0 to 100, whole. */
  readonly percent?: number;
  readonly progressToken?: number | string;
}

/** What a tool call may tell while it runs, and how it is told to stop. */
export interface ToolContext {
  readonly runId: string;
  readonly sessionId: string;
  readonly toolCallId: string;
  /** Its reason is the run's cause or the tool's own deadline. */
  readonly signal: AbortSignal;
  /** The request is out at whoever executes it. Called at most once. */
  started(info: { readonly progressToken?: number | string }): void;
  progress(progress: ToolProgress): void;
  /** The executor was told to stop (for MCP: `notifications/cancelled` was written, or not). */
  cancelSent?(sent: { readonly requestId: string; readonly confirmed: boolean }): void;
}

/** What the model reads as the tool's answer. A failure is a result too: the loop may go on. */
export interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
}

export interface Tool {
  readonly spec: ToolSpec;
  /**
   * Executes the call once. Resolves with the result, an error result included; rejects only when
   * it was aborted or could not be executed at all. Settles after the work has really ended.
   */
  execute(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult>;
}

/** How one MCP server stands at the start of a run. */
export interface ServerStatus {
  readonly serverName: string;
  readonly transport: 'stdio' | 'http_streamable' | 'sse';
  readonly status: 'connected' | 'failed' | 'not_attempted';
  readonly toolsCount: number;
  readonly reason?: string;
}

/** The tools of one run, held until they are released. */
export interface ToolLease {
  readonly tools: readonly Tool[];
  readonly servers: readonly ServerStatus[];
  /**
   * Gives the connections back. `evict` closes them instead, because the run ended while a request
   * may still be under way on them. Settles when that is done; never rejects.
   */
  release(how: { readonly evict: boolean }): Promise<void>;
}

/** Where a run's tools come from. */
export interface ToolSource {
  /**
   * Connects what the agent needs. A server that does not answer in its time is `failed` in
   * `servers` and the rest go on. Rejects only when the signal aborts, having let go of everything.
   */
  acquire(request: ToolLeaseRequest): Promise<ToolLease>;
}

export interface ToolLeaseRequest {
  readonly runId: string;
  /** Headers of the caller's request, lower-case names, for `headers_from_request`. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}
