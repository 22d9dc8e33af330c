import type { AnyMachineSnapshot } from 'xstate';
import { type ApprovalContext, approvalMachine } from '../../machines/approval.machine.ts';
import type { ApprovalOutcome, ApprovalRequest } from '../../machines/vocabulary.ts';
import type { Fields } from '../../src/testing/paths.ts';
import { describeModel } from './model-suite.ts';
import { APPROVAL, inShort, SHUTDOWN } from './samples.ts';

const decide = (approved: boolean, fields: Record<string, unknown> = {}): Fields => ({
  decisionId: APPROVAL.decisionId,
  approved,
  ...fields,
});

const input = (fields: Partial<ApprovalRequest> = {}) => ({
  runId: 'run-1',
  request: { ...APPROVAL, ...fields },
});

const decidedBefore = (decided: ApprovalOutcome) => ({ input: input({ decided }), fact: inShort });

const contextOf = (snapshot: AnyMachineSnapshot): ApprovalContext => snapshot.context;

/** A third failure follows the second one as the second follows the first. */
const failed = (fields: Fields) => (snapshot: AnyMachineSnapshot) =>
  contextOf(snapshot).failures < 2
    ? {
        output: {
          kind: 'failed',
          message: 'webhook answered with status 503',
          jitter: 0,
          ...fields,
        },
      }
    : undefined;

const DECISIONS = {
  yes: decide(true),
  'yes with a reason': decide(true, { reason: 'looks right' }),
  no: decide(false),
  'yes to another': decide(true, { decisionId: 'decision-2' }),
  'no to another': decide(false, { decisionId: 'decision-2' }),
};

const WEBHOOK = {
  'approval.decide': {
    'yes, unsigned': decide(true),
    'yes, signed': decide(true, { signed: true }),
    'no, signed': decide(false, { signed: true }),
  },
  'approval.cancel': { shutdown: { cause: SHUTDOWN } },
  'xstate.done.actor.postApproval': {
    approved: { output: { kind: 'decided', decision: { approved: true, by: 'webhook' } } },
    denied: { output: { kind: 'decided', decision: { approved: false, reason: 'no' } } },
    'too late': { output: { kind: 'expired' } },
    'failed for now': failed({ retryable: true }),
    'failed for good': failed({ retryable: false }),
  },
  'xstate.error.actor.postApproval': { bug: { error: new Error('bug') } },
};

const key = (snapshot: AnyMachineSnapshot) => {
  const { outcome, failures, failure } = contextOf(snapshot);
  return [outcome?.kind, failures, failure];
};

describeModel('approval', approvalMachine, {
  'approved while parked': decidedBefore({ kind: 'approved' }),
  'denied while parked': decidedBefore({ kind: 'denied', reason: 'no' }),
  'expired while parked': decidedBefore({ kind: 'timed_out', waitedMs: APPROVAL.timeoutMs }),
  'granted for the session': { input: input({ grantedBy: 'decision-0' }), fact: inShort },
  asked: {
    input: input(),
    fact: inShort,
    key,
    payloads: {
      'approval.decide': DECISIONS,
      'approval.cancel': { shutdown: { cause: SHUTDOWN } },
    },
  },
  'asked with reminders': {
    input: input({ reminderMs: 50_000 }),
    fact: inShort,
    key,
    payloads: {
      'approval.decide': { yes: decide(true) },
      'approval.cancel': { shutdown: { cause: SHUTDOWN } },
    },
  },
  'by webhook': { input: input({ route: 'webhook' }), fact: inShort, key, payloads: WEBHOOK },
  'by webhook, decided by a signature': {
    input: input({ route: 'webhook' }),
    fact: inShort,
    key,
    payloads: { ...WEBHOOK, 'approval.decide': { 'yes, signed': decide(true, { signed: true }) } },
  },
});
