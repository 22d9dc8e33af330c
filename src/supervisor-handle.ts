import type { AnyActorRef } from 'xstate';
import type { ShutdownOutput } from '../machines/shutdown.machine.ts';
import type { Agent } from './agent.ts';
import type { Clock } from './clock.ts';
import {
  AgentNotFoundError,
  PolicyUnsupportedError,
  ShuttingDownError,
  TooManyRunsError,
} from './errors.ts';
import type {
  AgentSummary,
  AgentTools,
  Decision,
  DecisionAnswer,
  DetachBecause,
  Health,
  RunRecord,
  RunState,
  ShutdownOutcome,
  ShutdownPhase,
  StartedRun,
  StartRun,
  SupervisorHandle,
} from './handle.ts';
import type { Ids } from './ids.ts';
import { LeaseLostError } from './journal/errors.ts';
import type { Journal } from './journal/journal.ts';
import type { RunJournal } from './journal/run-journal.ts';
import type { Log } from './log.ts';
import { RunScope } from './ports/run-scope.ts';
import { liveRecord } from './facts/run-record.ts';
import { reasonOf, type WatchedStore } from './stores/watched-store.ts';
import type { SupervisorSystem } from './supervisor.ts';

export interface HandleDeps {
  readonly system: SupervisorSystem;
  readonly agents: readonly Agent[];
  readonly defaultAgent?: string;
  readonly journal: Journal;
  readonly store: WatchedStore;
  readonly runsMax: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** The supervisor as HTTP, the console and library users know it: commands in, records out. */
export class Supervisor implements SupervisorHandle {
  readonly journal: Journal;
  readonly agents: readonly AgentSummary[];
  readonly defaultAgent?: string;
  readonly stopped: Promise<ShutdownOutcome>;
  readonly #deps: HandleDeps;
  readonly #agents: ReadonlyMap<string, Agent>;

  constructor(deps: HandleDeps) {
    this.#deps = deps;
    this.journal = deps.journal;
    this.agents = deps.agents.map((agent) => agent.summary);
    this.#agents = new Map(deps.agents.map((agent) => [agent.summary.id, agent]));
    if (deps.defaultAgent !== undefined) this.defaultAgent = deps.defaultAgent;
    this.stopped = deps.system.stopped.then((output) => toOutcome(output));
  }

  get accepting(): boolean {
    return this.#deps.system.accepting;
  }

  get phase(): ShutdownPhase {
    return this.#deps.system.phase;
  }

  async start(command: StartRun): Promise<StartedRun> {
    const agent = this.#admissible(command);
    const runId = this.#deps.ids.run();
    const scope = await this.#openScope(runId, agent, command);
    this.#submit(scope);
    this.#recordStart(scope);
    await scope.journal.flushed();
    const { sessionId, firstSeq } = scope;
    return { runId, sessionId, seq: firstSeq, liveness: command.liveness };
  }

