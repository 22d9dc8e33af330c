import type { DetachBecause, Liveness } from '../../machines/vocabulary.ts';
import {
  IdempotencyKeyReusedError,
  PolicyUnsupportedError,
  RunStateError,
  SessionBusyError,
  ShuttingDownError,
} from '../../src/errors.ts';
import type {
  ApprovalFilter,
  ApprovalItem,
  ApprovalWatcher,
  DecisionAnswer,
  DecisionCommand,
} from '../../src/approval-item.ts';
import type {
  AgentSummary,
  AgentTools,
  ApprovalListQuery,
  Explanation,
  Health,
  Page,
  PageQuery,
  ResumedRun,
  ResumeOptions,
  RunChart,
  RunListQuery,
  RunRecord,
  SessionRecord,
  ShutdownOutcome,
  ShutdownPhase,
  StartedRun,
  StartRun,
  SupervisorHandle,
  TenantLimits,
} from '../../src/handle.ts';
import { sessionKey } from '../../src/session-key.ts';
import { FakeJournal } from './fake-journal.ts';
import { matches, pageOf, sessionOf } from './fake-lists.ts';
import { FakeRun } from './fake-run.ts';
import { FakeTenantHandle } from './fake-tenant.ts';

export { FakeRun };

/** One agent without tools; a test replaces what it needs of it. */
export const AGENT: AgentSummary = {
  id: 'demo',
  provider: 'scripted',
  model: 'echo',
  createdAtMs: 1_700_000_000_000,
  hidden: false,
  allowsClientTools: false,
  asksPeople: false,
  mcpServers: [],
};

/**
 * A supervisor without charts. `onStart` scripts what a run does; by default it waits for the test
 * to write its journal. `cancels`, `parks` and `decisions` say what was asked, `tracked` how many
 * requests are under way.
 */
export class FakeHandle implements SupervisorHandle {
  readonly journal = new FakeJournal();
  readonly runs = new Map<string, FakeRun>();
  readonly cancels: { runId: string; message: string | undefined }[] = [];
  readonly parks: string[] = [];
  readonly resumes: { runId: string; options: ResumeOptions }[] = [];
  readonly decisions: { decisionId: string; decision: DecisionCommand }[] = [];
  /** Decision ids that wait for an answer. */
  readonly pending = new Set<string>();
  /** The inbox, newest first; those in `pending` are undecided. */
  approvals: readonly ApprovalItem[] = [];
  /** Who hears of approvals, and of which. */
  readonly watchers = new Map<ApprovalWatcher, (item: ApprovalItem) => boolean>();
  /** What `watchApprovals` does before it tells of the first one. */
  beforeWatch: () => Promise<void> = async () => {};
  /** Thrown by `decide`, when set. */
  decideError: Error | undefined;
  /** Views that were asked for. */
  readonly tenants: TenantLimits[] = [];
  agents: readonly AgentSummary[] = [AGENT];
  defaultAgent?: string;
  phase: ShutdownPhase = 'serving';
  tracked = 0;
  /** Thrown by `start`, when set. */
  startError: Error | undefined;
  /** What no agent can honour. */
  unsupported: Liveness['policy'] | undefined;
  /** `wait` leaves the run live and `stopping`, until the test ends it. */
  cancelMode: 'at once' | 'wait' = 'at once';
  healthAnswer: Health = {
    status: 'healthy',
    store: { backend: 'memory', ping: { ok: true, latency_ms: 0 } },
  };
  toolsAnswer: (agent: string, headers: Readonly<Record<string, string>>) => AgentTools =
    () => ({});
  onStart: (run: FakeRun) => void = () => {};
  onRelease: (runId: string, observerId: string, because: DetachBecause) => void = () => {};
  readonly stopped: Promise<ShutdownOutcome> = new Promise(() => {});
  readonly #decided = new Map<string, boolean>();
  readonly #starts = new Map<string, { digest: string; started: StartedRun }>();
  #runs = 0;

  get accepting(): boolean {
    return this.phase === 'serving';
  }

  async start(command: StartRun): Promise<StartedRun> {
    if (!this.accepting) throw new ShuttingDownError();
    if (this.startError !== undefined) throw this.startError;
    if (command.liveness.policy === this.unsupported) {
      throw new PolicyUnsupportedError(this.unsupported);
    }
    return this.#startedBefore(command) ?? this.#startNow(command);
  }

