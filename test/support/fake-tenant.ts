import type { ApprovalFilter, ApprovalWatcher, DecisionCommand } from '../../src/approval-item.ts';
import type {
  AgentSummary,
  ApprovalListQuery,
  DetachBecause,
  PageQuery,
  ResumeOptions,
  RunListQuery,
  StartRun,
  SupervisorHandle,
} from '../../src/handle.ts';
import type { JournalReader } from '../../src/journal/reader.ts';
import { sessionKey } from '../../src/session-key.ts';
import type { FakeHandle } from './fake-handle.ts';
import type { FakeRun } from './fake-run.ts';

/** The fake as one tenant may see it: the runs of another are not known. */
export class FakeTenantHandle implements SupervisorHandle {
  readonly journal: JournalReader;
  readonly stopped: SupervisorHandle['stopped'];
  /** Another choice of agents than the whole supervisor has. */
  ownAgents: readonly AgentSummary[] | undefined;
  /** How often the tools of an agent were asked for here. */
  toolsAsked = 0;
  readonly #all: FakeHandle;
  readonly #tenant: string;

  constructor(all: FakeHandle, tenant: string) {
    this.#all = all;
    this.#tenant = tenant;
    this.stopped = all.stopped;
    const key = (sessionId: string): string => sessionKey(tenant, sessionId);
    this.journal = {
      follow: (options, sink) =>
        all.journal.follow({ ...options, sessionId: key(options.sessionId) }, sink),
      head: (sessionId) => all.journal.head(key(sessionId)),
      read: (sessionId, from, limit) => all.journal.read(key(sessionId), from, limit),
    };
  }

  get accepting() {
    return this.#all.accepting;
  }

  get phase() {
    return this.#all.phase;
  }

  get agents() {
    return this.ownAgents ?? this.#all.agents;
  }

  start(command: StartRun) {
    return this.#all.start({ ...command, tenant: this.#tenant });
  }

  async park(runId: string) {
    return this.#knows(runId) ? this.#all.park(runId) : undefined;
  }

  async resume(runId: string, options: ResumeOptions) {
    return this.#knows(runId) ? this.#all.resume(runId, options) : undefined;
  }

  async cancel(runId: string, options: { readonly message?: string }) {
    return this.#knows(runId) ? this.#all.cancel(runId, options) : undefined;
  }

  async decide(decisionId: string, decision: DecisionCommand) {
    const item = this.#all.approvals.find(({ decision_id }) => decision_id === decisionId);
    return item !== undefined && this.#knows(item.run_id)
      ? this.#all.decide(decisionId, decision)
      : 'unknown';
  }

  claim(runId: string, observerId: string) {
    return this.#knows(runId) && this.#all.claim(runId, observerId);
  }

  release(runId: string, observerId: string, because?: DetachBecause) {
    if (this.#knows(runId)) this.#all.release(runId, observerId, because);
  }

  onLost(runId: string, fn: () => void) {
    return this.#knows(runId) ? this.#all.onLost(runId, fn) : () => {};
  }

  observe(runId: string, change: 1 | -1) {
    if (this.#knows(runId)) this.#all.observe(runId, change);
  }

  async record(runId: string) {
    return this.#knows(runId) ? this.#all.record(runId) : undefined;
  }

  async listRuns(query: RunListQuery) {
    return this.#all.pageOfRuns(query, this.#sees);
  }

  async getSession(sessionId: string) {
    return this.#all.sessions(this.#sees).find(({ session_id }) => session_id === sessionId);
  }

  async listSessions(query: PageQuery) {
    return this.#all.pageOfSessions(query, this.#sees);
  }

  async listApprovals(query: ApprovalListQuery) {
    return this.#all.pageOfApprovals(query, ({ run_id }) => this.#knows(run_id));
  }

  watchApprovals(filter: ApprovalFilter, watcher: ApprovalWatcher) {
    return this.#all.watch(filter, watcher, ({ run_id }) => this.#knows(run_id));
  }

  async explain(runId: string) {
    return this.#knows(runId) ? this.#all.explain(runId) : undefined;
  }

  async chart(runId: string, atSeq?: number) {
    return this.#knows(runId) ? this.#all.chart(runId, atSeq) : undefined;
  }

  forTenant(): SupervisorHandle {
    return this;
  }

  tools(...given: Parameters<SupervisorHandle['tools']>) {
    this.toolsAsked += 1;
    return this.#all.tools(...given);
  }

  health() {
    return this.#all.health();
  }

  trackRequest() {
    return this.#all.trackRequest();
  }

  shutdown() {
    this.#all.shutdown();
  }

  readonly #sees = (run: FakeRun): boolean => (run.command.tenant ?? '') === this.#tenant;

  #knows(runId: string): boolean {
    const run = this.#all.runs.get(runId);
    return run !== undefined && this.#sees(run);
  }
}
