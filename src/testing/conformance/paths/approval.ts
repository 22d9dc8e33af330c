import type { AnyEventObject, AnyMachineSnapshot } from 'xstate';
import { type ApprovalContext, approvalMachine } from '../../../../machines/approval.machine.ts';
import type { ApprovalRequest } from '../../../../machines/vocabulary.ts';
import type { Fields, Payload } from '../../paths.ts';
import { AGENTS, type AgentName, TOOLS } from '../kit/agents.ts';
import { approvalRequest, EXTERNAL } from './samples.ts';
import { ITSELF, type Scenario, scenarioOf } from './scenario.ts';
import { STEPS } from './steps.ts';

/** One human decision, by each way it can come. */
export const approvalScenarios = (): Scenario[] => [
  approval(
    'asked in the conversation',
    AGENTS.approvals,
    {},
    {
      'approval.decide (yes)': STEPS.approve,
      'approval.decide (yes with a reason)': STEPS.approveWithReason,
      'approval.decide (no)': STEPS.deny,
      'approval.decide (yes to another)': STEPS.approveAnother,
      'approval.decide (no to another)': STEPS.denyAnother,
      'approval.cancel': STEPS.cancel,
    },
  ),
  approval(
    'asked with reminders',
    AGENTS.approvals,
    { reminderMs: 1_000 },
    {
      'approval.decide (yes)': STEPS.approve,
      'after reminder': STEPS.reminderPasses,
    },
  ),
  approval(
    'asked for a while',
    AGENTS.impatient,
    {},
    {
      'approval.decide (yes)': STEPS.approve,
      'after expiry': STEPS.approvalPasses,
    },
  ),
  approval(
    'asked by webhook',
    AGENTS.webhook,
    { route: 'webhook' },
    {
      'approval.cancel': STEPS.cancel,
      'approval.decide (yes)': STEPS.approve,
      'done postApproval (approved)': STEPS.webhookApproves,
      'done postApproval (denied)': STEPS.webhookDenies,
      'done postApproval (failed for now)': STEPS.webhookFailsForNow,
      'done postApproval (failed for good)': STEPS.webhookRefuses,
      'after backoff': ITSELF,
    },
  ),
];

const approval = (
  name: string,
  agent: AgentName,
  request: Partial<ApprovalRequest>,
  sees: Readonly<Record<string, string>>,
): Scenario =>
  scenarioOf({
    feature: 'approvals',
    name,
    machine: approvalMachine,
    options: {
      input: { runId: 'run-1', request: approvalRequest(request) },
      fact: factOf,
      key: keyOf,
      payloads: PAYLOADS,
    },
    begins: { agent, by: 'start', model: { calls: TOOLS.guarded } },
    sees,
    tells: ['approval_requested', 'approval_pending', 'approval_reminder', 'approval_completed'],
    ending: (end) => ({
      terminal: contextOf(end).outcome?.kind === 'cancelled' ? 'cancelled(external)' : 'finished',
    }),
  });

const contextOf = (snapshot: AnyMachineSnapshot): ApprovalContext => snapshot.context;

const decide = (approved: boolean, fields: Fields = {}): Fields => ({
  decisionId: approvalRequest().decisionId,
  approved,
  ...fields,
});

/** A third failure follows the second one as the second follows the first. */
const failedPost =
  (retryable: boolean): Payload =>
  (snapshot) =>
    contextOf(snapshot).failures < 2
      ? { output: { kind: 'failed', message: 'status 503', jitter: 0, retryable } }
      : undefined;

const PAYLOADS = {
  'approval.decide': {
    yes: decide(true),
    'yes with a reason': decide(true, { reason: 'fine' }),
    no: decide(false),
    'yes to another': decide(true, { decisionId: 'another' }),
    'no to another': decide(false, { decisionId: 'another' }),
  },
  'approval.cancel': { '': { cause: EXTERNAL } },
  'xstate.done.actor.postApproval': {
    approved: { output: { kind: 'decided', decision: { approved: true } } },
    denied: { output: { kind: 'decided', decision: { approved: false } } },
    'failed for now': failedPost(true),
    'failed for good': failedPost(false),
  },
  'xstate.error.actor.postApproval': { '': () => undefined },
};

const keyOf = (snapshot: AnyMachineSnapshot): unknown => {
  const { outcome, failures, failure } = contextOf(snapshot);
  return [outcome?.kind, failures, failure];
};

const NAMES: Readonly<Record<string, string>> = {
  'approval.requested': 'approval_requested',
  'approval.pending': 'approval_pending',
  'approval.reminded': 'approval_reminder',
};

function factOf({ type, outcome }: AnyEventObject): string {
  if (type === 'approval.completed') return `approval_completed(${outcome?.kind})`;
  return NAMES[type] ?? '';
}