  async cancel(
    runId: string,
    { message }: { readonly message?: string },
  ): Promise<RunRecord | undefined> {
    const scope = this.#deps.system.scopes.get(runId);
    if (scope === undefined) return this.record(runId);
    await this.#recordStop(scope);
    this.#deps.system.tellRun(runId, {
      type: 'run.stop',
      cause: { kind: 'external', ...(message !== undefined && { message }) },
    });
    return this.record(runId);
  }

  decide(decisionId: string, decision: Decision): Promise<DecisionAnswer> {
    return this.#deps.system.desk.decide(decisionId, decision);
  }

  claim(runId: string, observerId: string): boolean {
    const run = this.#deps.system.run(runId);
    if (run === undefined || !run.getSnapshot().hasTag('claimable')) return false;
    const observer = { id: observerId, presence: false };
    this.#deps.system.tellRun(runId, { type: 'claim.attach', observer });
    return true;
  }

  release(runId: string, observerId: string, because: DetachBecause = 'released'): void {
    this.#deps.system.tellRun(runId, { type: 'claim.detach', observerId, because });
  }

  onLost(runId: string, fn: () => void): () => void {
    return this.#deps.system.scopes.get(runId)?.onLost(fn) ?? (() => {});
  }

  observe(runId: string, change: 1 | -1): void {
    const scope = this.#deps.system.scopes.get(runId);
    if (scope !== undefined) scope.observers += change;
  }

  async record(runId: string): Promise<RunRecord | undefined> {
    const live = this.#liveRecord(runId);
    const scope = this.#deps.system.scopes.get(runId);
    // Readers hear of the end before the run itself does, and what they ask next must not contradict.
    if (live !== undefined && scope?.journal.settled !== true) return live;
    const stored = await this.journal.getRecord(runId);
    if (stored?.settledSeq === undefined && live !== undefined) return live;
    return stored === undefined ? undefined : (JSON.parse(stored.record) as RunRecord);
  }

  tools(
    agent: string,
    requestHeaders: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AgentTools> {
    const found = this.#agents.get(agent);
    if (found === undefined) return Promise.reject(new AgentNotFoundError(agent));
    return found.listTools(requestHeaders, signal);
  }

  async health(): Promise<Health> {
    const ping = await pingStore(this.#deps.store, this.#deps.clock);
    return {
      status: ping.ok ? 'healthy' : 'degraded',
      store: { backend: this.#deps.store.backend, ping },
    };
  }

  trackRequest(): () => void {
    this.#deps.system.send({ type: 'request.begin' });
    let open = true;
    return () => {
      if (open) this.#deps.system.send({ type: 'request.end' });
      open = false;
    };
  }

  shutdown(signal: 'SIGINT' | 'SIGTERM'): void {
    this.#deps.system.send({ type: 'shutdown.signal', signal });
  }

  #liveRecord(runId: string): RunRecord | undefined {
    const scope = this.#deps.system.scopes.get(runId);
    const run = this.#deps.system.run(runId);
    if (scope === undefined || run === undefined || scope.settled) return undefined;
    return liveRecord(scope, stateOf(run));
  }

  #admissible(command: StartRun): Agent {
    if (!this.accepting) throw new ShuttingDownError();
    const agent = this.#agents.get(command.agent);
    if (agent === undefined) throw new AgentNotFoundError(command.agent);
    const { policy, graceMs } = command.liveness;
    if (policy !== 'cancel' || graceMs !== 0) throw new PolicyUnsupportedError(policy);
    return agent;
  }

  async #openScope(runId: string, agent: Agent, command: StartRun): Promise<RunScope> {
    const { system, clock, log } = this.#deps;
    const journal = await this.journal.openRun(command.sessionId, runId);
    const scope = new RunScope({ runId, agent, command, journal, clock, log, desk: system.desk });
    this.#watchStore(scope, journal);
    system.scopes.add(scope);
    return scope;
  }

  /** A run that cannot keep its record stops; it never pretends. */
  #watchStore(scope: RunScope, journal: RunJournal): void {
    journal.onFailure((error) => {
      const lost = error instanceof LeaseLostError;
      this.#deps.system.tellRun(scope.runId, {
        type: 'run.stop',
        cause: lost ? { kind: 'lease_lost' } : { kind: 'error', failure: STORE_LOST },
      });
    });
  }

  /**
   * The store knows of the run from its first entry on, so that a process after this one can settle
   * it. What moves with time is known here alone.
   */
  #recordStart(scope: RunScope): void {
    const record: RunRecord = { ...liveRecord(scope, 'running'), deadlines: [] };
    scope.journal.record(JSON.stringify(record));
  }

  #submit(scope: RunScope): void {
    const { command, runId, agent } = scope;
    const refusal = this.#deps.system.submit({
      runId,
      liveness: command.liveness,
      limits: limitsFor(command, agent),
      firstClaim: command.claim ? { id: command.claim.observerId, presence: false } : null,
    });
    if (refusal === undefined) return;
    this.#deps.system.scopes.remove(scope);
    void scope.journal.release();
    throw refusal === 'full' ? new TooManyRunsError(this.#deps.runsMax) : new ShuttingDownError();
  }

  /** A stop is durable before it is signalled (INV-11): a store that refuses it stops nothing. */
  async #recordStop(scope: RunScope): Promise<void> {
    const run = this.#deps.system.run(scope.runId);
    // The run's last record may be stored already, and nothing may come after it.
    if (run === undefined || scope.settled || scope.journal.settled) return;
    const record = JSON.stringify({ ...liveRecord(scope, stateOf(run)), state: 'stopping' });
    await this.journal.putRecord(scope.runId, scope.sessionId, record);
  }
}

const STORE_LOST = {
  code: 'store_unavailable',
  message: 'The run could not keep its record.',
  retryable: true,
} as const;

/** A caller that does not stream sees no first chunk and no silence (decision 7). */
function limitsFor({ streaming, timeoutMs }: StartRun, { limits }: Agent) {
  return {
    ...limits,
    ...(!streaming && { firstChunkMs: 0, inactivityMs: 0 }),
    ...(timeoutMs !== undefined && { totalMs: timeoutMs }),
  };
}

/** The state outsiders know, from the chart's tags: state paths may change. */
function stateOf(run: AnyActorRef): RunState {
  const snapshot: { hasTag(tag: string): boolean } = run.getSnapshot();
  if (snapshot.hasTag('stopping') || snapshot.hasTag('settling')) return 'stopping';
  if (snapshot.hasTag('input-required')) return 'waiting';
  if (snapshot.hasTag('running')) return 'running';
  return snapshot.hasTag('preparing') ? 'preparing' : 'queued';
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
