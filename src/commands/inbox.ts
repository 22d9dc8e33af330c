import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import { originFields } from '../facts/approvals.ts';
import type { ApprovalItem, ApprovalListQuery, Page } from '../handle.ts';
import type { ParkedApproval } from '../ports/park-run.ts';
import type { ApprovalRecord, RunScope } from '../ports/run-scope.ts';
import { parseArguments } from '../ports/parse-arguments.ts';
import { tenantRealm } from '../session-key.ts';
import type { StoredApproval } from '../stores/store.ts';
import type { CommandContext } from './context.ts';

/** Approvals of live runs, which their charts have, and of parked ones, which the store has. */
export async function listApprovals(
  context: CommandContext,
  query: ApprovalListQuery,
): Promise<Page<ApprovalItem>> {
  const { limit, after } = query;
  const stored = await storedApprovals(context, query);
  const live = liveApprovals(context, query);
  const known = new Set(live.map(({ decision_id }) => decision_id));
  const all = [...live, ...stored.filter(({ decision_id }) => !known.has(decision_id))]
    .filter(({ decision_id }) => after === undefined || decision_id < after)
    .sort((a, b) => (a.decision_id < b.decision_id ? 1 : -1));
  const data = all.slice(0, limit);
  const isMore = all.length > limit || stored.length === limit;
  return { data, next: isMore ? (data.at(-1)?.decision_id ?? null) : null };
}

function liveApprovals(
  { system, tenant }: CommandContext,
  { state }: ApprovalListQuery,
): ApprovalItem[] {
  return [...system.scopes.values()]
    .filter(({ command }) => (command.tenant ?? '') === tenant.tenant)
    .flatMap((scope) => [...scope.approvals.values()].map((approval) => ofLive(scope, approval)))
    .filter((item) => state === undefined || item.state === state);
}

function ofLive(scope: RunScope, { request, requestedAt, outcome }: ApprovalRecord): ApprovalItem {
  const call = scope.calls.get(request.toolCallId)?.call;
  return {
    decision_id: request.decisionId,
    run_id: scope.runId,
    session_id: scope.sessionId,
    agent: scope.command.agent,
    tool_name: request.toolName,
    tool_call_id: request.toolCallId,
    arguments: parseArguments(call?.argumentsText ?? '') ?? {},
    arguments_digest: request.argumentsDigest,
    origin: originFields(request.origin),
    requested_at: requestedAt,
    expires_at: requestedAt + request.timeoutMs,
    // A run that goes on with a parked one tells of what was decided there once it begins.
    state: stateOf(outcome ?? request.decided),
    parked: false,
  };
}

async function storedApprovals(
  { journal, clock, tenant }: CommandContext,
  { limit, after, state }: ApprovalListQuery,
): Promise<ApprovalItem[]> {
  const now = clock.now();
  const approvals = await journal.index.listApprovals({
    realm: tenantRealm(tenant.tenant),
    limit,
    ...(after !== undefined && { before: after }),
    ...(state === 'pending' && { pendingAt: now }),
  });
  return approvals.map((approval) => ofStored(approval, now));
}

function ofStored(stored: StoredApproval, now: number): ApprovalItem {
  const { decisionId, runId, expiresAt, outcome } = stored;
  // It was written by the run that parked.
  const shown = JSON.parse(stored.record) as ParkedApproval;
  const known = outcome === undefined ? undefined : (JSON.parse(outcome) as ApprovalOutcome);
  return {
    decision_id: decisionId,
    run_id: runId,
    session_id: shown.sessionId,
    agent: shown.agent,
    tool_name: shown.toolName,
    tool_call_id: shown.toolCallId,
    arguments: shown.arguments,
    arguments_digest: shown.argumentsDigest,
    origin: originFields(shown.origin),
    requested_at: shown.requestedAt,
    expires_at: expiresAt,
    state: known === undefined && expiresAt <= now ? 'timed_out' : stateOf(known),
    parked: true,
  };
}

/** Whatever closed it but a person let it time out, as far as the inbox is concerned. */
function stateOf(outcome: ApprovalOutcome | undefined): ApprovalItem['state'] {
  if (outcome === undefined) return 'pending';
  return outcome.kind === 'approved' || outcome.kind === 'denied' ? outcome.kind : 'timed_out';
}
