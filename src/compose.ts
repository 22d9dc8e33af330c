import { randomUUID } from 'node:crypto';
import type { ShutdownEmitted } from '../machines/shutdown.machine.ts';
import type { Agent } from './agent.ts';
import type { Clock } from './clock.ts';
import { packageVersion } from './config/version.ts';
import type { Ids } from './ids.ts';
import { InvariantWatch } from './invariant-watch.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import type { StoredEntry } from './journal/reader.ts';
import {
  ABANDON_MS,
  ABORT_MS,
  DRAIN_MS,
  DRAIN_TOOL_GRACE_MS,
  FLUSH_MS,
  QUEUE_MAX,
} from './limits.ts';
import { Grants } from './hitl/grants.ts';
import { Withdrawals } from './hitl/withdrawals.ts';
import type { Log } from './log.ts';
import { MCP_LIMITS } from './mcp/limits.ts';
import { createMcpPorts, type McpConnections, type McpPorts } from './mcp/ports.ts';
import type { Store } from './stores/store.ts';
import { WatchedStore } from './stores/watched-store.ts';
import type { RunScope } from './ports/run-scope.ts';
import { watchOthers } from './other-processes.ts';
import { type ParkedExpiry, startParkedExpiry } from './parked-expiry.ts';
import { type ParkPolicy, startRecovery } from './recovery.ts';
import type { Redact } from './redact-secrets.ts';
import { type Retention, type RetentionLimits, startRetention } from './retention.ts';
import { tenantOfKey } from './session-key.ts';
import { Supervisor } from './supervisor-handle.ts';
import { SupervisorSystem } from './supervisor.ts';

export interface ComposeOptions {
  /** Closed at the end of a shutdown. */
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly runsMax: number;
  readonly mcpConnectMs: number;
  /** What becomes of runs that were at work when their process was lost. */
  readonly recover: 'fail' | 'resume';
  readonly park: ParkPolicy;
  readonly retention: RetentionLimits;
  /** Whether each run's journal is checked while it is written. */
  readonly checkInvariants: boolean;
  /** The grace of a shutdown; 0 is none. */
  readonly graceMs: number;
  /** Builds the agents on the pool of MCP connections. Called once. */
  readonly agents: (mcp: { connections: McpConnections; ports: McpPorts }) => readonly Agent[];
  readonly defaultAgent?: string;
  /** Keeps the secrets of the configuration out of what is kept or shown. */
  readonly redact?: Redact;
  /** Each phase of a shutdown, as it is entered. */
  readonly onShutdown?: (fact: ShutdownEmitted) => void;
  /** From 0 to 1; spreads attempts that many runs would make at once. `Math.random` without it. */
  readonly random?: () => number;
  /** Is given the actor system, before anything lives in it. */
  readonly onSystem?: (system: Pick<SupervisorSystem, 'population'>) => void;
}

