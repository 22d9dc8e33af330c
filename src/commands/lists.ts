import type {
  Page,
  PageQuery,
  RunListQuery,
  RunRecord,
  RunState,
  SessionRecord,
} from '../handle.ts';
import { publicSessionId, tenantRealm } from '../session-key.ts';
import type { RunQuery, StoredRun, StoredSession } from '../stores/store.ts';
import { type CommandContext, isMine, keyOf, liveRun } from './context.ts';
import { recordOfLive, recordOfStored } from './records.ts';

/** Runs read at a time, and looked at for one page: a rare state does not hold up the process. */
const READ_AT_ONCE = 200;
const LOOKED_AT_MAX = 5_000;

const LIVE: ReadonlySet<RunState> = new Set([
  'queued',
  'preparing',
  'running',
  'waiting',
  'stopping',
]);

/** Newest first. A page may be short, or empty, and have a next one all the same. */
export async function listRuns(
  context: CommandContext,
  query: RunListQuery,
): Promise<Page<RunRecord>> {
  const found: RunRecord[] = [];
  let before = query.after;
  for (let looked = 0; looked < LOOKED_AT_MAX; ) {
    const page = await context.journal.listRecords(storeQuery(context, query, before));
    for (const run of page) {
      before = run.runId;
      const record = await currentRecord(context, run);
      if (isWanted(record, query)) found.push(record);
      if (found.length === query.limit) return { data: found, next: before };
    }
    looked += page.length;
    if (page.length < READ_AT_ONCE) return { data: found, next: null };
  }
  return { data: found, next: before ?? null };
}

function storeQuery(
  context: CommandContext,
  { sessionId, state }: RunListQuery,
  before: string | undefined,
): RunQuery {
  return {
    realm: tenantRealm(context.tenant.tenant),
    limit: READ_AT_ONCE,
    ...(before !== undefined && { before }),
    ...(sessionId !== undefined && { sessionId: keyOf(context, sessionId) }),
    ...(state !== undefined && LIVE.has(state) && { unsettled: true as const }),
  };
}

/** A run that lives here knows more than what is stored of it. */
async function currentRecord(context: CommandContext, stored: StoredRun): Promise<RunRecord> {
  const scope = liveRun(context, stored.runId);
  const live = scope && recordOfLive(context, scope);
  if (live !== undefined && scope?.journal.settled !== true) return live;
  return await recordOfStored(context, stored);
}

const isWanted = (record: RunRecord, { state, agent }: RunListQuery): boolean =>
  (state === undefined || record.state === state) &&
  (agent === undefined || record.agent === agent);

/** The session with the newest run first. */
export async function listSessions(
  context: CommandContext,
  { limit, after }: PageQuery,
): Promise<Page<SessionRecord>> {
  const sessions = await context.journal.index.listSessions({
    realm: tenantRealm(context.tenant.tenant),
    limit,
    ...(after !== undefined && { before: after }),
  });
  const data = await Promise.all(sessions.map((session) => sessionRecord(context, session)));
  return { data, next: sessions.length < limit ? null : (sessions.at(-1)?.lastRunId ?? null) };
}

export async function getSession(
  context: CommandContext,
  sessionId: string,
): Promise<SessionRecord | undefined> {
  const key = keyOf(context, sessionId);
  const session = isMine(context, key) ? await context.journal.index.getSession(key) : undefined;
  return session && (await sessionRecord(context, session));
}

async function sessionRecord(
  context: CommandContext,
  session: StoredSession,
): Promise<SessionRecord> {
  const { sessionId: key, firstRunId, lastRunId, runs } = session;
  const live = [...context.system.scopes.inSession(key)].map(({ runId }) => runId);
  return {
    session_id: publicSessionId(key),
    created_at: madeAt(firstRunId),
    runs,
    live,
    last_run: lastRunId,
    state: live.length > 0 ? 'running' : await restingState(context, lastRunId),
    last_seq: await context.journal.head(key),
  };
}

async function restingState(
  { journal }: CommandContext,
  lastRunId: string,
): Promise<'idle' | 'parked'> {
  const last = await journal.getRecord(lastRunId);
  return last?.parked === true && last.continuedBy === undefined ? 'parked' : 'idle';
}

/** The first 48 bits of a UUID v7 are the time of its making. */
const madeAt = (runId: string): number =>
  Number.parseInt(runId.replaceAll('-', '').slice(0, 12), 16) || 0;
