import type { RunEnd, RunRecord, RunState } from '../handle.ts';
import type { ErrorFields, TerminalEvent, UsageFields } from '../journal/events.ts';
import type { RunScope } from '../ports/run-scope.ts';

/** What is known of a live run now. `state` comes from its chart. */
export function liveRecord(scope: RunScope, state: RunState): RunRecord {
  return {
    ...commonFields(scope),
    state,
    ended_at: null,
    claims: [...scope.claims.values()],
    observers: scope.observers,
    deadlines: [...scope.stopwatches].map((stopwatch) => ({
      which: stopwatch.which,
      at: stopwatch.at,
      remaining_ms: stopwatch.remainingMs,
      suspended: stopwatch.suspended,
    })),
    obligations: obligationsOf(scope),
    approvals: pendingApprovals(scope),
    last_seq: scope.journal.lastSeq,
    end: null,
    verbs: state === 'stopping' ? ['attach'] : ['attach', 'cancel'],
  };
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
    approvals: [],
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
    liveness: { policy: command.liveness.policy, grace_ms: command.liveness.graceMs },
    created_at: createdAt,
    started_at: startedAt,
    usage: usageFields(scope),
    first_seq: firstSeq,
    continues: null,
    continued_by: null,
  };
}

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
    .filter(({ outcome }) => outcome === undefined)
    .map(({ request }) => request.decisionId);

function endOf(event: TerminalEvent): RunEnd {
  return {
    ...event.end,
    reason: event.type === 'cancelled' ? event.reason : null,
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