/** Puts journal, actor system and agents together. Nothing is connected and no run lives yet. */
export function compose(options: ComposeOptions): Supervisor {
  const { clock, ids, log, runsMax, defaultAgent } = options;
  const ownerId = ids.owner?.() ?? randomUUID();
  const store = new WatchedStore(options.store, {
    onRefused: (err) => log.error({ err }, 'The store refuses writes'),
    onTaken: () => {
      log.info('The store takes writes again');
      recovery.retry();
    },
    onExpiring: () => expiry.look(),
  });
  const others = watchOthers({
    // Which is asked for what its engine can do.
    store: options.store,
    ownerId,
    clock,
    log,
    onChange: () => {
      recovery.look();
      expiry.look();
    },
  });
  const onStored = (entries: readonly StoredEntry[]) => invariants?.heard(entries);
  const journal = createJournal({
    ...{ store, clock, ownerId, log },
    ...(options.checkInvariants && { onStored }),
  });
  const ports = createMcpPorts({
    clock,
    log,
    limits: { ...MCP_LIMITS, connectMs: options.mcpConnectMs },
    version: packageVersion(),
  });
  const withdrawals = new Withdrawals({
    channelOf: (id) => agents.find(({ summary }) => summary.id === id)?.approvals?.channel,
    clock,
    log,
  });
  const system: SupervisorSystem = new SupervisorSystem({
    journal,
    mcp: ports,
    grants: new Grants({ index: journal.index, log }),
    withdrawals,
    clock,
    ids,
    log,
    random: options.random ?? Math.random,
    runsMax,
    queueMax: QUEUE_MAX,
    shutdown: {
      graceMs: options.graceMs,
      drainMs: DRAIN_MS,
      abortMs: ABORT_MS,
      flushMs: FLUSH_MS,
    },
    drainToolGraceMs: DRAIN_TOOL_GRACE_MS,
    flush: () => letGo(),
    onShutdown: options.onShutdown ?? (() => {}),
    onUnsettled: (runId) => recovery.add(runId),
  });
  options.onSystem?.(system);
  const letGo = async () => {
    others.stop();
    recovery.stop();
    expiry.stop();
    await Promise.all([retention.stop(), invariants?.stop()]);
    await Promise.all([withdrawals.settled(), flush({ system, journal, store, clock })]);
  };
  const agents = options.agents({ connections: system.connections, ports });
  const supervisor = Supervisor.create({
    system,
    agents,
    ...(defaultAgent !== undefined && { defaultAgent }),
    journal,
    store,
    runsMax,
    resumeOnStart: options.park.resumeOnStart,
    recover: options.recover,
    isUnsettled: (runId) => recovery.has(runId),
    clock,
    ids,
    log,
    redact: options.redact ?? ((text) => text),
    letGo,
  });
  const recovery = startRecovery({
    journal,
    clock,
    log,
    isLive: (runId) => system.scopes.get(runId) !== undefined,
    recover: options.recover,
    isIdempotent: (agent, tool) => isIdempotent(agents, agent, tool),
    withdraw: (withdrawal) => withdrawals.send(withdrawal),
    resume: (runId, tenant) => supervisor.resumeOfTenant(runId, tenant),
    park: options.park,
  });
  const expiry: ParkedExpiry = startParkedExpiry({
    journal,
    clock,
    log,
    bringBack: (run) => recovery.bringBack(run),
    onClosed: ({ decisionId, sessionId }) =>
      system.desk.changed({ decisionId, tenant: tenantOfKey(sessionId) }),
  });
  const invariants = options.checkInvariants
    ? new InvariantWatch({
        journal,
        log,
        quarantine: (run, failure) => supervisor.quarantine(run, failure),
      })
    : undefined;
  const retention: Retention = startRetention({
    store,
    trim: (key, through) => journal.trim(key, through),
    clock,
    log,
    limits: options.retention,
    livePin: (key) => firstLiveSeq(system.scopes.inSession(key)),
  });
  return supervisor;
}

/** Where the oldest live run of a session begins; one that has no entry yet pins nothing. */
function firstLiveSeq(scopes: Iterable<RunScope>): number | undefined {
  const first = Math.min(...[...scopes].map(({ firstSeq }) => firstSeq || Infinity));
  return Number.isFinite(first) ? first : undefined;
}

const isIdempotent = (agents: readonly Agent[], id: string, toolName: string): boolean =>
  agents.find(({ summary }) => summary.id === id)?.isIdempotent(toolName) === true;

interface FlushDeps {
  readonly system: SupervisorSystem;
  readonly journal: Journal;
  readonly store: Store;
  readonly clock: Clock;
}

/** Connections and journal do not wait for each other: a hung server must not cost entries. */
async function flush(deps: FlushDeps): Promise<void> {
  await Promise.allSettled([deps.system.closeConnections(), closeJournal(deps)]);
}

/** Runs that were aborted are still about to store their ends and to give their leases back. */
async function closeJournal({ system, journal, store, clock }: FlushDeps): Promise<void> {
  const bound = Promise.withResolvers<void>();
  const timer = clock.setTimeout(bound.resolve, ABANDON_MS);
  await Promise.race([system.abandoned(), bound.promise]);
  clock.clearTimeout(timer);
  await journal.close();
  await store.close();
}
