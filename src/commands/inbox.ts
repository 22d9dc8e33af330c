import type { ApprovalOutcome, ApprovalRoute } from '../../machines/vocabulary.ts';
import type { Agent } from '../agent.ts';
import { argumentsDigest } from '../hitl/digest.ts';
import { originFields } from '../hitl/origin.ts';
import type { ApprovalFilter, ApprovalItem } from '../approval-item.ts';
import type { ApprovalListQuery, Page } from '../handle.ts';
import { mayOf } from '../ports/ask-webhook.ts';
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
  const live = liveApprovals(context).filter((item) => isAsked(item, query));
  const known = new Set(live.map(({ decision_id }) => decision_id));
  const stored = await storedApprovals(context, query);
  const all = [...live, ...stored.items.filter(({ decision_id }) => !known.has(decision_id))]
    .filter(({ decision_id }) => after === undefined || decision_id < after)
    .sort((a, b) => (a.decision_id < b.decision_id ? 1 : -1));
  const data = all.slice(0, limit);
  const isMore = all.length > limit || stored.isMore;
  return { data, next: isMore ? (data.at(-1)?.decision_id ?? null) : null };
}

function liveApprovals({ system, tenant }: CommandContext): ApprovalItem[] {
  return [...system.scopes.values()]
    .filter(({ command }) => (command.tenant ?? '') === tenant.tenant)
    .flatMap((scope) => [...scope.approvals.values()].map((record) => liveItem(scope, record)));
}

/** Every key that the filter has must fit. */
export function isAsked(item: ApprovalItem, filter: ApprovalFilter): boolean {
  const { state, agent, sessionId, runId, toolName, origin } = filter;
  return (
    (state === undefined || item.state === state) &&
    (agent === undefined || item.agent === agent) &&
    (sessionId === undefined || item.session_id === sessionId) &&
    (runId === undefined || item.run_id === runId) &&
    (toolName === undefined || item.tool_name === toolName) &&
    (origin === undefined || item.origin.kind === origin)
  );
}

/** The approval of a live run. */
export function liveItem(scope: RunScope, record: ApprovalRecord): ApprovalItem {
  const { request, requestedAt, outcome } = record;
  const call = scope.calls.get(request.toolCallId)?.call;
  // A run that goes on with a parked one tells of what was decided there once it begins.
  const known = outcome ?? request.decided;
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
    route: request.route,
    requested_at: requestedAt,
    expires_at: requestedAt + request.timeoutMs,
    ...decidedFields(known),
    parked: false,
    may: { decide: whoDecides(request.route), ...mayOf(scope.agent, request) },
  };
}

interface StoredItems {
  readonly items: readonly ApprovalItem[];
  /** The store may have more behind them. */
  readonly isMore: boolean;
}

/** Filters that the store does not know are applied here, so it may have to be asked again for a page. */
async function storedApprovals(
  context: CommandContext,
  query: ApprovalListQuery,
): Promise<StoredItems> {
  const { journal, clock, tenant, agents } = context;
  const { limit, after, state, runId } = query;
  const now = clock.now();
  const items: ApprovalItem[] = [];
  let before = after;
  for (;;) {
    const batch = await journal.index.listApprovals({
      realm: tenantRealm(tenant.tenant),
      limit,
      ...(before !== undefined && { before }),
      ...(runId !== undefined && { runId }),
      ...(state === 'pending' && { pendingAt: now }),
    });
    items.push(
      ...batch.map((one) => storedItem(one, now, agents)).filter((it) => isAsked(it, query)),
    );
    before = batch.at(-1)?.decisionId;
    if (batch.length < limit) return { items, isMore: false };
    if (items.length >= limit) return { items, isMore: true };
  }
}

/** The approval of a parked run. */
export function storedItem(
  stored: StoredApproval,
  now: number,
  agents: ReadonlyMap<string, Agent>,
): ApprovalItem {
  const { decisionId, runId, expiresAt, outcome } = stored;
  // It was written by the run that parked.
  const shown = JSON.parse(stored.record) as ParkedApproval;
  const agent = agents.get(shown.agent);
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
    route: shown.route ?? 'conversational',
    requested_at: shown.requestedAt,
    expires_at: expiresAt,
    ...decidedFields(outcomeIn(outcome, expiresAt, now)),
    parked: true,
    may: {
      decide: whoDecides(shown.route),
      ...(agent === undefined ? { edit: false, grant: false } : mayOf(agent, shown)),
    },
  };
}

const whoDecides = (route: ApprovalRoute = 'conversational') =>
  route === 'webhook' ? ('signed' as const) : ('anyone' as const);

function outcomeIn(
  outcome: string | undefined,
  expiresAt: number,
  now: number,
): ApprovalOutcome | undefined {
  if (outcome !== undefined) return JSON.parse(outcome) as ApprovalOutcome;
  return expiresAt <= now ? { kind: 'timed_out', waitedMs: 0 } : undefined;
}

function decidedFields(
  outcome: ApprovalOutcome | undefined,
): Pick<ApprovalItem, 'state' | 'reason' | 'decided_by' | 'edited' | 'grant'> {
  const decided = outcome?.kind === 'approved' || outcome?.kind === 'denied' ? outcome : undefined;
  const { arguments: edited, grant } = outcome?.kind === 'approved' ? outcome : {};
  return {
    state: outcome?.kind ?? 'pending',
    reason: decided?.reason ?? null,
    decided_by: decided?.by ?? null,
    edited: edited ? { arguments: edited, arguments_digest: argumentsDigest(edited) } : null,
    grant: grant ?? null,
  };
}
