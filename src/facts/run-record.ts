import type { Liveness } from '../../machines/vocabulary.ts';
import type { RunEnd, RunRecord, RunState } from '../handle.ts';
import type { ErrorFields, LivenessFields, TerminalEvent, UsageFields } from '../journal/events.ts';
import type { RunScope } from '../ports/run-scope.ts';

/** What is known of a live run now. `state` comes from its chart. */
export function liveRecord(scope: RunScope, state: RunState, isParking = false): RunRecord {
  return {
    ...commonFields(scope),
    state,
    ended_at: null,
    claims: [...scope.claims.values()],
    observers: scope.observers,
    deadlines: [...scope.stopwatches].map((stopwatch) => ({
      which: stopwatch.which,
      at: stopwatch.at === null ? null : Math.round(stopwatch.at),
      remaining_ms: Math.round(stopwatch.remainingMs),
      suspended: stopwatch.suspended,
    })),
    obligations: obligationsOf(scope),
    approvals: pendingApprovals(scope),
    last_seq: scope.journal.lastSeq,
    end: null,
    verbs: verbsOf(scope, state, isParking),
  };
}

/** What may be done to a live run; one that is about to park is past parking. */
function verbsOf({ agent }: RunScope, state: RunState, isParking: boolean): RunRecord['verbs'] {
  if (state === 'stopping') return ['attach'];
  return agent.canPark && !isParking ? ['attach', 'cancel', 'park'] : ['attach', 'cancel'];
}

/** The record that is stored with the terminal entry and answered from then on. */
export function terminalRecord(scope: RunScope, event: TerminalEvent, seq: number): RunRecord {
  return {
    ...commonFields(scope),
    state: event.type,
    ended_at: event.end.at,
    claims: [],
    observers: 0,
    deadlines: [],
    obligations: obligationsOf(scope),
    approvals: event.type === 'parked' ? pendingApprovals(scope) : [],
    last_seq: seq,
    end: endOf(event),
    verbs: ['attach'],
  };
}

function commonFields(scope: RunScope) {
  const { runId, sessionId, command, createdAt, startedAt, firstSeq } = scope;
  return {
    run_id: runId,
    session_id: sessionId,
    agent: command.agent,
    liveness: livenessFields(command.liveness),
    created_at: createdAt,
    started_at: startedAt,
    usage: usageFields(scope),
    first_seq: firstSeq,
    continues: scope.resumption?.parkedRunId ?? null,
    continued_by: null,
  };
}

export const livenessFields = ({ policy, graceMs }: Liveness): LivenessFields => ({
  policy,
  grace_ms: graceMs,
});

export function usageFields({ usage }: RunScope): UsageFields {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
  };
}

function obligationsOf({ obligations }: RunScope): RunRecord['obligations'] {
  return [...obligations].map(([key, { state }]) => {
    const colon = key.indexOf(':');
    return { what: key.slice(0, colon), id: key.slice(colon + 1), state };
  });
}

const pendingApprovals = ({ approvals }: RunScope): readonly string[] =>
  [...approvals.values()]
    .filter(({ outcome, request }) => (outcome ?? request.decided) === undefined)
    .map(({ request }) => request.decisionId);

function endOf(event: TerminalEvent): RunEnd {
  return {
    ...event.end,
    reason: event.type === 'cancelled' || event.type === 'parked' ? event.reason : null,
    which: event.type === 'cancelled' ? (event.which ?? null) : null,
    error: event.type === 'failed' ? errorOf(event.error) : null,
  };
}

/** The record has the keys that its contract names; what else the entry tells stays in the journal. */
const errorOf = ({ code, message, retryable }: ErrorFields): RunEnd['error'] => ({
  code,
  message,
  retryable,
});
