import { expect, it } from 'vitest';
import { tellApprovalCompleted } from '../../src/facts/approvals.ts';
import type { ApprovalRecord, RunScope } from '../../src/ports/run-scope.ts';
import { APPROVAL } from '../model/samples.ts';

/** Hazard: an approval whose chart crashes after it has told of its end is told as ended once more. */
it('an approval is told as ended once, as it ended first', () => {
  const record: ApprovalRecord = {
    request: APPROVAL,
    requestedAt: 0,
    expiresAt: 1,
    outcome: undefined,
  };
  const told: unknown[] = [];
  const nothing = () => {};
  // The rest of a run plays no part here.
  const scope = {
    approvals: new Map([[APPROVAL.decisionId, record]]),
    calls: new Map(),
    questions: new Map(),
    clock: { now: () => 5 },
    command: { agent: 'agent' },
    desk: { closed: nothing },
    journal: { append: (_kind: string, event: unknown) => told.push(event), endApproval: nothing },
    log: { info: nothing, warn: nothing },
    redact: (text: string) => text,
  } as unknown as RunScope;
  tellApprovalCompleted(scope, APPROVAL, { kind: 'denied' });
  tellApprovalCompleted(scope, APPROVAL, { kind: 'errored', message: 'the approval crashed' });
  expect(told).toMatchObject([{ type: 'approval_completed', outcome: { kind: 'denied' } }]);
  expect(record.outcome).toEqual({ kind: 'denied' });
});
