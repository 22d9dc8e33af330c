import { type AnyActorRef, createActor, fromPromise } from 'xstate';
import type { RunEvent, RunInput } from '../machines/run.contract.ts';
import type {
  ShutdownEmitted,
  ShutdownInput,
  ShutdownOutput,
} from '../machines/shutdown.machine.ts';
import { shutdownMachine } from '../machines/shutdown.machine.ts';
import { poolOf } from '../machines/pool.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';
import type { BusyStrategy } from '../machines/vocabulary.ts';
import {
  type RejectedBecause,
  type SupervisorEvent,
  supervisorMachine,
} from '../machines/supervisor.machine.ts';
import { ApprovalDesk } from './hitl/approval-desk.ts';
import type { Grants } from './hitl/grants.ts';
import type { Withdrawals } from './hitl/withdrawals.ts';
import type { Clock } from './clock.ts';
import { createFeed, type SystemFact } from './feed.ts';
import type { ShutdownPhase } from './handle.ts';
import type { Ids } from './ids.ts';
import { indexScheduler } from './indexed-scheduler.ts';
import type { Journal } from './journal/journal.ts';
import type { Log } from './log.ts';
import type { McpConnections, McpPorts } from './mcp/ports.ts';
import { abandonRun } from './ports/abandon-run.ts';
import { provideRunPorts } from './ports/run-ports.ts';
import { ShuttingDownError } from './errors.ts';
import type { RunScope } from './ports/run-scope.ts';
import { RunScopes } from './ports/run-scopes.ts';
import { GuardNotes } from './transitions/guard-notes.ts';
import { type Place, SessionPlaces } from './session-places.ts';

export interface SystemOptions {
  readonly journal: Journal;
  readonly mcp: McpPorts;
  readonly grants: Grants;
  readonly withdrawals: Withdrawals;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly random: () => number;
  /** Live runs at once; one more is refused. */
  readonly runsMax: number;
  /** Runs that may wait for one session. */
  readonly queueMax: number;
  readonly shutdown: ShutdownInput;
  readonly drainToolGraceMs: number;
  /** The last of shutdown: the journal, the logs. Bounded by the chart. */
  readonly flush: () => Promise<void>;
  /** Each phase of a shutdown, as it is entered. */
  readonly onShutdown: (fact: ShutdownEmitted) => void;
  /** A run is over whose end the store did not take. */
  readonly onUnsettled: (runId: string) => void;
}

/**
 * The actor system: the one supervisor actor and what it owns. Everything that holds lifecycle
 * state is an actor in here.
 */
export class SupervisorSystem {
  readonly scopes: RunScopes;
  readonly desk: ApprovalDesk;
  readonly grants: Grants;
  readonly withdrawals: Withdrawals;
  readonly #options: SystemOptions;
  readonly #root;
  readonly #refusals = new Map<string, RejectedBecause>();
  readonly #places = new SessionPlaces((runId, event) => this.tellRun(runId, event));
  /** Runs that lost their chart and are being ended without it. */
  readonly #abandoning = new Set<Promise<void>>();
  #phase: ShutdownPhase = 'serving';

  constructor(options: SystemOptions) {
    this.#options = options;
    this.grants = options.grants;
    this.withdrawals = options.withdrawals;
    this.scopes = new RunScopes((scope) => this.#released(scope));
    this.desk = new ApprovalDesk((runId, event) => this.tellRun(runId, event));
    const guardNotes = new GuardNotes();
    this.#root = createActor(this.#machine(guardNotes), {
      input: {
        runsMax: options.runsMax,
        queueMax: options.queueMax,
        shutdown: options.shutdown,
        drainToolGraceMs: options.drainToolGraceMs,
      },
      clock: options.clock,
      inspect: createFeed({
        scopes: this.scopes,
        log: options.log,
        guardNotes,
        onSystemFact: (fact, actor) => this.#hear(fact, actor),
      }),
    });
    indexScheduler(this.#root, options.clock);
    this.#root.start();
    this.#root.send({ type: 'supervisor.begin' });
  }

