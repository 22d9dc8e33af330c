/**
 * Tools that act, as a contract: the supervisor never learns whether an MCP server, a function or
 * anything else stands behind one.
 */

/** A tool as the model is told of it. `parameters` is a JSON Schema. */
export interface ToolSpec {
  readonly name: string;
  readonly description?: string;
  readonly parameters: Record<string, unknown>;
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
  /** Headers for the request of this one call; a transport without headers passes them over. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Asks a person on behalf of whoever executes the call; the tool's own clock stands still meanwhile.
   * Rejects when the call is stopped, or when `signal` says that the executor no longer wants to know.
   * Absent where nobody can be asked.
   */
  elicit?(
    question: Elicitation,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ElicitationAnswer>;
  /** The executor was told to stop (for MCP: `notifications/cancelled` was written, or not). */
  cancelSent?(sent: { readonly requestId: string; readonly confirmed: boolean }): void;
}

/** A question of an MCP server, to be answered by a person with what its schema allows. */
export interface Elicitation {
  readonly server: string;
  readonly message: string;
  /** JSON Schema of the answer: an object of primitive properties. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** `decline`: the person refused. `cancel`: nobody answered. */
export type ElicitationAnswer =
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, unknown>> }
  | { readonly action: 'decline' | 'cancel' };

/** What the model reads as the tool's answer. A failure is a result too: the loop may go on. */
export interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
}

export interface Tool {
  readonly spec: ToolSpec;
  /** The name it would have if another tool had not taken it; rules hold it back by both. */
  readonly plainName?: string;
  /**
   * The JSON Schema that its executor holds arguments to, where the model is told of another. A null in
   * the place of an optional property is taken for an absent one.
   */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
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
