import type { Failure } from '../../machines/vocabulary.ts';
import { PolicyUnsupportedError, RunStateError } from '../errors.ts';
import { liveRecord } from '../facts/run-record.ts';
import type { RunRecord } from '../handle.ts';
import type { EndedOutcome } from '../ports/ended-approval.ts';
import type { RunScope } from '../ports/run-scope.ts';
import { publicSessionId, tenantOfKey } from '../session-key.ts';
import type { StoredApproval } from '../stores/store.ts';
import { type CommandContext, unreached, liveRun, storedRun } from './context.ts';
import { storedItem } from './inbox.ts';
import { endsParked, recordOf, recordOfStored, stateOf } from './records.ts';

/**
 * Undefined for a run nobody knows. A run that has ended is returned unchanged, but for one that is
 * parked: it is given up, so that nobody can approve or resume it any more.
 */
export async function cancelRun(
  context: CommandContext,
  runId: string,
  message: string | undefined,
): Promise<RunRecord | undefined> {
  const scope = liveRun(context, runId);
  if (scope === undefined) return await cancelEnded(context, runId, message);
  await recordStop(context, scope);
  const run = context.system.run(runId);
  const isParked = run !== undefined && endsParked(run);
  context.system.tellRun(runId, {
    type: 'run.stop',
    cause: { kind: 'external', ...(message !== undefined && { message }) },
  });
  if (!isParked) return await recordOf(context, runId);
  // It came too late to keep the run from being parked, so that is undone.
  await scope.over;
  await discardParked(context, runId, { reason: 'external', message });
  return await recordOf(context, runId);
}

async function cancelEnded(
  context: CommandContext,
  runId: string,
  message: string | undefined,
): Promise<RunRecord | undefined> {
  await discardParked(context, runId, { reason: 'external', message });
  return await endedRecord(context, runId);
}

/** The run's one terminal entry was written when it was parked, so a line of the log tells of this. */
async function discardParked(
  context: CommandContext,
  runId: string,
  { reason, message }: { reason: 'external' | 'error'; message: string | undefined },
): Promise<void> {
  const stored = await storedRun(context, runId);
  if (stored === undefined || !stored.parked || stored.continuedBy !== undefined) return;
  const before = await undecided(context, runId);
  const outcome: EndedOutcome = { kind: 'cancelled', reason };
  if (!(await context.journal.index.discard(runId, JSON.stringify(outcome)))) return;
  // What somebody has decided in between is kept, and is not moot.
  const kept = new Set((await storedOf(context, runId)).map(({ decisionId }) => decisionId));
  const moot = before.filter(({ decisionId }) => !kept.has(decisionId));
  for (const approval of moot) giveUp(context, approval);
  const fields = {
    run_id: runId,
    session_id: publicSessionId(stored.sessionId),
    ...(message !== undefined && { message }),
  };
  context.log.info(fields, 'A parked run was cancelled; it cannot be resumed any more');
}

/** Approvals of one run that are looked at; a turn asks for far fewer. */
const APPROVALS_MAX = 1_000;

async function storedOf(
  { journal }: CommandContext,
  runId: string,
): Promise<readonly StoredApproval[]> {
  return await journal.index.listApprovals({ runId, limit: APPROVALS_MAX });
}

const undecided = async (context: CommandContext, runId: string) =>
  (await storedOf(context, runId)).filter(({ outcome }) => outcome === undefined);

/** Nobody can decide it any more, and whoever watches is told. */
function giveUp({ system, clock, agents }: CommandContext, approval: StoredApproval): void {
  const { decisionId, sessionId } = approval;
  const item = storedItem(approval, clock.now(), agents);
  const tenant = tenantOfKey(sessionId);
  system.desk.changed({ decisionId, tenant, item: { ...item, state: 'cancelled' } });
}

/**
 * Stops a run whose journal is wrong, or gives it up if it is parked: nothing may go on with it. One that
 * has ended for good stays as it is. Rejects as the journal does.
 */
export async function quarantineRun(
  context: CommandContext,
  runId: string,
  failure: Failure,
): Promise<void> {
  const scope = liveRun(context, runId);
  const run = context.system.run(runId);
  const isParked = run !== undefined && endsParked(run);
  context.system.tellRun(runId, { type: 'run.stop', cause: { kind: 'error', failure } });
  if (isParked) await scope?.over;
  if (isParked || scope === undefined) {
    await discardParked(context, runId, { reason: 'error', message: failure.message });
  }
}

/** A stop is durable before it is signalled (INV-11): a store that refuses it stops nothing. */
async function recordStop({ system, journal }: CommandContext, scope: RunScope): Promise<void> {
  const run = system.run(scope.runId);
  // The run's last record may be stored already, and nothing may come after it.
  if (run === undefined || scope.settled || scope.journal.settled) return;
  // A record that is queued would come after this one, and say that nothing had been asked for.
  await scope.journal.flushed().catch(() => {});
  if (scope.settled || scope.journal.settled) return;
  const record = JSON.stringify({ ...liveRecord(scope, stateOf(run)), state: 'stopping' });
  await journal.putRecord(scope.runId, scope.sessionKey, record);
}

/** As {@link SupervisorHandle.park}. */
export async function parkRun(
  context: CommandContext,
  runId: string,
): Promise<RunRecord | undefined> {
  const scope = liveRun(context, runId);
  if (scope === undefined) return await parkedBefore(context, runId);
  if (!scope.agent.canPark) throw new PolicyUnsupportedError('park');
  context.system.tellRun(runId, { type: 'run.park', cause: { kind: 'external' } });
  return await recordOf(context, runId);
}

async function parkedBefore(
  context: CommandContext,
  runId: string,
): Promise<RunRecord | undefined> {
  const record = await endedRecord(context, runId);
  if (record === undefined || record.state === 'parked') return record;
  throw new RunStateError('run_ended', `Run "${runId}" has ended; it is ${record.state}.`);
}

/** A run that lives, but not here, is reached by nobody here; to answer with its record would be a lie. */
async function endedRecord(context: CommandContext, runId: string): Promise<RunRecord | undefined> {
  const stored = await storedRun(context, runId);
  if (stored === undefined) return undefined;
  if (stored.settledSeq !== undefined) return await recordOfStored(context, stored);
  throw unreached(context, runId);
}
