import { approvalMachine } from '../../machines/approval.machine.ts';
import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { Fields } from '../../src/testing/paths.ts';
import { describeModel } from './model-suite.ts';
import { APPROVAL, inShort, SHUTDOWN } from './samples.ts';

const decide = (approved: boolean, fields: Record<string, unknown> = {}): Fields => ({
  decisionId: APPROVAL.decisionId,
  approved,
  ...fields,
});

const decidedBefore = (decided: ApprovalOutcome) => ({
  input: { request: { ...APPROVAL, decided } },
  fact: inShort,
});

describeModel('approval', approvalMachine, {
  'approved while parked': decidedBefore({ kind: 'approved' }),
  'denied while parked': decidedBefore({ kind: 'denied', reason: 'no' }),
  'expired while parked': decidedBefore({ kind: 'timed_out', waitedMs: APPROVAL.timeoutMs }),
  asked: {
    input: { request: APPROVAL },
    fact: inShort,
    key: ({ context }) => context.outcome?.kind,
    payloads: {
      'approval.decide': {
        yes: decide(true),
        'yes with a reason': decide(true, { reason: 'looks right' }),
        no: decide(false),
        'yes to another': decide(true, { decisionId: 'decision-2' }),
        'no to another': decide(false, { decisionId: 'decision-2' }),
      },
      'approval.cancel': { shutdown: { cause: SHUTDOWN } },
    },
  },
});
