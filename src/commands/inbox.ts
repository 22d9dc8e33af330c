import type { ApprovalOutcome, ApprovalRoute } from '../../machines/vocabulary.ts';
import type { Agent } from '../agent.ts';
import { argumentsDigest } from '../hitl/digest.ts';
import { originFields } from '../hitl/origin.ts';
import type { ApprovalFilter, ApprovalItem } from '../approval-item.ts';
import type { ApprovalListQuery, Page } from '../handle.ts';
import { mayOf } from '../ports/ask-webhook.ts';
import {
  decidedIn,
  type EndedOutcome,
  type ShownApproval,
  shownIn,
} from '../ports/ended-approval.ts';
import type { ApprovalRecord, RunScope } from '../ports/run-scope.ts';
import { parseArguments } from '../ports/parse-arguments.ts';
import { tenantRealm } from '../session-key.ts';
import type { EndedApproval, EndedApprovalQuery, StoredApproval } from '../stores/store.ts';
import type { CommandContext } from './context.ts';

/**
 * Approvals of live runs, which their charts have, of parked ones, and those that have ended and whose
 * runs the store still has. Of what is told of one, the first of these counts: it is the newest.
 */
export function listApprovals(
  context: CommandContext,
  query: ApprovalListQuery,
): Promise<Page<ApprovalItem>> {
  const ended = query.state === 'pending' ? [] : [endedItems];
  return pageOf(context, query, [...ended, parkedItems]);
}

/** The same without those that ended with runs which are gone. */
export const listStanding = (
  context: CommandContext,
  query: ApprovalListQuery,
): Promise<Page<ApprovalItem>> => pageOf(context, query, [parkedItems]);

async function pageOf(
  context: CommandContext,
  query: ApprovalListQuery,
  readers: readonly ReadItems[],
): Promise<Page<ApprovalItem>> {
  const { limit, after } = query;
  const live = liveApprovals(context).filter((item) => isAsked(item, query));
  const stored = await Promise.all(readers.map((read) => storedApprovals(context, query, read)));
  const all = distinct([...live, ...stored.flatMap(({ items }) => items)])
    .filter(({ decision_id }) => after === undefined || decision_id < after)
    .sort((a, b) => (a.decision_id < b.decision_id ? 1 : -1));
  const data = all.slice(0, limit);
  const isMore = all.length > limit || stored.some((items) => items.isMore);
  return { data, next: isMore ? (data.at(-1)?.decision_id ?? null) : null };
}

/** The first of each decision id. */
function distinct(items: readonly ApprovalItem[]): ApprovalItem[] {
  const byId = new Map<string, ApprovalItem>();
  for (const item of items) if (!byId.has(item.decision_id)) byId.set(item.decision_id, item);
  return [...byId.values()];
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

/** Rows that are looked at together where the filters have left some of a page's out. */
const SCANNED_ROWS = 200;

/** Filters that the store does not know are applied here, so it may have to be asked again for a page. */
async function storedApprovals(
  context: CommandContext,
  query: ApprovalListQuery,
  read: ReadItems,
): Promise<StoredItems> {
  const { limit, after, runId } = query;
  const realm = tenantRealm(context.tenant.tenant);
  const items: ApprovalItem[] = [];
  for (let before = after, rows = limit; ; rows = Math.max(limit, SCANNED_ROWS)) {
    const rest = { ...(before !== undefined && { before }), ...(runId !== undefined && { runId }) };
    const batch = await read(context, { realm, limit: rows, ...rest }, query);
    items.push(...batch.filter((item) => isAsked(item, query)));
    before = batch.at(-1)?.decision_id;
    if (batch.length < rows) return { items, isMore: false };
    if (items.length >= limit) return { items, isMore: true };
    await new Promise((resolve) => setImmediate(resolve)); // Others wait, and there may be many rows.
  }
}

/** Reads rows of the store, the greatest decision id first. */
type ReadItems = (
  context: CommandContext,
  rows: EndedApprovalQuery,
  filter: ApprovalFilter,
) => Promise<readonly ApprovalItem[]>;

const parkedItems: ReadItems = async ({ journal, clock, agents }, rows, { state }) => {
  const now = clock.now();
  const pending = state === 'pending' ? { pendingAt: now } : {};
  const stored = await journal.index.listApprovals({ ...rows, ...pending });
  return stored.map((one) => storedItem(one, now, agents));
};

const endedItems: ReadItems = async ({ journal, agents }, rows) => {
  const stored = await journal.index.listEnded(rows);
  return stored.map((one) => endedItem(one, agents));
};

/** The approval of a parked run. */
export function storedItem(
  stored: StoredApproval,
  now: number,
  agents: ReadonlyMap<string, Agent>,
): ApprovalItem {
  const outcome = outcomeIn(stored.outcome, stored.expiresAt, now);
  // It was written by the run that parked.
  return keptItem(stored, { shown: shownIn(stored), outcome, parked: true }, agents);
}

/** The approval of a run that is gone, or that another process has. */
function endedItem(stored: EndedApproval, agents: ReadonlyMap<string, Agent>): ApprovalItem {
  const outcome = JSON.parse(stored.outcome) as EndedOutcome;
  return keptItem(stored, { shown: shownIn(stored), outcome, parked: false }, agents);
}

interface Kept {
  readonly shown: ShownApproval;
  readonly outcome: EndedOutcome | ApprovalOutcome | undefined;
  readonly parked: boolean;
}

function keptItem(
  { decisionId, runId, expiresAt }: StoredApproval,
  { shown, outcome, parked }: Kept,
  agents: ReadonlyMap<string, Agent>,
): ApprovalItem {
  const { route = 'conversational' } = shown;
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
    route,
    requested_at: shown.requestedAt,
    expires_at: expiresAt,
    ...decidedFields(outcome),
    parked,
    may: {
      decide: whoDecides(route),
      ...(agent === undefined ? { edit: false, grant: false } : mayOf(agent, shown)),
    },
  };
}

const whoDecides = (route: ApprovalRoute) =>
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
  outcome: EndedOutcome | ApprovalOutcome | undefined,
): Pick<ApprovalItem, 'state' | 'reason' | 'decided_by' | 'edited' | 'grant'> {
  const decided = decidedIn(outcome);
  const { arguments: edited, grant } = decided?.kind === 'approved' ? decided : {};
  return {
    state: outcome?.kind ?? 'pending',
    reason: decided?.reason ?? null,
    decided_by: decided?.by ?? null,
    edited: edited ? { arguments: edited, arguments_digest: argumentsDigest(edited) } : null,
    grant: grant ?? null,
  };
}
