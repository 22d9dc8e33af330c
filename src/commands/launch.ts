import type { Agent } from '../agent.ts';
import {
  SessionBusyError,
  ShuttingDownError,
  TenantLimitError,
  TooManyRunsError,
} from '../errors.ts';
import { liveRecord } from '../facts/run-record.ts';
import type { StartedRun, StartRun } from '../handle.ts';
import { LeaseLostError } from '../journal/errors.ts';
import type { RunJournal } from '../journal/run-journal.ts';
import { keepCheckpoint } from '../ports/checkpoint-run.ts';
import { type Resumption, resumeScope } from '../ports/resumption.ts';
import { RunScope } from '../ports/run-scope.ts';
import type { RunLine } from '../stores/store.ts';
import { type CommandContext, keyOf } from './context.ts';

export interface Launch {
  readonly agent: Agent;
  readonly command: StartRun;
  readonly resumption?: Resumption;
  /** Asked when no other process may write the session any more; what it rejects with refuses the run. */
  readonly check?: () => Promise<void>;
  readonly startKey?: RunLine['startKey'];
}

/**
 * Brings a run into being: its place in the session first, so that of several that come at the same
 * time the session's chart has the order; then the right to write, its chart, its first entry.
 */
export async function launch(context: CommandContext, what: Launch): Promise<StartedRun> {
  const { system, ids } = context;
  const { command } = what;
  const key = keyOf(context, command.sessionId);
  const runId = ids.run();
  const isAside = command.onBusy === 'parallel' && !isEmpty(system.scopes.inSession(key));
  takePlace(context, { key, runId, command });
  let scope: RunScope;
  try {
    const journal = await openJournal(context, { ...what, runId, key });
    scope = openScope(context, { ...what, runId, isAside, journal });
    submit(context, scope);
  } catch (error) {
    system.leave(key, runId);
    throw error;
  }
  return await firstEntry(scope, what);
}

const isEmpty = (scopes: Iterable<RunScope>): boolean => [...scopes].length === 0;

function takePlace(
  { system, runsMax }: CommandContext,
  {
    key,
    runId,
    command,
  }: { readonly key: string; readonly runId: string; readonly command: StartRun },
): void {
  const place = system.ask(key, runId, command.onBusy);
  if (place.kind !== 'refused') return;
  system.leave(key, runId);
  if (place.because === 'full') throw new TooManyRunsError(runsMax);
  throw new SessionBusyError(command.sessionId, place.behind);
}

interface Place extends Launch {
  readonly runId: string;
  readonly key: string;
}

async function openJournal(context: CommandContext, place: Place): Promise<RunJournal> {
  const journal = await context.journal.openRun(place.key, place.runId);
  try {
    await place.check?.();
    return journal;
  } catch (error) {
    void journal.release();
    throw error;
  }
}

interface Opening extends Launch {
  readonly runId: string;
  readonly isAside: boolean;
  readonly journal: RunJournal;
}

function openScope({ system, clock, log, redact }: CommandContext, opening: Opening): RunScope {
  const { runId, agent, command, resumption, isAside, journal } = opening;
  const scope = new RunScope({
    runId,
    agent,
    command,
    journal,
    clock,
    log,
    redact,
    desk: system.desk,
    grants: system.grants,
    withdrawals: system.withdrawals,
    isAside,
    ...(resumption !== undefined && { resumption }),
  });
  system.scopes.add(scope);
  return scope;
}

/** A run that cannot keep its record stops; it never pretends. */
function watchStore({ system }: CommandContext, scope: RunScope): void {
  scope.journal.onFailure((error) => {
    const lost = error instanceof LeaseLostError;
    system.tellRun(scope.runId, {
      type: 'run.stop',
      cause: lost ? { kind: 'lease_lost' } : { kind: 'error', failure: STORE_LOST },
    });
  });
}

const STORE_LOST = {
  code: 'store_unavailable',
  message: 'The run could not keep its record.',
  retryable: true,
} as const;

function submit(context: CommandContext, scope: RunScope): void {
  const { system, ids, tenant } = context;
  const { command, runId, agent, resumption, journal } = scope;
  const resume = resumption && resumeScope(scope, resumption, () => ids.decision());
  const refusal = system.submit(
    {
      runId,
      liveness: command.liveness,
      limits: limitsFor(command, agent),
      firstClaim: command.claim ? { id: command.claim.observerId, presence: false } : null,
      ...(resume !== undefined && { resume }),
    },
    // The run itself is among those that live.
    { live: system.scopes.ofTenant(tenant.tenant) - 1, max: tenant.liveRunsMax },
  );
  if (refusal !== undefined) {
    system.scopes.remove(scope);
    void journal.release();
    throw refusalError(context, refusal);
  }
  // Only now, that there is a chart to hear of a failure and a run to go on with the parked one.
  watchStore(context, scope);
  if (resumption !== undefined) journal.continue(resumption.parkedRunId);
}

function refusalError(
  { runsMax, tenant }: CommandContext,
  refusal: NonNullable<ReturnType<CommandContext['system']['submit']>>,
): Error {
  switch (refusal) {
    case 'full':
      return new TooManyRunsError(runsMax);
    case 'tenantFull': {
      const message = `All ${tenant.liveRunsMax} places for live runs of this tenant are taken.`;
      return new TenantLimitError(message, RETRY_LIVE_MS);
    }
    case 'draining':
      return new ShuttingDownError();
  }
}

/** A run may end at any moment. */
const RETRY_LIVE_MS = 1_000;

/**
 * The store knows of the run from its first entry on, so that a process after this one can settle it
 * or go on with it. What moves with time is known here alone.
 */
async function firstEntry(scope: RunScope, { startKey }: Launch): Promise<StartedRun> {
  const { runId, sessionId, command, journal } = scope;
  const state = scope.startedAt === null ? 'queued' : 'running';
  journal.record(JSON.stringify({ ...liveRecord(scope, state), deadlines: [] }), startKey);
  keepCheckpoint(scope);
  await journal.flushed();
  return { runId, sessionId, seq: scope.firstSeq, liveness: command.liveness, state };
}

/** A caller that does not stream sees no first chunk and no silence (decision 7). */
function limitsFor({ streaming, timeoutMs }: StartRun, { limits }: Agent) {
  return {
    ...limits,
    ...(!streaming && { firstChunkMs: 0, inactivityMs: 0 }),
    ...(timeoutMs !== undefined && { totalMs: timeoutMs }),
  };
}
