import type { Agent } from '../agent.ts';
import type { Clock } from '../clock.ts';
import { RunStateError, StoreUnavailableError, type SupervisorError } from '../errors.ts';
import type { StartedRun, TenantLimits } from '../handle.ts';
import type { Ids } from '../ids.ts';
import type { Journal } from '../journal/journal.ts';
import type { Log } from '../log.ts';
import type { RunScope } from '../ports/run-scope.ts';
import type { Redact } from '../redact-secrets.ts';
import { sessionKey, tenantOfKey } from '../session-key.ts';
import type { StoredRun } from '../stores/store.ts';
import type { SupervisorSystem } from '../supervisor.ts';

/** A start under a key that has not been answered yet. */
export interface PendingStart {
  readonly digest: string;
  readonly started: Promise<StartedRun>;
}

/** What every command works with, whoever sends it. */
export interface CommandDeps {
  readonly system: SupervisorSystem;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly journal: Journal;
  readonly runsMax: number;
  /** Parked runs that wait for nobody come back when a process starts. */
  readonly resumeOnStart: boolean;
  /** What becomes of runs that were at work when their process was lost. */
  readonly recover: 'fail' | 'resume';
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Keeps the secrets of the configuration out of what is kept or shown. */
  readonly redact: Redact;
  /** Starts under way, by their key. */
  readonly starts: Map<string, PendingStart>;
  /** Whether the run was this process's, and the store has not taken its end yet. */
  readonly isUnsettled: (runId: string) => boolean;
  /** Parked runs that are being resumed. */
  readonly resuming: Set<string>;
  /** The last resume of each session that has one under way; it never rejects. */
  readonly resumes: Map<string, Promise<unknown>>;
}

/** The commands of one tenant: what is another's is not found. */
export interface CommandContext extends CommandDeps {
  readonly tenant: TenantLimits;
}

/** Whoever runs a server for himself: everything without a tenant, and no limit. */
export const NO_TENANT: TenantLimits = { tenant: '', liveRunsMax: 0, storedBytesMax: 0 };

export const keyOf = ({ tenant }: CommandContext, sessionId: string): string =>
  sessionKey(tenant.tenant, sessionId);

/** The live run, if it is the tenant's. */
export function liveRun({ system, tenant }: CommandContext, runId: string): RunScope | undefined {
  const scope = system.scopes.get(runId);
  return (scope?.command.tenant ?? '') === tenant.tenant ? scope : undefined;
}

/** The stored run, if it is the tenant's. */
export async function storedRun(
  context: CommandContext,
  runId: string,
): Promise<StoredRun | undefined> {
  const stored = await context.journal.getRecord(runId);
  return stored !== undefined && isMine(context, stored.sessionId) ? stored : undefined;
}

/** Whether a session that is stored under `key` is the tenant's. */
export const isMine = ({ tenant }: CommandContext, key: string): boolean =>
  tenantOfKey(key) === tenant.tenant;

/** The run has no end, and this process does not have it: it is another's, or the store is in trouble. */
export const unreached = ({ isUnsettled }: CommandContext, runId: string): SupervisorError =>
  isUnsettled(runId)
    ? new StoreUnavailableError(new Error(`The end of run "${runId}" has not been stored yet.`))
    : elsewhere(runId);

const elsewhere = (runId: string): RunStateError =>
  new RunStateError(
    'run_elsewhere',
    `Run "${runId}" is not in this process. Ask the one that has it; if that one is gone, try again ` +
      'when the run has been looked after.',
  );
