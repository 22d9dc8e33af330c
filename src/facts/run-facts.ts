import type { ApprovalEmitted } from '../../machines/approval.machine.ts';
import type { ClaimsEmitted } from '../../machines/claims.machine.ts';
import type { RunEmitted } from '../../machines/run.contract.ts';
import type { ToolCallEmitted } from '../../machines/tool-call.contract.ts';
import type { TurnEmitted } from '../../machines/turn.machine.ts';
import type { ObligationRef, StopCause } from '../../machines/vocabulary.ts';
import type { RunScope } from '../ports/run-scope.ts';
import {
  causeFields,
  logRetrying,
  tellApprovalCompleted,
  tellApprovalPending,
  tellApprovalReminder,
  tellApprovalRequested,
  tellApprovalWithdrawn,
} from './approvals.ts';
import { tellCallEnded } from './call-ended.ts';
import { tellCallRequested } from './call-requested.ts';
import { livenessFields } from './run-record.ts';

/** Whatever the charts of one run tell. */
export type RunFact = RunEmitted | ClaimsEmitted | TurnEmitted | ToolCallEmitted | ApprovalEmitted;

/** Turns a fact of a run's charts into what the journal keeps of it. */
export function recordFact(scope: RunScope, fact: RunFact): void {
  switch (fact.type) {
    case 'run.queued':
      return tellQueued(scope);
    case 'run.started':
      return tellStarted(scope);
    case 'run.parking':
      return logParking(scope, fact.cause);
    case 'observer.attached':
      return tellAttached(scope, fact);
    case 'observer.detached':
      return tellDetached(scope, fact);
    case 'claims.exhausted':
      return keepEvidence(scope, { type: 'claims_exhausted', grace_ms: fact.graceMs });
    case 'liveness.decided':
      return keepEvidence(scope, { type: 'liveness_decided', policy: fact.policy });
    case 'run.stopping':
      return tellStopping(scope, fact.cause, fact.obligations);
    case 'obligation.asked':
      return tellAsked(scope, fact.obligation);
    case 'obligation.confirmed':
      return tellAnswered(scope, fact.obligation, 'confirmed');
    case 'obligation.abandoned':
      return tellAnswered(scope, fact.obligation, 'abandoned');
    case 'toolCall.ended':
      return tellCallEnded(scope, fact);
    case 'approval.requested':
      return tellApprovalRequested(scope, fact.request);
    case 'approval.pending':
      return tellApprovalPending(scope, fact.request);
    case 'approval.reminded':
      return tellApprovalReminder(scope, fact.request);
    case 'approval.retrying':
      return logRetrying(scope, fact);
    case 'approval.withdrawn':
      return tellApprovalWithdrawn(scope, fact);
    case 'approval.completed':
      return tellApprovalCompleted(scope, fact.request, fact.outcome);
    case 'attempt.started':
      return;
    case 'attempt.retrying':
      scope.log.info({ run_id: scope.runId, ...fact }, 'The model turn is tried again');
  }
}

function tellQueued(scope: RunScope): void {
  const { command, journal, resumption } = scope;
  const { agent } = command;
  scope.firstSeq = journal.append('lifecycle', {
    type: 'queued',
    agent,
    liveness: livenessFields(command.liveness),
    ...(resumption !== undefined && { continues: resumption.parkedRunId }),
  });
}

function tellStarted(scope: RunScope): void {
  const { command, journal, clock, resumption } = scope;
  scope.startedAt = clock.now();
  const seq = journal.append('lifecycle', {
    type: 'started',
    agent: command.agent,
    prompt: command.prompt,
    ...(command.timeoutMs !== undefined && { timeout_ms: command.timeoutMs }),
    liveness: livenessFields(command.liveness),
    ...(resumption !== undefined && { continues: resumption.parkedRunId }),
  });
  if (scope.firstSeq === 0) scope.firstSeq = seq;
  for (const record of scope.calls.values()) if (!record.ended) tellCallRequested(scope, record);
}

function tellAttached(
  scope: RunScope,
  { observer, withinGrace }: Extract<ClaimsEmitted, { type: 'observer.attached' }>,
): void {
  scope.claims.set(observer.id, observer);
  scope.journal.append('lifecycle', {
    type: 'observer_attached',
    observer: { ...observer, kind: 'claiming' },
    ...(withinGrace && { within_grace: true as const }),
  });
}

function logParking({ log, runId }: RunScope, { kind: because }: StopCause): void {
  log.info({ run_id: runId, because }, 'The run is to end at its next checkpoint');
}

function tellDetached(
  scope: RunScope,
  { observer, because }: Extract<ClaimsEmitted, { type: 'observer.detached' }>,
): void {
  scope.claims.delete(observer.id);
  keepEvidence(scope, {
    type: 'observer_detached',
    observer: { ...observer, kind: 'claiming' },
    because,
  });
}

function tellStopping(scope: RunScope, cause: StopCause, obligations: number): void {
  // First the signal: nothing may start between the decision and its record.
  scope.abort(cause);
  if (obligations === 0) return;
  const { reason, ...which } = causeFields(cause);
  keepEvidence(scope, { type: 'stopping', cause: reason, ...which, obligations });
}

function tellAsked(scope: RunScope, { what, id }: ObligationRef): void {
  scope.obligations.set(`${what}:${id}`, { state: 'asked', askedAt: scope.clock.now() });
  scope.journal.append('lifecycle', { type: 'obligation', what, id, state: 'asked', waited_ms: 0 });
}

function tellAnswered(
  scope: RunScope,
  { what, id }: ObligationRef,
  state: 'confirmed' | 'abandoned',
): void {
  const known = scope.obligations.get(`${what}:${id}`);
  const now = scope.clock.now();
  scope.obligations.set(`${what}:${id}`, { state, askedAt: known?.askedAt ?? now });
  const waited_ms = Math.max(0, now - (known?.askedAt ?? now));
  scope.journal.append('lifecycle', { type: 'obligation', what, id, state, waited_ms });
}

type Evidence = Parameters<RunScope['journal']['append']>[1];

/** Entries that explain the end are named in it. */
function keepEvidence(scope: RunScope, event: Evidence): void {
  scope.evidence.push(scope.journal.append('lifecycle', event));
}
