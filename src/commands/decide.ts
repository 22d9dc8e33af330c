import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { Decision, DecisionAnswer } from '../handle.ts';
import { type CommandContext, isMine, storedRun } from './context.ts';
import { endsParked } from './records.ts';
import { resumeRun } from './resume.ts';

/** Takes a decision to the run that asked, or to the store when that run is parked. */
export async function decide(
  context: CommandContext,
  decisionId: string,
  decision: Decision,
): Promise<DecisionAnswer> {
  const { system, tenant } = context;
  const answer = await system.desk.decide(decisionId, decision, tenant.tenant);
  if (answer !== 'unknown') return answer;
  await untilStored(context, decisionId);
  return await decideParked(context, decisionId, decision);
}

/** A run on its way to being parked has let go of the question and not yet stored it. */
async function untilStored({ system, tenant }: CommandContext, decisionId: string): Promise<void> {
  const scope = system.desk.asker(decisionId, tenant.tenant);
  if (scope === undefined) return;
  const run = system.run(scope.runId);
  if (run !== undefined && endsParked(run)) await scope.over;
}

async function decideParked(
  context: CommandContext,
  decisionId: string,
  decision: Decision,
): Promise<DecisionAnswer> {
  const { journal, clock } = context;
  const { index } = journal;
  const known = await index.getApproval(decisionId);
  if (known === undefined || !isMine(context, known.sessionId)) return 'unknown';
  const outcome: ApprovalOutcome = outcomeOf(decision);
  const decided = await index.decideApproval(decisionId, JSON.stringify(outcome), clock.now());
  if (decided === undefined) return 'unknown';
  if (!decided.won) return repeated(decided.approval.outcome, outcome);
  void resumeIfDecided(context, decided.approval.runId);
  return 'recorded';
}

function outcomeOf({ approved, reason }: Decision): ApprovalOutcome {
  return { kind: approved ? 'approved' : 'denied', ...(reason !== undefined && { reason }) };
}

/** Decisions are the same when they let the call run alike (decision 45). */
function repeated(winner: string | undefined, { kind }: ApprovalOutcome): DecisionAnswer {
  if (winner === undefined) return 'unknown';
  return (JSON.parse(winner) as ApprovalOutcome).kind === kind ? 'repeated' : 'unknown';
}

/**
 * A run that was parked because it waited goes on when its last approval is decided. Never rejects:
 * the decision is stored, and what hinders the resume now does not at the next start.
 */
export async function resumeIfDecided(context: CommandContext, runId: string): Promise<void> {
  const { journal, clock, log } = context;
  try {
    const pending = { runId, pendingAt: clock.now(), limit: 1 };
    if ((await journal.index.listApprovals(pending)).length > 0) return;
    const stored = await storedRun(context, runId);
    if (stored?.parked !== true || !stored.automatic || stored.continuedBy !== undefined) return;
    const resumed = await resumeRun(context, runId, { onBusy: 'enqueue' });
    log.info({ run_id: resumed?.runId, continues: runId }, 'A parked run goes on: it was decided');
  } catch (error) {
    log.warn(
      { run_id: runId, err: error },
      'A parked run was decided and could not be resumed yet',
    );
  }
}
