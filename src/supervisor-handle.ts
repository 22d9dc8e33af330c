import type { Failure } from '../machines/vocabulary.ts';
import type { ShutdownOutput } from '../machines/shutdown.machine.ts';
import type { Agent } from './agent.ts';
import type { Clock } from './clock.ts';
import { type CommandContext, type CommandDeps, liveRun, NO_TENANT } from './commands/context.ts';
import { decide } from './commands/decide.ts';
import { chart, explain } from './commands/explain.ts';
import { listApprovals } from './commands/inbox.ts';
import { getSession, listRuns, listSessions } from './commands/lists.ts';
import { hasTag, recordOf } from './commands/records.ts';
import { resumeRun } from './commands/resume.ts';
import { startRun } from './commands/start.ts';
import { watchApprovals } from './commands/watch-approvals.ts';
import { cancelRun, parkRun, quarantineRun } from './commands/stop.ts';
import { AgentNotFoundError } from './errors.ts';
import type {
  ApprovalFilter,
  ApprovalItem,
  ApprovalWatcher,
  DecisionAnswer,
  DecisionCommand,
} from './approval-item.ts';
import type {
  AgentSummary,
  AgentTools,
  ApprovalListQuery,
  DetachBecause,
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
} from './handle.ts';
import type { JournalReader } from './journal/reader.ts';
import type { RunScope } from './ports/run-scope.ts';
import { sessionKey, tenantOfKey } from './session-key.ts';
import type { StoredRun } from './stores/store.ts';
import { reasonOf, type WatchedStore } from './stores/watched-store.ts';

interface CancelOptions {
  readonly message?: string;
}

export interface HandleDeps
  extends Omit<CommandDeps, 'agents' | 'starts' | 'resuming' | 'resumes'> {
  readonly agents: readonly Agent[];
  readonly defaultAgent?: string;
  readonly store: WatchedStore;
  /** Gives back what the process holds beside its runs: timers, connections, the store. */
  readonly letGo: () => Promise<void>;
}

/** What all views of one supervisor share. */
interface Shared {
  readonly deps: HandleDeps;
  readonly commands: CommandDeps;
  readonly stopped: Promise<ShutdownOutcome>;
}

/**
 * The supervisor as HTTP, the console and library users know it: commands in, records out. Each view
 * is one tenant's; the first one is that of a server without tenants.
 */
export class Supervisor implements SupervisorHandle {
  readonly journal: JournalReader;
  readonly agents: readonly AgentSummary[];
  readonly defaultAgent?: string;
  readonly stopped: Promise<ShutdownOutcome>;
  readonly #shared: Shared;
  readonly #context: CommandContext;

  private constructor(shared: Shared, tenant: TenantLimits) {
    const { deps, commands, stopped } = shared;
    this.#shared = shared;
    this.#context = { ...commands, tenant };
    this.journal = tenantJournal(deps.journal, tenant.tenant);
    this.agents = deps.agents.map((agent) => agent.summary);
    if (deps.defaultAgent !== undefined) this.defaultAgent = deps.defaultAgent;
    this.stopped = stopped;
  }

  static create(deps: HandleDeps): Supervisor {
    const agents = new Map(deps.agents.map((agent) => [agent.summary.id, agent]));
    const commands = {
      ...deps,
      agents,
      starts: new Map(),
      resuming: new Set<string>(),
      resumes: new Map(),
    };
    const stopped = deps.system.stopped.then((output) => toOutcome(output));
    return new Supervisor({ deps, commands, stopped }, NO_TENANT);
  }

  get accepting(): boolean {
    return this.#context.system.accepting;
  }

  get phase(): ShutdownPhase {
    return this.#context.system.phase;
  }

