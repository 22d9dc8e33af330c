import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { DecisionAnswer, DecisionCommand } from '../approval-item.ts';
import { DecisionRefusedError } from '../errors.ts';
import { checkDecision, type DecisionSubject } from '../hitl/check-decision.ts';
import { isSameDecision } from '../hitl/same-decision.ts';
import { decidedIn, type EndedOutcome, shownIn } from '../ports/ended-approval.ts';
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
  if (known === undefined) return await repeatedEnded(context, decisionId, decision);
  if (!isHis(context, known, decision)) return 'unknown';
  // A run that is being resumed has been told already that nobody has decided.
  const resume = context.resuming.has(known.runId) && context.resumes.get(known.sessionId);
  if (resume) {
    await resume;
    return await decide(context, decisionId, decision);
  }
  const taken = known.outcome === undefined ? fitting(context, known, decision) : decision;
  const { reason } = taken;
  const said = reason === undefined ? {} : { reason: context.redact(reason) };
  const outcome = JSON.stringify(outcomeOf({ ...taken, ...said }));
  const decided = await journal.index.decideApproval(decisionId, outcome, clock.now());
  if (decided === undefined) return 'unknown';
  if (!decided.won) return repeated(decided.approval, decision);
  const tenant = tenantOfKey(known.sessionId);
  system.desk.changed({ decisionId, tenant });
  const owner = isMine(context, known.sessionId)
    ? context
    : { ...context, tenant: { ...NO_TENANT, tenant } };
  void resumeIfDecided(owner, decided.approval.runId);
  return 'recorded';
}

/** What this process does not remember, the store does, as long as it has the run. */
async function repeatedEnded(
  context: CommandContext,
  decisionId: string,
  decision: DecisionCommand,
): Promise<DecisionAnswer> {
  const ended = await context.journal.index.getEnded(decisionId);
  if (ended === undefined || !isHis(context, ended, decision)) return 'unknown';
  const { route, argumentsDigest, wasRefused = false } = shownIn(ended);
  if (wasRefused || (route === 'webhook' && decision.signed !== true)) return 'unknown';
  const winner = decidedIn(JSON.parse(ended.outcome) as EndedOutcome);
  if (winner === undefined) return 'unknown';
  return isSameDecision(winner, decision, argumentsDigest) ? 'repeated' : 'unknown';
}

/** A tenant decides what it was asked, and the webhook's secret whatever anybody was. */
const isHis = (
  context: CommandContext,
  { sessionId }: StoredApproval,
  { signed = false }: DecisionCommand,
): boolean => signed || isMine(context, sessionId);

/**
 * The decision as it is taken. Throws for what the approval does not allow. The run's tools are not at
 * hand: whether an edit fits its tool is seen when the call runs.
 */
function fitting(
  { agents }: CommandContext,
  { record }: StoredApproval,
  decision: DecisionCommand,
): DecisionCommand {
  const { agent: id, toolName, origin, argumentsDigest } = JSON.parse(record) as ParkedApproval;
  const agent = agents.get(id);
  const policy = agent?.approvals ?? { allowsEdits: false, allowsGrants: false };
  const gate: DecisionSubject['gate'] = (args) => agent?.gate(toolName, args) ?? ALLOWED;
  const taken = checkDecision({ origin, policy, gate, argumentsDigest }, decision);
  if (taken instanceof DecisionRefusedError) throw taken;
  return taken;
}

const ALLOWED = { effect: 'allow' } as const;

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

function repeated({ outcome, record }: StoredApproval, decision: DecisionCommand): DecisionAnswer {
  if (outcome === undefined) return 'unknown';
  const winner = JSON.parse(outcome) as ApprovalOutcome;
  const { argumentsDigest } = JSON.parse(record) as ParkedApproval;
  return isSameDecision(winner, decision, argumentsDigest) ? 'repeated' : 'unknown';
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
