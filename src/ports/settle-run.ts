import { fromPromise } from 'xstate';
import type { SettleInput } from '../../machines/run.contract.ts';
import type { Failure, RunOutcome, StopCause, StopKind } from '../../machines/vocabulary.ts';
import type { FinishReason } from '../model.ts';
import { tellApprovalCompleted } from '../facts/approvals.ts';
import { tellCallEnded } from '../facts/call-ended.ts';
import type { ErrorFields, TerminalEvent } from '../journal/events.ts';
import { checkpointName } from '../journal/checkpoint.ts';
import type { Journal } from '../journal/journal.ts';
import { terminalRecord, usageFields } from '../facts/run-record.ts';
import { encodeLog } from '../transitions/codec.ts';
import { checkpointOf } from './checkpoint-run.ts';
import { parkedFields, parkReason } from './park-run.ts';
import { reopenRun } from './reopen-run.ts';
import type { RunScope } from './run-scope.ts';
import type { RunScopes } from './run-scopes.ts';
import { storedTranscript } from './transcript.ts';
import { withdrawOwed } from './withdraw-owed.ts';

/** Tries at storing the end; the chart bounds them all together. */
const TRIES_MAX = 3;
const RETRY_MS = 1_000;

/**
 * So long a run that parks waits for what its webhooks say to a notice. Below what a drain leaves of its
 * time to a run that comes to its checkpoint at the last moment, so that a deaf webhook loses no park.
 */
const PARK_NOTICES_MS = 800;

/**
 * Gives a run its one terminal entry. Resolves when it is durable, or when the store says that the
 * run has one already (INV-45): then nothing was written. Rejects when the store takes nothing.
 */
export function settleRunPort(scopes: RunScopes, journal: Journal) {
  return fromPromise<void, SettleInput>(async ({ input }) => {
    const scope = scopes.require(input.runId);
    noteLaterCauses(scope, input.notes);
    noteDisplacer(scope, input.outcome, scopes);
    await settle(scope, journal, input.outcome);
  });
}

/**
 * Closes what is open and stores the end, if need be on the session opened anew: after a failure a
 * session takes nothing more, and a new one starts from what the store really has. Once a run.
 * `noticesWithinMs` bounds the wait for webhooks that have to be told.
 */
export async function settle(
  scope: RunScope,
  journal: Journal,
  outcome: RunOutcome,
  noticesWithinMs = outcome.kind === 'parked' ? PARK_NOTICES_MS : undefined,
): Promise<void> {
  const heardLast = scope.journal.lastSeq;
  closeOpen(scope, outcome);
  await withdrawOwed(scope, noticesWithinMs);
  tellUsage(scope);
  for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
    try {
      if (attempt === 1) return await storeEnd(scope, outcome, heardLast);
      await pause(scope);
      await reopenRun(scope, journal);
      return await storeEnd(scope, outcome, 0);
    } catch (error) {
      scope.log.error({ run_id: scope.runId, attempt, err: error }, 'The end could not be stored');
      if (attempt === TRIES_MAX) throw error;
    }
  }
}

/** `heardLast` is the last entry before the end, where it is sure to be stored; else 0. */
async function storeEnd(scope: RunScope, outcome: RunOutcome, heardLast: number): Promise<void> {
  const event = terminalEvent(scope, outcome, heardLast);
  const transcript = storedTranscript(scope);
  const { won } = await scope.journal.settle(event, {
    record: (seq) => JSON.stringify(terminalRecord(scope, event, seq)),
    log: encodeLog(scope.transitions.history),
    ...(transcript !== undefined && { transcript }),
    ...(event.type === 'parked' && { parked: parkedFields(scope, event.reason) }),
  });
  scope.settled = true;
  if (!won) scope.log.warn({ run_id: scope.runId }, 'The run had been settled before');
}

/**
 * Calls and approvals that nobody closed, so that the record tells the truth of each (INV-38). Whoever
 * goes on with a parked run tells of them, but for questions to webhooks: those end with the run that
 * asked, since an answer would have nobody to come to.
 */
export function closeOpen(scope: RunScope, outcome: RunOutcome): void {
  if (scope.startedAt === null) return; // It told of none that it would have gone on with.
  const cause = causeOf(outcome);
  const isParked = outcome.kind === 'parked';
  for (const { request, outcome: known } of scope.approvals.values()) {
    if (known !== undefined || (isParked && request.route !== 'webhook')) continue;
    tellApprovalCompleted(scope, request, { kind: 'cancelled', cause });
  }
  if (isParked) return;
  for (const { call } of scope.calls.values()) {
    const abandoned = scope.executions.has(call.id);
    tellCallEnded(scope, {
      type: 'toolCall.ended',
      id: call.id,
      name: call.name,
      status: abandoned ? 'unknown' : 'cancelled',
      approval: null,
      cause,
      abandoned,
    });
  }
}

