import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { DecisionAnswer, DecisionCommand } from '../approval-item.ts';
import { checkDecision } from '../hitl/check-decision.ts';
import { isSameDecision } from '../hitl/same-decision.ts';
import type { ParkedApproval } from '../ports/park-run.ts';
import { tenantOfKey } from '../session-key.ts';
import type { StoredApproval } from '../stores/store.ts';
import { type CommandContext, isMine, NO_TENANT, storedRun } from './context.ts';
import { endsParked } from './records.ts';
import { resumeRun } from './resume.ts';

/**
 * Takes a decision to the run that asked, or to the store when that run is parked. What it grants for the
 * session counts once the run that goes on has told it: a grant rests on an entry of the journal.
 */
export async function decide(
  context: CommandContext,
  decisionId: string,
  decision: DecisionCommand,
): Promise<DecisionAnswer> {
  const { system, tenant } = context;
  const answer = await system.desk.decide(decisionId, decision, tenant.tenant);
  if (answer !== 'unknown') return answer;
  await untilStored(context, decisionId, decision);
  return await decideParked(context, decisionId, decision);
}

/** A run on its way to being parked has let go of the question and not yet stored it. */
async function untilStored(
  { system, tenant: { tenant } }: CommandContext,
  decisionId: string,
  { signed = false }: DecisionCommand,
): Promise<void> {
  const scope = system.desk.asker(decisionId, { tenant, signed });
  if (scope === undefined) return;
  const run = system.run(scope.runId);
  if (run !== undefined && endsParked(run)) await scope.over;
}

async function decideParked(
  context: CommandContext,
  decisionId: string,
  decision: DecisionCommand,
): Promise<DecisionAnswer> {
  const { journal, clock, system } = context;
  const known = await journal.index.getApproval(decisionId);
  if (known === undefined || !isHis(context, known, decision)) return 'unknown';
  // A run that is being resumed has been told already that nobody has decided.
  const resume = context.resuming.has(known.runId) && context.resumes.get(known.sessionId);
  if (resume) {
    await resume;
    return await decide(context, decisionId, decision);
  }
  if (known.outcome === undefined) refuseUnfit(context, known, decision);
  const { reason } = decision;
  const said = reason === undefined ? {} : { reason: context.redact(reason) };
  const outcome = JSON.stringify(outcomeOf({ ...decision, ...said }));
  const decided = await journal.index.decideApproval(decisionId, outcome, clock.now());
  if (decided === undefined) return 'unknown';
  if (!decided.won) return repeated(decided.approval.outcome, decision);
  const tenant = tenantOfKey(known.sessionId);
  system.desk.changed({ decisionId, tenant });
  tellWebhook(context, known);
  const owner = isMine(context, known.sessionId)
    ? context
    : { ...context, tenant: { ...NO_TENANT, tenant } };
  void resumeIfDecided(owner, decided.approval.runId);
  return 'recorded';
}

/** Whoever was asked by a webhook has not answered himself, and nobody waits for him any more. */
function tellWebhook({ system }: CommandContext, { decisionId, record }: StoredApproval): void {
  const { agent, route } = JSON.parse(record) as ParkedApproval;
  if (route !== 'webhook') return;
  void system.withdrawals.send({ agent, decisionId, reason: 'decided' });
}

/** A tenant decides what it was asked; the webhook's secret decides what a webhook was asked. */
function isHis(
  context: CommandContext,
  { sessionId, record }: StoredApproval,
  { signed = false }: DecisionCommand,
): boolean {
  const { route } = JSON.parse(record) as ParkedApproval;
  if (route === 'webhook' && !signed) return false;
  return signed || isMine(context, sessionId);
}

/** Throws for what the approval does not allow. */
function refuseUnfit(
  { agents }: CommandContext,
  { record }: StoredApproval,
  decision: DecisionCommand,
): void {
  const { agent: id, toolName, origin } = JSON.parse(record) as ParkedApproval;
  const agent = agents.get(id);
  const policy = agent?.approvals ?? { allowsEdits: false, allowsGrants: false };
  const gate = agent?.gate ?? (() => ({ effect: 'allow' as const }));
  const problem = checkDecision({ toolName, origin, policy, gate }, decision);
  if (problem !== undefined) throw problem;
}

function outcomeOf({ approved, signed, ...said }: DecisionCommand): ApprovalOutcome {
  const how = signed === true ? { signed } : {};
  if (approved) return { kind: 'approved', ...how, ...said };
  const { reason, by } = said;
  return {
    kind: 'denied',
    ...how,
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
  };
}

function repeated(winner: string | undefined, decision: DecisionCommand): DecisionAnswer {
  if (winner === undefined) return 'unknown';
  return isSameDecision(JSON.parse(winner) as ApprovalOutcome, decision) ? 'repeated' : 'unknown';
}

/**
 * A run that was parked because it waited goes on when its last approval is decided or has expired.
 * Never rejects: the decision is stored, and what hinders the resume now does not at the next start.
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
