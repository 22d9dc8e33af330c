import { type Checkpoint, type CheckpointCall, parseCheckpoint } from '../journal/checkpoint.ts';
import type { Journal } from '../journal/journal.ts';
import type { OpenApproval } from '../journal/open-ends.ts';
import { originFields } from '../hitl/origin.ts';
import type { RunRecord } from '../handle.ts';
import type { KnownBefore, RunStory } from '../journal/run-story.ts';
import type { ChatMessage } from '../model.ts';
import { ENDINGS, type LostBy } from './lost-run-end.ts';
import { parseTranscript } from './transcript.ts';

/** Undefined when there is none, or none that this version reads: then the run cannot go on. */
export async function checkpointOfLost(
  journal: Journal,
  runId: string,
): Promise<Checkpoint | undefined> {
  const text = await journal.index.getCheckpoint(runId);
  try {
    return text === undefined ? undefined : parseCheckpoint(text);
  } catch {
    return undefined;
  }
}

/** That of the parked run which the lost one goes on with. */
export async function checkpointBefore(
  journal: Journal,
  { continues }: Pick<RunRecord, 'continues'>,
): Promise<Checkpoint | undefined> {
  return continues === null ? undefined : await checkpointOfLost(journal, continues);
}

/** What the entries of a run need not tell, because its checkpoint, or that of the run before, has it. */
export function knownBefore(checkpoint: Checkpoint | undefined): Omit<KnownBefore, 'since'> {
  const calls = checkpoint?.calls ?? [];
  return {
    calls: new Set(calls.map(({ call }) => call.id)),
    asked: calls.flatMap((call) => askedFor(call, checkpoint?.sessionId ?? '')),
  };
}

function askedFor({ call, approval }: CheckpointCall, session_id: string): OpenApproval[] {
  if (approval === undefined) return [];
  const event = {
    type: 'approval_requested' as const,
    decision_id: approval.decisionId,
    tool_name: call.name,
    origin: originFields(approval.origin),
    scope: { kind: 'single' as const, session_id },
    tool_call_id: call.id,
    arguments_digest: approval.argumentsDigest,
  };
  const { requestedAt: at, expiresAt } = approval;
  return [{ event, at, route: 'conversational', expiresAt }];
}

interface Idempotency {
  readonly isIdempotent: (agent: string, toolName: string) => boolean;
}

/**
 * The calls that go on in another run: those that wait for a person, and those that may be executed
 * again though they may have been executed before.
 */
export function keptCalls(
  checkpoint: Checkpoint | undefined,
  { ends, turns }: RunStory,
  { isIdempotent }: Idempotency,
): ReadonlySet<string> {
  const kept = (checkpoint?.calls ?? []).filter(({ call, client, result }) => {
    if (client || result !== undefined || turns.result(call.id) !== undefined) return false;
    if (ends.held.has(call.id)) return true;
    // One that was refused is over, though its end did not reach the store.
    return !ends.isRefused(call.id) && isIdempotent(checkpoint?.agent ?? '', call.name);
  });
  return new Set(kept.map(({ call }) => call.id));
}

/** The checkpoint with what the entries after it tell, and one more recovery. */
export function standing(
  checkpoint: Checkpoint,
  story: RunStory,
  kept: ReadonlySet<string>,
): Checkpoint {
  return {
    ...checkpoint,
    seq: story.lastSeq,
    calls: checkpoint.calls.map((call) => standingCall(call, story, kept)),
    recoveries: checkpoint.recoveries + 1,
  };
}

function standingCall(
  known: CheckpointCall,
  { ends, turns }: RunStory,
  kept: ReadonlySet<string>,
): CheckpointCall {
  const { call, client, result = turns.result(call.id) } = known;
  const asked = kept.has(call.id) ? ends.openFor(call.id) : undefined;
  const approval = asked && approvalFields(asked);
  return {
    call,
    client,
    ...(result !== undefined && { result }),
    ...(approval !== undefined && { approval }),
  };
}

/** One whose expiry did not reach the store asked nobody yet, so it has expired at once. */
function approvalFields({ event, at, expiresAt = at }: OpenApproval): CheckpointCall['approval'] {
  const { origin } = event;
  if (origin.kind === 'elicitation') return undefined; // It goes with the execution that asked.
  return {
    decisionId: event.decision_id,
    origin:
      origin.kind === 'config_gate'
        ? { kind: 'config_gate', matchedPattern: origin.matched_pattern }
        : { kind: 'agent_requested', reason: origin.reason, agentName: origin.agent_name },
    argumentsDigest: event.arguments_digest,
    requestedAt: at,
    expiresAt,
  };
}

interface LostConversation {
  readonly sessionId: string;
  readonly runId: string;
  readonly story: RunStory;
  readonly checkpoint: Checkpoint | undefined;
  readonly lostBy: LostBy;
}

/**
 * The session's conversation as far as the store knows it, each call paired with a result. Undefined
 * when it is not the run's to tell: the run never began, or was beside the session's own.
 */
export async function lostTranscript(
  journal: Journal,
  lost: LostConversation,
): Promise<readonly ChatMessage[] | undefined> {
  const { sessionId, story, checkpoint, lostBy } = lost;
  if (story.startedAt === null || (await wasAside(journal, lost))) return undefined;
  const open = `The call has no result: ${ENDINGS[lostBy].call}.`;
  const added = story.turns.messages(open);
  const known = checkpoint
    ? [...checkpoint.messages, ...pairs(checkpoint, story, open)]
    : undefined;
  if (known !== undefined && checkpoint?.continuesSession !== true) return [...known, ...added];
  const kept = parseTranscript(await journal.index.getTranscript(sessionId));
  return [...kept, ...(known ?? [{ role: 'user', content: story.prompt }]), ...added];
}

/** Runs before it in its session that are looked at: few live side by side. */
const EARLIER_MAX = 50;

/** Whether an earlier run of the session had not ended when this one began. */
async function wasAside(
  journal: Journal,
  { sessionId, runId, story }: LostConversation,
): Promise<boolean> {
  if (story.waited) return false;
  const earlier = await journal.listRecords({ sessionId, before: runId, limit: EARLIER_MAX });
  return earlier.some(({ settledSeq = Infinity }) => settledSeq > story.firstSeq);
}

function pairs({ calls }: Checkpoint, { turns }: RunStory, open: string): ChatMessage[] {
  return calls.map(({ call, result = turns.result(call.id) }) => ({
    role: 'tool',
    toolCallId: call.id,
    content: result?.text ?? open,
  }));
}
