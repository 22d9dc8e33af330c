import type {
  ApprovalOutcome,
  ApprovalRequest,
  Failure,
  ObligationRef,
  StopCause,
  Usage,
} from '../../machines/vocabulary.ts';
import type { FinishReason, ToolCall } from '../model.ts';
import type { Tool, ToolLease, ToolResult, ToolSpec } from '../tool.ts';
import type { Agent } from '../agent.ts';
import type { ApprovalDesk } from '../hitl/approval-desk.ts';
import type { Clock } from '../clock.ts';
import type { StartRun } from '../handle.ts';
import type { RunJournal } from '../journal/run-journal.ts';
import type { Log } from '../log.ts';
import { Conversation } from './conversation.ts';
import type { Execution } from './execution.ts';
import type { Stopwatch } from './stopwatch.ts';

/** Why the run's one signal was aborted; adapters and tools find it as the signal's reason. */
export class RunStoppedError extends Error {
  override readonly name = 'RunStoppedError';
  override readonly cause: StopCause;

  constructor(cause: StopCause) {
    super(describeCause(cause));
    this.cause = cause;
  }
}

/** One call the model asked for, with what only the ports need to know of it. */
export interface CallRecord {
  readonly call: ToolCall;
  readonly requestedAt: number;
  /** The caller executes it, so its end is not ours to tell. */
  readonly client: boolean;
  result: ToolResult | undefined;
  /** Told as ended: its `tool_complete` is written. */
  ended: boolean;
}

export interface ApprovalRecord {
  readonly request: ApprovalRequest;
  readonly requestedAt: number;
  outcome: ApprovalOutcome | undefined;
}

export interface RunScopeOptions {
  readonly runId: string;
  readonly agent: Agent;
  readonly command: StartRun;
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly log: Log;
  readonly desk: ApprovalDesk;
}

/**
 * What the ports of one run share: its journal, its one abort signal, its conversation and what it
 * holds. It decides nothing; its chart does.
 */
export class RunScope {
  readonly runId: string;
  readonly sessionId: string;
  readonly agent: Agent;
  readonly command: StartRun;
  /** Replaced only when the session had to be opened anew to store the end. */
  journal: RunJournal;
  readonly clock: Clock;
  readonly log: Log;
  readonly desk: ApprovalDesk;
  /** The one controller of the run (INV-01): everything downstream sees its signal. */
  readonly stop = new AbortController();
  readonly conversation: Conversation;
  readonly createdAt: number;
  readonly calls = new Map<string, CallRecord>();
  readonly executions = new Map<string, Execution>();
  readonly approvals = new Map<string, ApprovalRecord>();
  readonly stopwatches = new Set<Stopwatch>();
  /** Open obligations by `what:id`, with the time they were asked at. */
  readonly obligations = new Map<string, { state: string; askedAt: number }>();
  readonly claims = new Map<string, { id: string; presence: boolean }>();
  /** Entries that led to the end, in order. Replaced when some were lost and told again. */
  evidence: number[] = [];
  /** Tool calls that ended since the last usage report. */
  unreported: string[] = [];
  usage: Usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  lastTurn:
    | { usage: Usage; calls: readonly ToolCall[]; finish: FinishReason | undefined }
    | undefined;
  lease: ToolLease | undefined;
  lastActivityAt: number;
  observers = 0;
  firstSeq = 0;
  startedAt: number | null = null;
  /** Settle when the run's own work (setup, model request) has really ended. Never reject. */
  setupDone: Promise<void> = Promise.resolve();
  modelDone: Promise<void> = Promise.resolve();
  /** Its own work that is under way, as an obligation of a stop. */
  work: ObligationRef | undefined;
  settled = false;
  /** What it held is given back; it must not take anything any more. */
  released = false;
  readonly #onLost = new Set<() => void>();
  #tools: ReadonlyMap<string, Tool> = new Map();
  #specs: readonly ToolSpec[] = [];

  constructor(options: RunScopeOptions) {
    this.runId = options.runId;
    this.sessionId = options.command.sessionId;
    this.agent = options.agent;
    this.command = options.command;
    this.journal = options.journal;
    this.clock = options.clock;
    this.log = options.log;
    this.desk = options.desk;
    this.createdAt = options.clock.now();
    this.lastActivityAt = this.createdAt;
    this.conversation = new Conversation(options.agent.systemPrompt, options.command.messages);
  }

