import { chartAt } from '../explain/chart.ts';
import { explainRun } from '../explain/explain.ts';
import type { Away, LiveRun } from '../explain/facts.ts';
import { describeLive } from '../explain/live-run.ts';
import { type RunRange, readRun } from '../explain/read-run.ts';
import { runPicture } from '../explain/run-picture.ts';
import type { Explanation, RunChart, RunRecord } from '../handle.ts';
import type { RunScope } from '../ports/run-scope.ts';
import { parseLog } from '../transitions/codec.ts';
import type { TransitionHistory } from '../transitions/transition-log.ts';
import { type CommandContext, keyOf, liveRun } from './context.ts';
import { outlivingFacts } from './outliving.ts';
import { recordOf, recordOfLive } from './records.ts';

/** Why a run of the tenant is in its state. Undefined for a run nobody knows. */
export async function explain(
  context: CommandContext,
  runId: string,
): Promise<Explanation | undefined> {
  const found = await findRun(context, runId);
  if (found === undefined) return undefined;
  const { record, live } = found;
  return explainRun({
    record,
    entries: await readRun(context.journal, await rangeOf(context, found)),
    transitions: await historyOf(context, runId),
    now: context.clock.now(),
    live,
    away: awayOf(context, found),
    ...(await outlivingFacts(context, record)),
  });
}

interface Found {
  readonly record: RunRecord;
  readonly live: LiveRun | undefined;
}

/** The record, and the run itself where it lives here. */
async function findRun(context: CommandContext, runId: string): Promise<Found | undefined> {
  const record = await recordOf(context, runId);
  if (record === undefined) return undefined;
  const live = liveOf(context, record);
  if (record.end !== null || live !== undefined) return { record, live };
  // It may have ended here between the two looks; its record says so by now.
  const again = await recordOf(context, runId);
  return again === undefined ? undefined : { record: again, live: liveOf(context, again) };
}

function awayOf(context: CommandContext, { record, live }: Found): Away | undefined {
  if (record.end !== null || live !== undefined) return undefined;
  const wasHere = liveRun(context, record.run_id) !== undefined;
  return wasHere || context.isUnsettled(record.run_id) ? 'unsettled' : 'elsewhere';
}

/** The charts of a run of the tenant, now or as they were at an entry. Undefined for a run nobody knows. */
export async function chart(
  context: CommandContext,
  runId: string,
  atSeq?: number,
): Promise<RunChart | undefined> {
  const record = await recordOf(context, runId);
  if (record === undefined) return undefined;
  const [entry] = atSeq === undefined ? [] : await readEntry(context, record, atSeq);
  return chartAt({
    record,
    transitions: await historyOf(context, runId),
    live: liveOf(context, record),
    entry: atSeq === undefined ? undefined : { seq: atSeq, at: entry?.at ?? record.created_at },
    svg: await runPicture(),
  });
}

const readEntry = (context: CommandContext, { session_id }: RunRecord, seq: number) =>
  context.journal.read(keyOf(context, session_id), seq, 1);

async function rangeOf(context: CommandContext, { record, live }: Found): Promise<RunRange> {
  const sessionId = keyOf(context, record.session_id);
  const isAway = record.end === null && live === undefined;
  return {
    sessionId,
    runId: record.run_id,
    from: Math.max(1, record.first_seq),
    // What is stored of a live run's record is older than its entries.
    to: isAway ? await context.journal.head(sessionId) : record.last_seq,
    evidence: record.end?.evidence ?? [],
  };
}

/** From the run itself while it is here, else as it was stored with its end. */
async function historyOf(
  context: CommandContext,
  runId: string,
): Promise<TransitionHistory | undefined> {
  const scope = liveRun(context, runId);
  if (scope !== undefined) return scope.transitions.history;
  const log = await context.journal.index.getLog(runId);
  return log === undefined ? undefined : parseLog(log);
}

function liveOf(context: CommandContext, record: RunRecord): LiveRun | undefined {
  const scope = liveRun(context, record.run_id);
  const run = context.system.run(record.run_id);
  if (record.end !== null || scope === undefined || run === undefined) return undefined;
  return describeLive(scope, run, {
    ahead: record.state === 'queued' ? aheadOf(context, scope) : null,
    connecting: record.state === 'preparing' ? connectingOf(context, scope) : [],
  });
}

function aheadOf(context: CommandContext, scope: RunScope): LiveRun['ahead'] {
  for (const other of context.system.scopes.inSession(scope.sessionKey)) {
    if (other === scope) return null;
    const state = recordOfLive(context, other)?.state;
    if (state !== undefined && state !== 'queued') return { runId: other.runId, state };
  }
  return null;
}

/** Servers of the agent of which no connection is ready; a connection is shared between runs. */
function connectingOf({ system }: CommandContext, { agent }: RunScope): readonly string[] {
  const ready = new Set<string>();
  for (const connection of system.connections.getSnapshot().actors.values()) {
    const snapshot = connection.getSnapshot();
    if (snapshot.hasTag('ready')) ready.add(snapshot.context.serverName);
  }
  return agent.summary.mcpServers.map(({ name }) => name).filter((name) => !ready.has(name));
}
