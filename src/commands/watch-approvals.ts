import type { ApprovalFilter, ApprovalItem, ApprovalWatcher } from '../approval-item.ts';
import type { DeskChange } from '../hitl/approval-desk.ts';
import type { CommandContext } from './context.ts';
import { isAsked, listApprovals, liveItem, storedItem } from './inbox.ts';

/** Approvals that the store is asked for at a time. */
const PAGE = 500;

/**
 * As {@link SupervisorHandle.watchApprovals}.
 *
 * WA1. Changes are told in the order in which they came, each with the approval as it stands then: one
 *      of a live run at once, one of a parked run when the store has told of it.
 * WA2. What changes while the first state is being read is told after it.
 */
export async function watchApprovals(
  context: CommandContext,
  filter: ApprovalFilter,
  watcher: ApprovalWatcher,
): Promise<() => void> {
  let isOver = false;
  const tell = (item: ApprovalItem | undefined) => {
    if (!isOver && item !== undefined && isWatched(item, filter)) watcher.changed(item);
  };
  let told: Promise<void> = Promise.resolve();
  const follow = (change: DeskChange) => {
    if (change.tenant !== context.tenant.tenant) return;
    const now = itemNow(change);
    told = told.then(async () => tell(now ?? (await storedNow(context, change))));
  };
  const stop = context.system.desk.watch(follow);
  const first = pendingNow(context, filter).then((items) => items.forEach(tell));
  told = first.catch(() => {});
  try {
    await first;
  } catch (error) {
    stop();
    throw error;
  }
  return () => {
    isOver = true;
    stop();
  };
}

/** Whoever watches what is pending must hear, too, when it is not any more. */
const isWatched = (item: ApprovalItem, { state, ...filter }: ApprovalFilter): boolean =>
  isAsked(item, state === 'pending' ? filter : { ...filter, ...(state && { state }) });

async function pendingNow(
  context: CommandContext,
  filter: ApprovalFilter,
): Promise<readonly ApprovalItem[]> {
  const items: ApprovalItem[] = [];
  let after: string | null = null;
  do {
    const query = { ...filter, limit: PAGE, ...(after !== null && { after }) };
    const page = await listApprovals(context, query);
    items.push(...page.data);
    after = page.next;
  } while (after !== null);
  return items.reverse();
}

function itemNow({ scope, decisionId, item }: DeskChange): ApprovalItem | undefined {
  const record = scope?.approvals.get(decisionId);
  return scope && record ? liveItem(scope, record) : item;
}

/** A store that does not answer costs one change; the next state of the approval is told again. */
async function storedNow(
  context: CommandContext,
  { decisionId, scope }: DeskChange,
): Promise<ApprovalItem | undefined> {
  if (scope !== undefined) return undefined;
  const { journal, clock, agents, log } = context;
  try {
    const stored = await journal.index.getApproval(decisionId);
    return stored && storedItem(stored, clock.now(), agents);
  } catch (error) {
    log.warn({ decision_id: decisionId, err: error }, 'A watched approval could not be read');
    return undefined;
  }
}
