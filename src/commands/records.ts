import type { AnyActorRef } from 'xstate';
import type { RunContext } from '../../machines/run.contract.ts';
import { liveRecord } from '../facts/run-record.ts';
import type { RunRecord, RunState } from '../handle.ts';
import type { RunScope } from '../ports/run-scope.ts';
import type { StoredRun } from '../stores/store.ts';
import { type CommandContext, liveRun, storedRun } from './context.ts';

/** Undecided approvals of one parked run that its record names. */
const APPROVALS_MAX = 200;

/** The record of a run of the tenant, whether it lives here or is stored. */
export async function recordOf(
  context: CommandContext,
  runId: string,
): Promise<RunRecord | undefined> {
  const scope = liveRun(context, runId);
  const live = scope && recordOfLive(context, scope);
  // Readers hear of the end before the run itself does, and what they ask next must not contradict.
  if (live !== undefined && scope?.journal.settled !== true) return live;
  const stored = await storedRun(context, runId);
  if (stored?.settledSeq === undefined && live !== undefined) return live;
  return stored && (await recordOfStored(context, stored));
}

/** Undefined once the run has let go of its chart, or has its end in the store. */
export function recordOfLive({ system }: CommandContext, scope: RunScope): RunRecord | undefined {
  const run = system.run(scope.runId);
  if (run === undefined || scope.settled) return undefined;
  return liveRecord(scope, stateOf(run), hasTag(run, 'parking'));
}

/** What became of a parked run since it was stored is kept beside its record. */
export async function recordOfStored(
  { journal, clock }: CommandContext,
  stored: StoredRun,
): Promise<RunRecord> {
  const record = JSON.parse(stored.record) as RunRecord;
  // A run that lives, but not here, is reached by nobody here.
  if (stored.settledSeq === undefined) return { ...record, verbs: ['attach'] };
  if (isDiscarded(stored, record)) return { ...record, approvals: [], verbs: ['attach'] };
  if (!stored.parked) return record;
  const { runId, continuedBy } = stored;
  if (continuedBy !== undefined) {
    return { ...record, approvals: [], continued_by: continuedBy, verbs: ['attach'] };
  }
  const query = { runId, pendingAt: clock.now(), limit: APPROVALS_MAX };
  const pending = await journal.index.listApprovals(query);
  return {
    ...record,
    approvals: pending.map(({ decisionId }) => decisionId),
    // To cancel it is to give it up.
    verbs: pending.length > 0 ? ['attach', 'cancel'] : ['attach', 'cancel', 'resume'],
  };
}

/** Whether a run was cancelled after it was parked: what it ended with stays, and is no way back. */
export const isDiscarded = ({ parked }: StoredRun, { state }: RunRecord): boolean =>
  !parked && state === 'parked';

/** The state outsiders know, from the chart's tags: state paths may change. */
export function stateOf(run: AnyActorRef): RunState {
  if (hasTag(run, 'stopping') || hasTag(run, 'settling')) return 'stopping';
  if (hasTag(run, 'input-required')) return 'waiting';
  if (hasTag(run, 'running')) return 'running';
  return hasTag(run, 'preparing') ? 'preparing' : 'queued';
}

export function hasTag(run: AnyActorRef, tag: string): boolean {
  const snapshot: { hasTag(tag: string): boolean } = run.getSnapshot();
  return snapshot.hasTag(tag);
}

/** Whether the run has come to its checkpoint and ends there, as its chart says. */
export function endsParked(run: AnyActorRef): boolean {
  const { context }: { context: Pick<RunContext, 'parked'> } = run.getSnapshot();
  return context.parked;
}
