import type { RouterContext } from '@koa/router';
import type { ApprovalFilter, ApprovalItem, ApprovalState } from '../../approval-item.ts';
import type { SupervisorHandle } from '../../handle.ts';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { badRequest, notFound } from '../errors.ts';
import {
  checkQueryKeys,
  echoable,
  PAGE_KEYS,
  pageQueryOf,
  queryText,
  queryWord,
} from '../params.ts';
import { listOf } from './lists.ts';

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

const STATES = [
  'pending',
  'approved',
  'denied',
  'timed_out',
  'cancelled',
  'errored',
] as const satisfies readonly ApprovalState[];

const ORIGINS = [
  'config_gate',
  'agent_requested',
  'elicitation',
] as const satisfies readonly ApprovalItem['origin']['kind'][];

/** Query keys of what chooses approvals. */
export const FILTER_KEYS = [
  'state',
  'agent',
  'session_id',
  'run_id',
  'tool_name',
  'origin',
] as const;

const LIST_KEYS = [...FILTER_KEYS, ...PAGE_KEYS] as const;

/** `GET /v1/approvals`: the inbox, approvals of live and of parked runs. */
export function listApprovals(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    checkQueryKeys(ctx, LIST_KEYS);
    const query = { ...approvalFilterOf(ctx), ...pageQueryOf(ctx) };
    ctx.body = listOf(await handleOf(ctx, deps).listApprovals(query));
  };
}

/** `GET /v1/approvals/{decision_id}`: one approval as the list shows it. */
export function getApproval(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const { decisionId, shown } = decisionIdOf(ctx);
    const item = await findApproval(decisionId, handleOf(ctx, deps));
    if (item === undefined) throw notFound(`No approval with the decision id ${shown}.`);
    ctx.body = item;
  };
}

/** The filters of the query. Throws 400 that names the one that is wrong, and what it may be. */
export function approvalFilterOf(ctx: RouterContext): ApprovalFilter {
  const state = queryWord(ctx, 'state', STATES);
  const agent = queryText(ctx, 'agent');
  const sessionId = queryText(ctx, 'session_id');
  const runId = queryText(ctx, 'run_id');
  const toolName = queryText(ctx, 'tool_name');
  const origin = queryWord(ctx, 'origin', ORIGINS);
  return {
    ...(state !== undefined && { state }),
    ...(agent !== undefined && { agent }),
    ...(sessionId !== undefined && { sessionId }),
    ...(runId !== undefined && { runId }),
    ...(toolName !== undefined && { toolName }),
    ...(origin !== undefined && { origin }),
  };
}

/** The id of the path, in lower case, and as it was sent. Throws 400 for what is no UUID. */
export function decisionIdOf(ctx: RouterContext): { decisionId: string; shown: string } {
  const shown = echoable('decision_id', ctx.params['decision_id'] ?? '');
  if (!UUID.test(shown)) throw badRequest(`invalid decision id: ${shown}`, 'decision_id');
  return { decisionId: shown.toLowerCase(), shown };
}

/** Lists are in the order of the ids, so it is the first of what comes behind the next greater one. */
async function findApproval(
  decisionId: string,
  handle: SupervisorHandle,
): Promise<ApprovalItem | undefined> {
  const after = successorOf(decisionId);
  const page = await handle.listApprovals({ limit: 1, ...(after !== undefined && { after }) });
  const [first] = page.data;
  return first?.decision_id === decisionId ? first : undefined;
}

/** The next greater UUID; undefined for the greatest. */
function successorOf(uuid: string): string | undefined {
  const digits = (BigInt(`0x${uuid.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0');
  if (digits.length > 32) return undefined;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