  #startNow(command: StartRun, continues?: string): StartedRun {
    const queued = this.#makeRoom(command);
    const runId = `01890000-0000-7000-8000-${String(++this.#runs).padStart(12, '0')}`;
    const more = continues === undefined ? {} : { continues };
    const run = new FakeRun(this.journal, { runId, command, queued, ...more });
    this.runs.set(runId, run);
    const { sessionId, liveness, idempotency } = command;
    const state = queued ? 'queued' : 'running';
    const started = { runId, sessionId, seq: run.record().first_seq, liveness, state } as const;
    if (idempotency !== undefined) {
      this.#starts.set(keyOf(command), { digest: idempotency.digest, started });
    }
    if (!queued) this.onStart(run);
    return started;
  }

  #startedBefore(command: StartRun): StartedRun | undefined {
    const { idempotency } = command;
    const before = idempotency && this.#starts.get(keyOf(command));
    if (before === undefined) return undefined;
    if (before.digest !== idempotency?.digest) throw new IdempotencyKeyReusedError();
    return { ...before.started, repeated: true };
  }

  /** Whether the run has to wait for the live ones of its session. */
  #makeRoom({ tenant = '', sessionId, onBusy }: StartRun): boolean {
    const key = sessionKey(tenant, sessionId);
    const busy = [...this.runs.values()].filter((run) => run.live && run.sessionKey === key);
    const [first] = busy;
    if (first === undefined || onBusy === 'parallel') return false;
    if (onBusy === 'reject') throw new SessionBusyError(sessionId, first.runId);
    if (onBusy === 'interrupt') for (const run of busy) run.cancelled('superseded');
    if (onBusy === 'enqueue') void this.#beginAfter(busy);
    return onBusy === 'enqueue';
  }

  async #beginAfter(busy: readonly FakeRun[]): Promise<void> {
    // The run that waits is the next one.
    const runId = `01890000-0000-7000-8000-${String(this.#runs + 1).padStart(12, '0')}`;
    await Promise.all(busy.map(({ settled }) => settled));
    const run = this.runs.get(runId);
    if (run === undefined || !run.live) return;
    run.begin();
    this.onStart(run);
  }

  async cancel(
    runId: string,
    options: { readonly message?: string },
  ): Promise<RunRecord | undefined> {
    const run = this.runs.get(runId);
    if (run === undefined || !run.live) return run?.record();
    this.cancels.push({ runId, message: options.message });
    run.state = 'stopping';
    run.emit({ type: 'stopping', cause: 'external', obligations: 0 });
    const record = run.record();
    if (this.cancelMode === 'at once') run.cancelled('external', options);
    return record;
  }

  /** The run goes on to its checkpoint: the test parks it. */
  async park(runId: string): Promise<RunRecord | undefined> {
    const run = this.runs.get(runId);
    if (run === undefined || run.state === 'parked') return run?.record();
    if (!run.live) throw new RunStateError('run_ended', `Run "${runId}" has ended.`);
    if (this.unsupported === 'park') throw new PolicyUnsupportedError('park');
    this.parks.push(runId);
    run.state = 'stopping';
    run.emit({ type: 'stopping', cause: 'external', obligations: 0 });
    return run.record();
  }

  async resume(runId: string, options: ResumeOptions): Promise<ResumedRun | undefined> {
    const run = this.runs.get(runId);
    if (run === undefined) return undefined;
    this.resumes.push({ runId, options });
    if (run.state !== 'parked') {
      throw new RunStateError('not_parked', `Run "${runId}" is not parked.`);
    }
    if (run.continuedBy !== undefined) {
      throw new RunStateError('already_resumed', `Run "${run.continuedBy}" goes on with it.`);
    }
    if (run.undecided.size > 0) {
      throw new RunStateError('approvals_undecided', `Run "${runId}" waits for a decision.`);
    }
    const { claim: _claim, idempotency: _key, ...command } = run.command;
    const started = this.#startNow(command, runId);
    run.continuedBy = started.runId;
    return { ...started, continues: runId };
  }

  async decide(decisionId: string, decision: DecisionCommand): Promise<DecisionAnswer> {
    if (this.decideError !== undefined) throw this.decideError;
    const earlier = this.#decided.get(decisionId);
    if (earlier !== undefined) return earlier === decision.approved ? 'repeated' : 'unknown';
    if (!this.pending.delete(decisionId)) return 'unknown';
    this.#decided.set(decisionId, decision.approved);
    this.decisions.push({ decisionId, decision });
    return 'recorded';
  }

  /** A run that ends or parks takes no claim. */
  claim(runId: string, observerId: string): boolean {
    const run = this.runs.get(runId);
    if (run === undefined || !run.live || run.state === 'stopping') return false;
    run.claims.add(observerId);
    return true;
  }

  release(runId: string, observerId: string, because: DetachBecause = 'released'): void {
    this.runs.get(runId)?.release(observerId, because);
    this.onRelease(runId, observerId, because);
  }

  onLost(runId: string, fn: () => void): () => void {
    const listeners = this.runs.get(runId)?.lossListeners;
    listeners?.add(fn);
    return () => void listeners?.delete(fn);
  }

  observe(runId: string, change: 1 | -1): void {
    const run = this.runs.get(runId);
    if (run !== undefined) run.observers += change;
  }

  async record(runId: string): Promise<RunRecord | undefined> {
    return this.runs.get(runId)?.record();
  }

  async listRuns(query: RunListQuery): Promise<Page<RunRecord>> {
    return this.pageOfRuns(query, () => true);
  }

  pageOfRuns(query: RunListQuery, sees: (run: FakeRun) => boolean): Page<RunRecord> {
    const { state, sessionId, agent } = query;
    const found = [...this.runs.values()]
      .filter(sees)
      .map((run) => run.record())
      .filter((record) => state === undefined || record.state === state)
      .filter((record) => sessionId === undefined || record.session_id === sessionId)
      .filter((record) => agent === undefined || record.agent === agent);
    return pageOf(found.reverse(), query, ({ run_id }) => run_id);
  }

  async getSession(sessionId: string): Promise<SessionRecord | undefined> {
    return this.sessions(() => true).find(({ session_id }) => session_id === sessionId);
  }

  async listSessions(query: PageQuery): Promise<Page<SessionRecord>> {
    return this.pageOfSessions(query, () => true);
  }

  pageOfSessions(query: PageQuery, sees: (run: FakeRun) => boolean): Page<SessionRecord> {
    return pageOf(this.sessions(sees), query, ({ last_run }) => last_run);
  }

  /** The session with the newest run first. */
  sessions(sees: (run: FakeRun) => boolean): SessionRecord[] {
    const groups = Map.groupBy([...this.runs.values()].filter(sees), (run) => run.sessionKey);
    return [...groups.values()]
      .map((runs) => sessionOf(runs, this.journal))
      .sort((a, b) => (a.last_run < b.last_run ? 1 : -1));
  }

  async listApprovals(query: ApprovalListQuery): Promise<Page<ApprovalItem>> {
    return this.pageOfApprovals(query, () => true);
  }

  pageOfApprovals(
    query: ApprovalListQuery,
    sees: (item: ApprovalItem) => boolean,
  ): Page<ApprovalItem> {
    const found = this.approvals.filter((item) => sees(item) && matches(item, query));
    return pageOf(found, query, ({ decision_id }) => decision_id);
  }

  async watchApprovals(filter: ApprovalFilter, watcher: ApprovalWatcher): Promise<() => void> {
    return this.watch(filter, watcher, () => true);
  }

  async watch(
    filter: ApprovalFilter,
    watcher: ApprovalWatcher,
    sees: (item: ApprovalItem) => boolean,
  ): Promise<() => void> {
    await this.beforeWatch();
    const { state, ...rest } = filter;
    // Who watches what is pending hears of what is not any more, as of the rest that changes.
    const watched = state === 'pending' ? rest : filter;
    this.watchers.set(watcher, (item) => sees(item) && matches(item, watched));
    for (const item of this.approvals) {
      if (sees(item) && matches(item, filter)) watcher.changed(item);
    }
    return () => void this.watchers.delete(watcher);
  }

  /** An approval is new, or is another now. */
  approvalChanged(item: ApprovalItem): void {
    const others = this.approvals.filter(({ decision_id }) => decision_id !== item.decision_id);
    this.approvals = [...others, item].sort((a, b) => (a.decision_id < b.decision_id ? 1 : -1));
    for (const [watcher, wants] of this.watchers) if (wants(item)) watcher.changed(item);
  }

  async explain(runId: string): Promise<Explanation | undefined> {
    const run = this.runs.get(runId);
    if (run === undefined) return undefined;
    const entries = this.journal.entries(run.sessionKey).filter((entry) => entry.runId === runId);
    const chain = entries.map(({ at, seq, type }) => {
      return { at, kind: 'entry', seq, text: `It was ${type}.`, detail: {} } as const;
    });
    const prose = chain.map(({ text }) => text);
    return { run_id: runId, state: run.state, prose, chain, blocked_by: [] };
  }

  async chart(runId: string, atSeq?: number): Promise<RunChart | undefined> {
    const run = this.runs.get(runId);
    if (run === undefined) return undefined;
    const states = { run: [atSeq === undefined ? run.state : 'running'] };
    return { run_id: runId, seq: atSeq ?? null, states, svg: `<svg><!-- ${run.state} --></svg>` };
  }

  forTenant(limits: TenantLimits): SupervisorHandle {
    this.tenants.push(limits);
    return new FakeTenantHandle(this, limits.tenant);
  }

  async tools(
    agent: string,
    requestHeaders: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AgentTools> {
    signal.throwIfAborted();
    return this.toolsAnswer(agent, requestHeaders);
  }

  async health(): Promise<Health> {
    return this.healthAnswer;
  }

  trackRequest(): () => void {
    this.tracked += 1;
    return () => {
      this.tracked -= 1;
    };
  }

  shutdown(): void {
    this.phase = 'gated';
  }
}

const keyOf = ({ tenant = '', idempotency }: StartRun): string =>
  sessionKey(tenant, idempotency?.key ?? '');

/** What a chat request would ask for; override what the test is about. */
export function startCommand(change: Partial<StartRun> = {}): StartRun {
  const liveness: Liveness = { policy: 'cancel', graceMs: 0 };
  return {
    agent: 'demo',
    sessionId: 'cs_1',
    messages: [{ role: 'user', content: 'hi' }],
    prompt: 'hi',
    streaming: true,
    liveness,
    onBusy: 'parallel',
    requestHeaders: {},
    ...change,
  };
}
