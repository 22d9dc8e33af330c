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
import { type Clock, steadyNow } from '../clock.ts';
import type { StartRun } from '../handle.ts';
import type { RunJournal } from '../journal/run-journal.ts';
import type { Log } from '../log.ts';
import { createRedactor, credentialsOf, type Redact } from '../redact-secrets.ts';
import { sessionKey } from '../session-key.ts';
import { TransitionLog } from '../transitions/transition-log.ts';
import { Conversation } from './conversation.ts';
import type { Execution } from './execution.ts';
import type { Resumption } from './resumption.ts';
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
  /** Keeps the secrets of the configuration out of what leaves the run. */
  readonly redact?: Redact;
  /** The parked run that this one goes on with. */
  readonly resumption?: Resumption;
  /** Other runs were at work in its session when it came: it does not speak for the session. */
  readonly isAside?: boolean;
}

/**
 * What the ports of one run share: its journal, its one abort signal, its conversation and what it
 * holds. It decides nothing; its chart does.
 */
export class RunScope {
  readonly runId: string;
  /** As its tenant knows it. */
  readonly sessionId: string;
  /** Where it is stored. */
  readonly sessionKey: string;
  readonly agent: Agent;
  readonly command: StartRun;
  readonly resumption: Resumption | undefined;
  readonly isAside: boolean;
  /** Replaced only when the session had to be opened anew to store the end. */
  journal: RunJournal;
  readonly clock: Clock;
  readonly log: Log;
  readonly desk: ApprovalDesk;
  /** The transitions that its charts took. */
  readonly transitions: TransitionLog;
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
  /** Its conversation has yet to be put behind what the session's last run left. */
  continuesSession: boolean;
  /** Model turns that were answered, those before a resume included. */
  turns = 0;
  lease: ToolLease | undefined;
  /** By the clock's steady time. */
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
  /** Resolves when the run lets go of everything. */
  readonly over: Promise<void>;
  readonly #redactConfigured: Redact;
  #redact: Redact | undefined;
  readonly #over = Promise.withResolvers<void>();
  readonly #onLost = new Set<() => void>();
  #tools: ReadonlyMap<string, Tool> = new Map();
  #specs: readonly ToolSpec[] = [];

  constructor(options: RunScopeOptions) {
    this.runId = options.runId;
    this.sessionId = options.command.sessionId;
    this.sessionKey = sessionKey(options.command.tenant ?? '', this.sessionId);
    this.resumption = options.resumption;
    this.isAside = options.isAside ?? false;
    this.agent = options.agent;
    this.command = options.command;
    this.journal = options.journal;
    this.clock = options.clock;
    this.log = options.log;
    this.desk = options.desk;
    this.transitions = new TransitionLog(options.clock, () => this.journal.lastSeq);
    this.#redactConfigured = options.redact ?? ((text) => text);
    this.continuesSession = options.command.continuesSession ?? false;
    this.over = this.#over.promise;
    this.createdAt = options.clock.now();
    this.lastActivityAt = steadyNow(options.clock);
    this.conversation = new Conversation(options.agent.systemPrompt, options.command.messages);
  }

  /**
   * Keeps known secrets out of a text that is to be kept or shown: those of the configuration, and
   * what the caller's own headers carry.
   */
  get redact(): Redact {
    // Made when it is first needed: most runs have nothing to redact.
    this.#redact ??= redactBoth(this.#redactConfigured, this.command.requestHeaders);
    return this.#redact;
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
  addCall(asked: ToolCall): CallRecord {
    let id = asked.id;
    for (let n = 2; this.calls.has(id); n += 1) id = `${asked.id}_${n}`;
    const call = id === asked.id ? asked : { ...asked, id };
    const record: CallRecord = {
      call,
      requestedAt: this.clock.now(),
      client: this.isClientTool(call.name),
      result: undefined,
      ended: false,
    };
    this.calls.set(id, record);
    return record;
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
    this.#over.resolve();
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

/**
 * The live runs' scopes by run id, and by their session. An entry is removed by the run that made it
 * alone.
 */
export class RunScopes {
  readonly #scopes = new Map<string, RunScope>();
  readonly #sessions = new Map<string, Set<RunScope>>();
  readonly #tenants = new Map<string, number>();
  readonly #onReleased: (scope: RunScope) => void;

  /** `onReleased` hears of each run that has let go of everything. */
  constructor(onReleased: (scope: RunScope) => void) {
    this.#onReleased = onReleased;
  }

  add(scope: RunScope): void {
    this.#scopes.set(scope.runId, scope);
    const session = this.#sessions.get(scope.sessionKey) ?? new Set();
    this.#sessions.set(scope.sessionKey, session.add(scope));
    this.#count(scope, 1);
  }

  /** The live runs of a session, oldest first. */
  inSession(key: string): Iterable<RunScope> {
    return this.#sessions.get(key) ?? [];
  }

  /** How many runs of a tenant live. */
  ofTenant(tenant: string): number {
    return this.#tenants.get(tenant) ?? 0;
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
    if (this.#scopes.get(scope.runId) !== scope) return;
    this.#scopes.delete(scope.runId);
    this.#count(scope, -1);
    const session = this.#sessions.get(scope.sessionKey);
    if (session?.delete(scope) === true && session.size === 0) {
      this.#sessions.delete(scope.sessionKey);
    }
  }

  /** The run is over and holds nothing any more. */
  released(scope: RunScope): void {
    this.#onReleased(scope);
  }

  #count({ command: { tenant = '' } }: RunScope, change: 1 | -1): void {
    const live = this.ofTenant(tenant) + change;
    if (live > 0) this.#tenants.set(tenant, live);
    else this.#tenants.delete(tenant);
  }

  values(): IterableIterator<RunScope> {
    return this.#scopes.values();
  }
}

function redactBoth(configured: Redact, headers: StartRun['requestHeaders']): Redact {
  const credentials = credentialsOf(headers);
  if (credentials.length === 0) return configured;
  const own = createRedactor(credentials);
  return (text) => own(configured(text));
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
