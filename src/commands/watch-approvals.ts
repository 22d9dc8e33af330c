import type { ApprovalFilter, ApprovalItem, ApprovalWatcher } from '../approval-item.ts';
import type { ApprovalDesk, DeskChange } from '../hitl/approval-desk.ts';
import type { CommandContext } from './context.ts';
import { isAsked, listStanding, liveItem, storedItem } from './inbox.ts';
import { ReadQueue } from './read-queue.ts';

/** Approvals that the store is asked for at a time. */
const PAGE = 500;

/**
 * As {@link SupervisorHandle.watchApprovals}.
 *
 * WA1. Changes are told in the order in which they came, each with the approval as it stands then: one
 *      of a live run at once, one of a parked run when the store has told of it.
 * WA2. What changes while the first state is being read is told after it.
 * WA3. Watchers are told the same item of a change, and what stands is read for one of them at a time,
 *      or for all who wait for the same: many watchers cost little more than one.
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
    const found = lookUp(change);
    told = told.then(async () => tell(found.now ?? (await storedOnce(context, change, found))));
  };
  const stop = context.system.desk.watch(follow);
  const first = firstState(context, filter).then((items) => items.forEach(tell));
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

/** Of each desk; whoever waits in one hears already of what changes. */
const firstReads = new WeakMap<ApprovalDesk, ReadQueue<readonly ApprovalItem[]>>();

function firstState(
  context: CommandContext,
  filter: ApprovalFilter,
): Promise<readonly ApprovalItem[]> {
  const { system, tenant } = context;
  const queue = firstReads.get(system.desk) ?? new ReadQueue();
  firstReads.set(system.desk, queue);
  const { state, agent, sessionId, runId, toolName, origin } = filter;
  const key = [tenant.tenant, state, agent, sessionId, runId, toolName, origin];
  return queue.read(JSON.stringify(key), () => standing(context, filter));
}

/** All that match, oldest first. */
async function standing(
  context: CommandContext,
  filter: ApprovalFilter,
): Promise<readonly ApprovalItem[]> {
  const items: ApprovalItem[] = [];
  let after: string | null = null;
  do {
    const query = { ...filter, limit: PAGE, ...(after !== null && { after }) };
    const page = await listStanding(context, query);
    items.push(...page.data);
    after = page.next;
  } while (after !== null);
  return items.reverse();
}

/** What is known of a change, for all who watch. */
interface LookedUp {
  readonly now: ApprovalItem | undefined;
  stored?: Promise<ApprovalItem | undefined>;
}

const lookedUp = new WeakMap<DeskChange, LookedUp>();

function lookUp(change: DeskChange): LookedUp {
  const known = lookedUp.get(change);
  if (known !== undefined) return known;
  const found = { now: itemNow(change) };
  lookedUp.set(change, found);
  return found;
}

function itemNow({ scope, decisionId, item }: DeskChange): ApprovalItem | undefined {
  const record = scope?.approvals.get(decisionId);
  return scope && record ? liveItem(scope, record) : item;
}

/** The first whose turn it is asks the store. */
function storedOnce(
  context: CommandContext,
  change: DeskChange,
  found: LookedUp,
): Promise<ApprovalItem | undefined> {
  found.stored ??= storedNow(context, change);
  return found.stored;
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