function terminalEvent(scope: RunScope, outcome: RunOutcome, heardLast: number): TerminalEvent {
  const usage = usageFields(scope);
  const now = scope.clock.now();
  const end = {
    by: whoEnded(outcome),
    at: now,
    after_ms: Math.max(0, now - (scope.startedAt ?? scope.createdAt)),
    evidence: evidenceOf(scope, outcome, heardLast),
  };
  switch (outcome.kind) {
    case 'finished':
      return { type: 'finished', ...finishFields(scope), ...usage, end };
    case 'failed':
      return { type: 'failed', error: errorFields(scope, outcome.failure), ...usage, end };
    case 'parked': {
      const checkpoint = checkpointName(checkpointOf(scope));
      return { type: 'parked', checkpoint, reason: parkReason(outcome.cause), ...usage, end };
    }
    case 'cancelled':
      return { type: 'cancelled', ...reasonOf(outcome.cause), ...usage, end };
  }
}

/** What the model said of its last turn: an answer that was cut short must not look whole. */
function finishFields({ lastTurn }: RunScope): { finish_reason?: FinishReason } {
  return lastTurn?.finish === undefined ? {} : { finish_reason: lastTurn.finish };
}

/** An end that nothing explains but what came before it, such as a model call that failed. */
function evidenceOf(
  { evidence }: RunScope,
  { kind }: RunOutcome,
  heardLast: number,
): readonly number[] {
  if (kind === 'finished') return []; // Its work was done, whoever read it.
  return evidence.length > 0 || heardLast === 0 ? evidence : [heardLast];
}

function errorFields(
  { redact }: RunScope,
  { code, message, retryable, retryAfterMs }: Failure,
): ErrorFields {
  return {
    code,
    message: redact(message),
    retryable,
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
  };
}

function reasonOf(cause: StopCause) {
  switch (cause.kind) {
    case 'deadline':
      return { reason: cause.kind, which: cause.which, after_ms: cause.afterMs } as const;
    case 'external':
      return {
        reason: cause.kind,
        ...(cause.message !== undefined && { message: cause.message }),
      } as const;
    case 'superseded':
      return {
        reason: cause.kind,
        ...(cause.by !== undefined && { message: `Run ${cause.by} took its place.` }),
      } as const;
    case 'error':
      throw new Error('invariant: an error is a failure, not a cancellation');
    default:
      return { reason: cause.kind } as const;
  }
}

const ENDED_BY: Readonly<Record<StopKind, string>> = {
  unclaimed: 'client',
  client_tool: 'client',
  external: 'operator',
  superseded: 'client',
  shutdown: 'supervisor',
  deadline: 'deadline',
  lease_lost: 'store',
  error: 'supervisor',
};

function whoEnded(outcome: RunOutcome): string {
  switch (outcome.kind) {
    case 'finished':
      return 'agent';
    case 'cancelled':
    case 'parked':
      return ENDED_BY[outcome.cause.kind];
    case 'failed':
      return OURS.has(outcome.failure.code) ? 'supervisor' : 'provider';
  }
}

/** Failures that are no provider's. */
const OURS = new Set([
  'internal_error',
  'invariant_violated',
  'turn_limit',
  'store_unavailable',
  'owner_lost',
]);

/** Why what is still open is closed. */
export function causeOf(outcome: RunOutcome): StopCause {
  if (outcome.kind === 'cancelled' || outcome.kind === 'parked') return outcome.cause;
  if (outcome.kind === 'failed') return { kind: 'error', failure: outcome.failure };
  return { kind: 'client_tool' };
}

/** The last prompt measures the context, so it is not the sum that is billed (decision 17). */
function tellUsage(scope: RunScope): void {
  const { usage, lastTurn, journal } = scope;
  if (usage.promptTokens === 0) return;
  const prompt = lastTurn?.usage.promptTokens ?? usage.promptTokens;
  journal.append('agent', {
    type: 'usage',
    prompt_tokens: prompt,
    completion_tokens: usage.completionTokens,
    total_tokens: prompt + usage.completionTokens,
  });
}

function noteLaterCauses(scope: RunScope, notes: readonly StopKind[]): void {
  if (notes.length === 0) return;
  scope.log.info({ run_id: scope.runId, notes }, 'Causes that came after the first one');
}

const pause = (scope: RunScope): Promise<void> =>
  new Promise((resolve) => {
    scope.clock.setTimeout(resolve, RETRY_MS);
  });

/** The newer run's first entry explains the end; it may well be in the journal by now. */
function noteDisplacer(scope: RunScope, outcome: RunOutcome, scopes: RunScopes): void {
  if (outcome.kind !== 'cancelled' || outcome.cause.kind !== 'superseded') return;
  const { firstSeq = 0 } = scopes.get(outcome.cause.by ?? '') ?? {};
  if (firstSeq > 0) scope.evidence.push(firstSeq);
}
