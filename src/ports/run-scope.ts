import type {
  ApprovalOutcome,
  ApprovalRequest,
  ObligationRef,
  StopCause,
  Usage,
} from '../../machines/vocabulary.ts';
import type { FinishReason, ToolCall } from '../model.ts';
import type { Tool, ToolLease, ToolResult, ToolSpec } from '../tool.ts';
import type { Agent } from '../agent.ts';
import type { ApprovalDesk } from '../hitl/approval-desk.ts';
import type { Grants } from '../hitl/grants.ts';
import type { Withdrawals } from '../hitl/withdrawals.ts';
import { REQUEST_APPROVAL } from '../hitl/request-approval.ts';
import { approvalTool } from './approval-tool.ts';
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
import { RunStoppedError } from './run-stopped.ts';
import type { Stopwatch } from './stopwatch.ts';

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
  /** By the clock's steady time. */
  readonly expiresAt: number;
  outcome: ApprovalOutcome | undefined;
  /** The webhook that was asked has been told that nobody waits, or could not be told. */
  withdrawn?: true;
}

export interface RunScopeOptions {
  readonly runId: string;
  readonly agent: Agent;
  readonly command: StartRun;
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly log: Log;
  readonly desk: ApprovalDesk;
  readonly grants: Grants;
  readonly withdrawals: Withdrawals;
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
  readonly grants: Grants;
  readonly withdrawals: Withdrawals;
  /** The transitions that its charts took. */
  readonly transitions: TransitionLog;
  /** The one controller of the run (INV-01): everything downstream sees its signal. */
  readonly stop = new AbortController();
  readonly conversation: Conversation;
  readonly createdAt: number;
  readonly calls = new Map<string, CallRecord>();
  readonly executions = new Map<string, Execution>();
  readonly approvals = new Map<string, ApprovalRecord>();
  /** What waits for the answer to a question of an executor, until its chart has told of it. */
  readonly questions = new Map<string, (outcome: ApprovalOutcome) => void>();
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
  readonly #toolHeaders = new Map<string, Readonly<Record<string, string>>>();
  readonly #over = Promise.withResolvers<void>();
  readonly #onLost = new Set<() => void>();
  #tools: ReadonlyMap<string, Tool> = new Map();
  #specs: readonly ToolSpec[] = [];
  #asks = false;

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
    this.grants = options.grants;
    this.withdrawals = options.withdrawals;
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

  /** What a webhook gave along for the request of a call that it approved. */
  toolHeaders(toolCallId: string): Readonly<Record<string, string>> | undefined {
    return this.#toolHeaders.get(toolCallId);
  }

  /** They may be credentials, so no text may hold them from now on. */
  holdToolHeaders(toolCallId: string, headers: Readonly<Record<string, string>>): void {
    if (Object.keys(headers).length === 0) return;
    this.#toolHeaders.set(toolCallId, headers);
    const { redact } = this;
    const own = createRedactor(Object.values(headers));
    this.#redact = (text) => own(redact(text));
  }

  /** The run's tools are known: what the model is told of, and what a call finds. */
  holdTools(lease: ToolLease): void {
    this.lease = lease;
    const tools = [...lease.tools, ...this.#ownQuestion(lease)];
    this.#tools = new Map(tools.map((tool) => [tool.spec.name, tool]));
    const own = tools.map((tool) => tool.spec);
    this.#specs = [...own, ...this.#clientTools().filter((tool) => !this.#tools.has(tool.name))];
  }

  get toolSpecs(): readonly ToolSpec[] {
    return this.#specs;
  }

  tool(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** A call of the built-in `request_approval`, and of no tool that has taken its name. */
  isOwnQuestion(name: string): boolean {
    return this.#asks && name === REQUEST_APPROVAL;
  }

  /** The approval that lets the call run, or not: questions of its executor are others. */
  gateApproval(toolCallId: string): ApprovalRecord | undefined {
    for (const record of this.approvals.values()) {
      const { request } = record;
      if (request.toolCallId === toolCallId && request.origin.kind !== 'elicitation') return record;
    }
    return undefined;
  }

  /** The decision that approved the like of a call for the rest of the session. */
  grantedBy(toolName: string, heldBy: string): string | undefined {
    const { sessionKey, command, agent } = this;
    if (agent.approvals?.allowsGrants !== true) return undefined;
    const agentId = command.agent;
    return this.grants.find({ sessionKey, agent: agentId, toolName, matchedPattern: heldBy });
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

  /** A tool of that name of the caller's or of a server's takes its place. */
  #ownQuestion({ tools }: ToolLease): readonly Tool[] {
    const isTaken =
      tools.some(({ spec }) => spec.name === REQUEST_APPROVAL) ||
      this.#clientTools().some(({ name }) => name === REQUEST_APPROVAL);
    this.#asks = this.agent.approvals?.offersRequests === true && !isTaken;
    return this.#asks ? [approvalTool(this)] : [];
  }

  #clientTools(): readonly ToolSpec[] {
    const { agent, command } = this;
    if (!agent.summary.allowsClientTools) return [];
    return (command.clientTools ?? []).filter((tool) => agent.allowsClientTool(tool.name));
  }
}

function redactBoth(configured: Redact, headers: StartRun['requestHeaders']): Redact {
  const credentials = credentialsOf(headers);
  if (credentials.length === 0) return configured;
  const own = createRedactor(credentials);
  return (text) => own(configured(text));
}
