import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { ExplainFacts, KeptApproval, Obstacle, Recovery } from '../explain/facts.ts';
import type { RunRecord } from '../handle.ts';
import { parseCheckpoint } from '../journal/checkpoint.ts';
import { comesBack } from '../parked-runs.ts';
import { RECOVERIES_MAX } from '../ports/lost-run-fate.ts';
import type { ParkedApproval } from '../ports/park-run.ts';
import type { StoredApproval, StoredRun } from '../stores/store.ts';
import { type CommandContext, storedRun } from './context.ts';

/** Approvals of one run that are looked at; a turn asks for far fewer. */
const APPROVALS_MAX = 1_000;

/** Runs before a lost one that are looked at, each of which the next one went on with. */
const CHAIN_MAX = 50;

type Outliving = Pick<ExplainFacts, 'resumption' | 'approvals' | 'recovery'>;

/** What explains a run that outlived its process, or did not. Rejects as the journal does. */
export async function outlivingFacts(
  context: CommandContext,
  record: RunRecord,
): Promise<Outliving> {
  if (record.state === 'parked') return await parkedFacts(context, record);
  if (record.end?.error?.code !== 'owner_lost') return {};
  return { recovery: await recoveryOf(context, record) };
}

async function parkedFacts(context: CommandContext, record: RunRecord): Promise<Outliving> {
  const { journal } = context;
  const runId = record.run_id;
  const stored = await journal.index.listApprovals({ runId, limit: APPROVALS_MAX });
  // The newest id comes first, and those of one moment keep their order.
  const approvals = stored
    .map(keptApproval)
    .toReversed()
    .sort((a, b) => a.requestedAt - b.requestedAt);
  const run = await storedRun(context, runId);
  if (run === undefined || record.continued_by !== null) return { approvals };
  return {
    approvals,
    resumption: {
      automatic: run.automatic,
      onStart: await isBroughtBack(context, run),
      decided: approvals.length > 0 && approvals.every(({ outcome }) => outcome !== null),
      undecided: record.approvals,
      obstacle: await obstacleOf(context, run, record.agent),
    },
  };
}

function keptApproval({ decisionId, record, outcome, expiresAt }: StoredApproval): KeptApproval {
  // Both were written by this product: by the run that parked, and by whoever decided.
  const { toolName, requestedAt } = JSON.parse(record) as ParkedApproval;
  const decided = outcome === undefined ? undefined : (JSON.parse(outcome) as ApprovalOutcome);
  return { decisionId, toolName, requestedAt, expiresAt, outcome: outcomeOf(decided) };
}

function outcomeOf(outcome: ApprovalOutcome | undefined): KeptApproval['outcome'] {
  if (outcome?.kind === 'approved' || outcome?.kind === 'denied') {
    return { approved: outcome.kind === 'approved', reason: outcome.reason, by: outcome.by };
  }
  return null; // It was closed because nobody decided in time.
}

async function isBroughtBack(context: CommandContext, run: StoredRun): Promise<boolean> {
  const { journal, clock, recover, resumeOnStart } = context;
  return await comesBack(run, { journal, clock, recover, park: { resumeOnStart } });
}

async function obstacleOf(
  { agents, journal }: CommandContext,
  { runId, parked }: StoredRun,
  agent: string,
): Promise<Obstacle | null> {
  if (!parked) return 'cancelled';
  if (!agents.has(agent)) return 'agent_not_served';
  const text = await journal.index.getCheckpoint(runId);
  if (text === undefined) return 'checkpoint_gone';
  try {
    parseCheckpoint(text);
    return null;
  } catch {
    return 'checkpoint_unreadable';
  }
}

/** Each run of the chain that was lost and went on had been brought back. */
async function recoveryOf(context: CommandContext, record: RunRecord): Promise<Recovery> {
  let recoveries = 0;
  let before = record.continues;
  for (let looked = 0; before !== null && looked < CHAIN_MAX; looked += 1) {
    const stored = await storedRun(context, before);
    if (stored === undefined) break;
    const { end, continues } = JSON.parse(stored.record) as RunRecord;
    if (end?.reason === 'owner_lost') recoveries += 1;
    before = continues;
  }
  return { recover: context.recover, recoveries, recoveriesMax: RECOVERIES_MAX };
}