  forTenant(tenant: TenantLimits): Supervisor {
    return new Supervisor(this.#shared, tenant);
  }

  start(command: StartRun): Promise<StartedRun> {
    return startRun(this.#context, command);
  }

  cancel(runId: string, { message }: CancelOptions): Promise<RunRecord | undefined> {
    return cancelRun(this.#context, runId, message);
  }

  park(runId: string): Promise<RunRecord | undefined> {
    return parkRun(this.#context, runId);
  }

  resume(runId: string, options: ResumeOptions = {}): Promise<ResumedRun | undefined> {
    return resumeRun(this.#context, runId, { ...options, onBusy: 'reject' });
  }

  decide(decisionId: string, decision: DecisionCommand): Promise<DecisionAnswer> {
    return decide(this.#context, decisionId, decision);
  }

  claim(runId: string, observerId: string): boolean {
    const run = this.#mine(runId) && this.#context.system.run(runId);
    if (run === undefined || !hasTag(run, 'claimable')) return false;
    const observer = { id: observerId, presence: false };
    this.#context.system.tellRun(runId, { type: 'claim.attach', observer });
    return true;
  }

  release(runId: string, observerId: string, because: DetachBecause = 'released'): void {
    if (this.#mine(runId) === undefined) return;
    this.#context.system.tellRun(runId, { type: 'claim.detach', observerId, because });
  }

  onLost(runId: string, fn: () => void): () => void {
    return this.#mine(runId)?.onLost(fn) ?? (() => {});
  }

  observe(runId: string, change: 1 | -1): void {
    const scope = this.#mine(runId);
    if (scope !== undefined) scope.observers += change;
  }

  record(runId: string): Promise<RunRecord | undefined> {
    return recordOf(this.#context, runId);
  }

  listRuns(query: RunListQuery): Promise<Page<RunRecord>> {
    return listRuns(this.#context, query);
  }

  getSession(sessionId: string): Promise<SessionRecord | undefined> {
    return getSession(this.#context, sessionId);
  }

  listSessions(query: PageQuery): Promise<Page<SessionRecord>> {
    return listSessions(this.#context, query);
  }

  listApprovals(query: ApprovalListQuery): Promise<Page<ApprovalItem>> {
    return listApprovals(this.#context, query);
  }

  watchApprovals(filter: ApprovalFilter, watcher: ApprovalWatcher): Promise<() => void> {
    return watchApprovals(this.#context, filter, watcher);
  }

  explain(runId: string): Promise<Explanation | undefined> {
    return explain(this.#context, runId);
  }

  chart(runId: string, atSeq?: number): Promise<RunChart | undefined> {
    return chart(this.#context, runId, atSeq);
  }

  tools(
    agent: string,
    requestHeaders: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AgentTools> {
    const found = this.#context.agents.get(agent);
    if (found === undefined) return Promise.reject(new AgentNotFoundError(agent));
    return found.listTools(requestHeaders, signal);
  }

  async health(): Promise<Health> {
    const { store, clock } = this.#shared.deps;
    const ping = await pingStore(store, clock);
    return { status: ping.ok ? 'healthy' : 'degraded', store: { backend: store.backend, ping } };
  }

  trackRequest(): () => void {
    const { system } = this.#context;
    system.send({ type: 'request.begin' });
    let open = true;
    return () => {
      if (open) system.send({ type: 'request.end' });
      open = false;
    };
  }

  shutdown(signal: 'SIGINT' | 'SIGTERM'): void {
    this.#context.system.send({ type: 'shutdown.signal', signal });
  }

  /** For one that was made and never served, so that no shutdown lets go of what it holds. */
  dispose(): Promise<void> {
    return this.#shared.deps.letGo();
  }

  /** Resumes a parked run of any tenant, as recovery does; `over` when the new run has let go. */
  async resumeOfTenant(runId: string, tenant: string): Promise<{ readonly over: Promise<void> }> {
    const context = { ...this.#context, tenant: { ...NO_TENANT, tenant } };
    const resumed = await resumeRun(context, runId, { onBusy: 'enqueue' });
    const scope = resumed && context.system.scopes.get(resumed.runId);
    return { over: scope?.over ?? Promise.resolve() };
  }

  /** As {@link quarantineRun}, of whatever tenant. */
  async quarantine({ runId, sessionId }: StoredRun, failure: Failure): Promise<void> {
    const tenant = { ...NO_TENANT, tenant: tenantOfKey(sessionId) };
    await quarantineRun({ ...this.#context, tenant }, runId, failure);
  }

  #mine(runId: string): RunScope | undefined {
    return liveRun(this.#context, runId);
  }
}

/** A tenant's sessions under the ids that the tenant knows. */
function tenantJournal(journal: JournalReader, tenant: string): JournalReader {
  if (tenant === '') return journal;
  const key = (sessionId: string) => sessionKey(tenant, sessionId);
  return {
    follow: (options, sink) =>
      journal.follow({ ...options, sessionId: key(options.sessionId) }, sink),
    head: (sessionId) => journal.head(key(sessionId)),
    read: (sessionId, from, limit) => journal.read(key(sessionId), from, limit),
  };
}

/** A store that answers and takes nothing is not well. */
async function pingStore(store: WatchedStore, clock: Clock): Promise<Health['store']['ping']> {
  const askedAt = clock.now();
  try {
    await store.ping();
  } catch (error) {
    return { ok: false, error: reasonOf(error) };
  }
  const { refusal } = store;
  return refusal === undefined
    ? { ok: true, latency_ms: clock.now() - askedAt }
    : { ok: false, error: `the last write was refused: ${refusal}` };
}

const SIGNAL_EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

function toOutcome({ cleanShutdown, unabortedTasks, second }: ShutdownOutput): ShutdownOutcome {
  const own = cleanShutdown ? 0 : 1;
  return {
    cleanShutdown,
    unabortedTasks,
    exitCode: second === null ? own : SIGNAL_EXIT_CODES[second],
  };
}
