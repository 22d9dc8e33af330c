import { describe, expect, it } from 'vitest';
import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import { argumentsDigest } from '../../src/hitl/digest.ts';
import { createGate } from '../../src/hitl/gate.ts';
import { clearanceOf } from '../../src/ports/approved-call.ts';
import type { ApprovalRecord, RunScope } from '../../src/ports/run-scope.ts';
import { APPROVAL } from '../model/samples.ts';

/** Hazard: a bug before the execution, which nothing but this last look would stop. */

const ASKED = { path: '/tmp/a' };

const gate = createGate({
  rules: [{ tools: ['forbidden'], effect: 'deny' }],
  requireApproval: ['danger'],
});

const approvalOf = (outcome?: ApprovalOutcome, asked: object = ASKED): ApprovalRecord => ({
  request: { ...APPROVAL, argumentsDigest: argumentsDigest(asked) },
  requestedAt: 0,
  expiresAt: 1,
  outcome,
});

function clearance(name: string, record?: ApprovalRecord) {
  const tool = { spec: { name, parameters: { type: 'object' } } };
  // The rest of a run plays no part here.
  const scope = {
    agent: { gate },
    tool: () => tool,
    gateApproval: () => record,
    isOwnQuestion: () => false,
  } as unknown as RunScope;
  return clearanceOf(scope, { id: 'a', name, argumentsText: JSON.stringify(ASKED) });
}

const APPROVED: ApprovalOutcome = { kind: 'approved' };

describe('the last look before a call is executed', () => {
  it('lets through what was approved, with the digest of its arguments', () => {
    const digest = argumentsDigest(ASKED);
    expect(clearance('danger', approvalOf(APPROVED))).toEqual({
      ok: true,
      args: ASKED,
      digest,
      isEdited: false,
    });
    expect(clearance('harmless')).toEqual({ ok: true, args: ASKED, isEdited: false });
  });

  it.each<[string, string, ApprovalRecord | undefined, string]>([
    ['nobody was asked about', 'danger', undefined, 'nobody has approved'],
    ['nobody has decided', 'danger', approvalOf(), 'nobody has approved'],
    ['was denied', 'danger', approvalOf({ kind: 'denied' }), 'nobody has approved'],
    ['came too late', 'danger', approvalOf({ kind: 'timed_out', waitedMs: 1 }), 'nobody has'],
    ['has other arguments', 'danger', approvalOf(APPROVED, { path: '/' }), 'not those that were'],
    ['a rule forbids', 'forbidden', approvalOf(APPROVED), 'a rule forbids it'],
  ])('refuses a call that %s', (_how, name, record, said) => {
    const answer = clearance(name, record);
    expect(answer).toMatchObject({ ok: false, text: expect.stringContaining(said) });
  });
});