  /** The run's tools are known: what the model is told of, and what a call finds. */
  holdTools(lease: ToolLease): void {
    this.lease = lease;
    this.#tools = new Map(lease.tools.map((tool) => [tool.spec.name, tool]));
    const own = lease.tools.map((tool) => tool.spec);
    this.#specs = [...own, ...this.#clientTools().filter((tool) => !this.#tools.has(tool.name))];
  }

  get toolSpecs(): readonly ToolSpec[] {
    return this.#specs;
  }

  tool(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  isClientTool(name: string): boolean {
    return !this.#tools.has(name) && this.#clientTools().some((tool) => tool.name === name);
  }

  /** Keeps a call under an id of its own: some providers use the same one in every turn. */
  addCall(asked: ToolCall): ToolCall {
    let id = asked.id;
    for (let n = 2; this.calls.has(id); n += 1) id = `${asked.id}_${n}`;
    const call = id === asked.id ? asked : { ...asked, id };
    this.calls.set(id, {
      call,
      requestedAt: this.clock.now(),
      client: this.isClientTool(call.name),
      result: undefined,
      ended: false,
    });
    return call;
  }

  /** Aborts everything downstream with the run's first cause. A second call changes nothing. */
  abort(cause: StopCause): void {
    if (!this.stop.signal.aborted) this.stop.abort(new RunStoppedError(cause));
  }

  /** `fn` hears if the run lets go without an end in the store. Gives how to stop listening. */
  onLost(fn: () => void): () => void {
    this.#onLost.add(fn);
    return () => void this.#onLost.delete(fn);
  }

  /** From now on the run takes nothing; who waits for an end that is not stored is told. */
  letGo(): void {
    this.released = true;
    if (this.settled) return;
    for (const fn of this.#onLost) fn();
    this.#onLost.clear();
  }

  addUsage(usage: Usage): void {
    this.usage = {
      promptTokens: this.usage.promptTokens + usage.promptTokens,
      completionTokens: this.usage.completionTokens + usage.completionTokens,
      totalTokens: this.usage.totalTokens + usage.totalTokens,
    };
  }

  #clientTools(): readonly ToolSpec[] {
    const { agent, command } = this;
    if (!agent.summary.allowsClientTools) return [];
    return (command.clientTools ?? []).filter((tool) => agent.allowsClientTool(tool.name));
  }
}

/** The live runs' scopes by run id. An entry is removed by the run that made it alone. */
export class RunScopes {
  readonly #scopes = new Map<string, RunScope>();
  readonly #onUnsettled: (runId: string) => void;

  /** `onUnsettled` hears of each run that let go of everything and has no end in the store. */
  constructor(onUnsettled: (runId: string) => void) {
    this.#onUnsettled = onUnsettled;
  }

  add(scope: RunScope): void {
    this.#scopes.set(scope.runId, scope);
  }

  get(runId: string): RunScope | undefined {
    return this.#scopes.get(runId);
  }

  /** For ports: a chart never outlives its scope. */
  require(runId: string): RunScope {
    const scope = this.#scopes.get(runId);
    if (scope === undefined) throw new Error(`invariant: run ${runId} has a scope while it lives`);
    return scope;
  }

  remove(scope: RunScope): void {
    if (this.#scopes.get(scope.runId) === scope) this.#scopes.delete(scope.runId);
  }

  /** The run is over and holds nothing any more. */
  released({ runId, settled }: RunScope): void {
    if (!settled) this.#onUnsettled(runId);
  }

  values(): IterableIterator<RunScope> {
    return this.#scopes.values();
  }
}

/** A sentence for tools and logs; it carries no message of a person's. */
export function describeCause(cause: StopCause): string {
  switch (cause.kind) {
    case 'unclaimed':
      return 'client disconnected';
    case 'external':
      return 'cancelled by request';
    case 'shutdown':
      return 'server shutdown';
    case 'deadline':
      return `timeout (${cause.which})`;
    case 'client_tool':
      return 'the caller answers a tool call';
    case 'superseded':
      return 'superseded by a newer run';
    case 'lease_lost':
      return 'the right to write the session was lost';
    case 'error':
      return failureText(cause.failure);
  }
}

const failureText = (failure: Failure): string => `failed: ${failure.code}`;