  get accepting(): boolean {
    return this.#root.getSnapshot().hasTag('accepting');
  }

  get phase(): ShutdownPhase {
    return this.#phase;
  }

  /** Resolves when the process may leave. Rejects when the supervisor itself crashed. */
  get stopped(): Promise<ShutdownOutput> {
    return new Promise((resolve, reject) => {
      this.#root.subscribe({
        complete: () => resolve(this.#root.getSnapshot().output as ShutdownOutput),
        error: reject,
      });
    });
  }

  /** The pool of MCP connections; there from the start. */
  get connections(): McpConnections {
    const pool = this.#child('mcpServers');
    if (pool === undefined)
      throw new Error('invariant: the pool is there until the supervisor ends');
    return pool as McpConnections;
  }

  /** Resolves when the last connection is closed; each close is bounded by its chart. */
  closeConnections(): Promise<void> {
    const { connections } = this;
    connections.send({ type: 'pool.tellAll', event: { type: 'mcp.close' } });
    return new Promise((resolve) => {
      const check = () => {
        if (connections.getSnapshot().actors.size > 0) return;
        subscription.unsubscribe();
        resolve();
      };
      const subscription = connections.subscribe(check);
      check();
    });
  }

  /** Resolves when no run is left that lost its chart and has not given back what it held. */
  async abandoned(): Promise<void> {
    while (this.#abandoning.size > 0) await Promise.all(this.#abandoning);
  }

  /** How many actors are in each pool. */
  get population(): Readonly<Record<'runs' | 'sessions' | 'mcpServers', number>> {
    const count = (id: 'runs' | 'sessions' | 'mcpServers'): number =>
      this.#child(id)?.getSnapshot().actors.size ?? 0;
    return { runs: count('runs'), sessions: count('sessions'), mcpServers: count('mcpServers') };
  }

  /** The run's chart while it lives. */
  run(runId: string): AnyActorRef | undefined {
    return this.#child('runs')?.getSnapshot().actors.get(runId);
  }

  /** Once the supervisor has ended there is nobody to tell, and that is no error. */
  send(event: SupervisorEvent): void {
    if (this.#root.getSnapshot().status === 'active') this.#root.send(event);
  }

  tellRun(runId: string, event: RunEvent): void {
    this.send({ type: 'run.tell', runId, event });
  }

  /**
   * Asks for a place in a session's order. A run that lives beside all others needs none while nobody
   * else of the session has asked. Who has been given one, or was refused, must {@link leave}.
   */
  ask(sessionKey: string, runId: string, strategy: BusyStrategy): Place {
    const others = [...this.scopes.inSession(sessionKey)].map((scope) => scope.runId);
    if (strategy === 'parallel' && !this.#hasOrder(sessionKey)) return { kind: 'admitted' };
    const event = { type: 'session.ask', runId, strategy, others } as const;
    this.send({ type: 'session.tell', sessionKey, event });
    const place = this.#places.get(runId);
    if (place === undefined) throw new ShuttingDownError();
    return place;
  }

  /** A run that asked is over, or came to nothing. */
  leave(sessionKey: string, runId: string): void {
    this.#places.forget(runId);
    if (!this.#hasOrder(sessionKey)) return;
    this.send({ type: 'session.tell', sessionKey, event: { type: 'session.left', runId } });
  }

  /** Submits a run that has its place; answers why it was refused, if it was. */
  submit(input: RunInput, tenant: { readonly live: number; readonly max: number }) {
    const { runId } = input;
    const waits = this.#places.get(runId)?.kind === 'queued';
    this.send({ type: 'run.submit', input, waits, tenant });
    const refusal = this.#refusals.get(runId);
    this.#refusals.delete(runId);
    if (refusal === undefined) this.#places.arrived(runId);
    return refusal;
  }

  /** Whether a chart keeps the session's order. */
  #hasOrder(sessionKey: string): boolean {
    return this.#child('sessions')?.getSnapshot().actors.has(sessionKey) === true;
  }

  #released(scope: RunScope): void {
    const { sessionKey } = scope;
    this.leave(sessionKey, scope.runId);
    if (isEmpty(this.scopes.inSession(sessionKey))) this.grants.released(sessionKey);
    if (!scope.settled) this.#options.onUnsettled(scope.runId);
  }

  #machine(guardNotes: GuardNotes) {
    const { mcp, flush } = this.#options;
    const runs = provideRunPorts({ ...this.#options, scopes: this.scopes, guardNotes });
    return supervisorMachine.provide({
      actors: {
        runs: poolOf('runs', runs),
        mcpServers: poolOf('mcpServers', mcp.machine),
        shutdown: shutdownMachine.provide({ actors: { flushAll: fromPromise(flush) } }),
      },
    });
  }

  /** Undefined once the supervisor has ended: its children go with it. */
  #child(id: 'runs' | 'sessions' | 'mcpServers'): AnyActorRef | undefined {
    const children: Record<string, AnyActorRef | undefined> = this.#root.getSnapshot().children;
    return children[id];
  }

  #hear(fact: SystemFact, actor: AnyActorRef): void {
    // By what it says: a session's id may be anything.
    if (fact.type.startsWith('session.')) return this.#places.hear(fact as SessionEmitted);
    switch (actor.id) {
      case 'runs':
        return this.#hearOfRun(fact as PoolFact);
      case 'mcpServers':
        return this.#hearOfConnection(fact as PoolFact);
      case 'shutdown':
        return this.#hearOfShutdown(fact as ShutdownEmitted);
      default:
        return this.#hearOther(fact);
    }
  }

  #hearOfRun(fact: PoolFact): void {
    if (fact.type === 'pool.crashed') {
      this.#options.log.error({ run_id: fact.id, err: fact.error }, 'A run chart crashed');
    }
    if (fact.type !== 'pool.crashed' && fact.type !== 'pool.dropped') return;
    const scope = this.scopes.get(fact.id);
    if (scope === undefined) return;
    this.#abandon(scope, fact.type === 'pool.dropped' ? 'shutdown' : 'crash');
  }

  #abandon(scope: RunScope, why: 'shutdown' | 'crash'): void {
    const { journal } = this.#options;
    const abandoned = abandonRun(scope, { scopes: this.scopes, journal, why });
    this.#abandoning.add(abandoned);
    void abandoned.finally(() => this.#abandoning.delete(abandoned));
  }

  #hearOfConnection(fact: PoolFact): void {
    if (
      fact.type === 'pool.ended' ||
      fact.type === 'pool.crashed' ||
      fact.type === 'pool.dropped'
    ) {
      this.#options.mcp.registry.remove(fact.id);
    }
  }

  #hearOfShutdown(fact: ShutdownEmitted): void {
    this.#phase = PHASE_OF[fact.type];
    this.#options.onShutdown(fact);
  }

  #hearOther(fact: SystemFact): void {
    if (fact.type === 'run.rejected') {
      const { runId, reason } = fact as unknown as Rejection;
      this.#refusals.set(runId, reason);
    } else {
      this.#options.log.debug({ fact }, 'A system fact');
    }
  }
}

interface Rejection {
  readonly runId: string;
  readonly reason: RejectedBecause;
}

type PoolFact =
  | { type: 'pool.spawned' | 'pool.ended' | 'pool.dropped'; id: string }
  | { type: 'pool.crashed'; id: string; error: unknown };

const PHASE_OF: Readonly<Record<ShutdownEmitted['type'], ShutdownPhase>> = {
  'shutdown.gated': 'gated',
  'shutdown.draining': 'draining',
  'shutdown.aborting': 'aborting',
  'shutdown.completed': 'flushing',
};

const isEmpty = (scopes: Iterable<RunScope>): boolean => [...scopes].length === 0;
