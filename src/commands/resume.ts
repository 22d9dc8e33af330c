import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import { RunStateError, ShuttingDownError } from '../errors.ts';
import type { BusyStrategy, ResumedRun, RunRecord, StartRun } from '../handle.ts';
import { type Checkpoint, parseCheckpoint } from '../journal/checkpoint.ts';
import { RunTakenError } from '../journal/errors.ts';
import type { StoredRun } from '../stores/store.ts';
import { type CommandContext, unreached, liveRun, storedRun } from './context.ts';
import { launch } from './launch.ts';
import { isDiscarded } from './records.ts';

/** Approvals of one run that are looked at; a turn asks for far fewer. */
const APPROVALS_MAX = 1_000;

export interface ResumeRequest {
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly onBusy: BusyStrategy;
}

/** As {@link SupervisorHandle.resume}. */
export async function resumeRun(
  context: CommandContext,
  runId: string,
  request: ResumeRequest,
): Promise<ResumedRun | undefined> {
  if (!context.system.accepting) throw new ShuttingDownError();
  if (liveRun(context, runId) !== undefined) throw notParked(runId, 'it is live');
  const stored = await storedRun(context, runId);
  if (stored === undefined) return undefined;
  checkParked(context, stored);
  // The store settles it between processes; within this one nobody even begins a second time.
  if (context.resuming.has(runId)) throw alreadyResumed(runId);
  context.resuming.add(runId);
  try {
    return await inTurn(context.resumes, stored.sessionId, () => goOn(context, stored, request));
  } finally {
    context.resuming.delete(runId);
  }
}

/** One after the other within a session: each must be durable before the next one is said. */
async function inTurn<T>(
  turns: Map<string, Promise<unknown>>,
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  const mine = (turns.get(key) ?? Promise.resolve()).then(work);
  const over = mine.catch(() => {});
  turns.set(key, over);
  try {
    return await mine;
  } finally {
    if (turns.get(key) === over) turns.delete(key);
  }
}

async function goOn(
  context: CommandContext,
  { runId }: StoredRun,
  request: ResumeRequest,
): Promise<ResumedRun> {
  const outcomes = await outcomesOf(context, runId);
  // Somebody may have resumed it, or given it up, while the store was asked.
  const check = async () => {
    const stored = await storedRun(context, runId);
    if (stored !== undefined) checkParked(context, stored);
  };
  const checkpoint = await checkpointOf(context, runId, check);
  const agent = context.agents.get(checkpoint.agent);
  if (agent === undefined) throw agentGone(runId, checkpoint.agent);
  const resumption = { parkedRunId: runId, checkpoint, outcomes };
  const command = commandOf(context, checkpoint, request);
  try {
    return { ...(await launch(context, { agent, command, resumption, check })), continues: runId };
  } catch (error) {
    if (error instanceof RunTakenError) await check();
    throw error;
  }
}

function checkParked(context: CommandContext, stored: StoredRun): void {
  const { runId, parked, continuedBy, settledSeq } = stored;
  if (settledSeq === undefined) throw unreached(context, runId);
  if (continuedBy !== undefined) throw alreadyResumed(runId, continuedBy);
  if (parked) return;
  // It was written by the run as its last word.
  const record = JSON.parse(stored.record) as RunRecord;
  const why = isDiscarded(stored, record) ? CANCELLED : 'it ended for good';
  throw notParked(runId, why);
}

const CANCELLED = 'it was cancelled after it was parked';

const agentGone = (runId: string, agent: string) =>
  new RunStateError(
    'agent_not_served',
    `Run "${runId}" is of the agent "${agent}", which this server does not serve; configure it again.`,
  );

const notParked = (runId: string, why: string) =>
  new RunStateError('not_parked', `Run "${runId}" is not parked: ${why}.`);

function alreadyResumed(runId: string, by?: string): RunStateError {
  const who = by === undefined ? 'being resumed now' : `continued by run "${by}"`;
  return new RunStateError('already_resumed', `Run "${runId}" is ${who}.`);
}

/** How its approvals ended. Rejects while a person may still decide one. */
async function outcomesOf(
  { journal, clock }: CommandContext,
  runId: string,
): Promise<ReadonlyMap<string, ApprovalOutcome>> {
  const approvals = await journal.index.listApprovals({ runId, limit: APPROVALS_MAX });
  const now = clock.now();
  const open = approvals.filter(
    ({ outcome, expiresAt }) => outcome === undefined && expiresAt > now,
  );
  if (open.length > 0) {
    const ids = open.map(({ decisionId }) => decisionId).join(', ');
    const message = `Run "${runId}" waits for a person; decide these approvals first: ${ids}.`;
    throw new RunStateError('approvals_undecided', message);
  }
  const decided = approvals.flatMap(({ decisionId, outcome }) =>
    outcome === undefined ? [] : ([[decisionId, JSON.parse(outcome) as ApprovalOutcome]] as const),
  );
  return new Map(decided);
}

async function checkpointOf(
  { journal }: CommandContext,
  runId: string,
  check: () => Promise<void>,
): Promise<Checkpoint> {
  const text = await journal.index.getCheckpoint(runId);
  if (text !== undefined) return parseCheckpoint(text);
  await check();
  throw notParked(runId, 'its checkpoint is not kept any more');
}

/** The start as it was asked for, less what is not kept: its headers may have held keys. */
function commandOf(
  { tenant }: CommandContext,
  checkpoint: Checkpoint,
  { requestHeaders = {}, onBusy }: ResumeRequest,
): StartRun {
  const { timeoutMs, clientTools, continuesSession } = checkpoint;
  return {
    agent: checkpoint.agent,
    sessionId: checkpoint.sessionId,
    tenant: tenant.tenant,
    messages: checkpoint.messages,
    prompt: checkpoint.prompt,
    streaming: checkpoint.streaming,
    liveness: checkpoint.liveness,
    onBusy,
    requestHeaders,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(clientTools !== undefined && { clientTools }),
    ...(continuesSession !== undefined && { continuesSession }),
  };
}
