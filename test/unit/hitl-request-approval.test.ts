import { describe, expect, it } from 'vitest';
import {
  REQUEST_APPROVAL,
  REQUEST_APPROVAL_SPEC,
  readRequest,
  requestResult,
} from '../../src/hitl/request-approval.ts';

const ARGS = {
  action_description: 'Delete the index.',
  risk_rationale: 'It takes a day to build.',
};

describe('request_approval: what is asked', () => {
  it('is described to the model with the two fields that it must fill in', () => {
    expect(REQUEST_APPROVAL_SPEC.name).toBe(REQUEST_APPROVAL);
    expect(REQUEST_APPROVAL_SPEC.parameters).toMatchObject({
      type: 'object',
      required: ['action_description', 'risk_rationale'],
      properties: { context: { type: 'object' }, _aura_reasoning: { type: 'string' } },
    });
  });

  it('shows the arguments to the person, and takes the intent out of them', () => {
    const args = { ...ARGS, context: { index: 'main' }, _aura_reasoning: 'Free some space.' };
    expect(readRequest(args)).toEqual({
      ok: true,
      request: {
        reason: ARGS.risk_rationale,
        intent: 'Free some space.',
        shown: { ...ARGS, context: { index: 'main' } },
      },
    });
    expect(args).toHaveProperty('_aura_reasoning');
  });

  it.each([undefined, '', '  \n', 5, null])('knows no intent of %j', (said) => {
    const request = { reason: ARGS.risk_rationale, shown: ARGS };
    expect(readRequest({ ...ARGS, _aura_reasoning: said })).toEqual({ ok: true, request });
  });

  it.each([
    [{ risk_rationale: 'x' }, '"action_description" of request_approval is missing'],
    [{ action_description: 'x' }, '"risk_rationale" of request_approval is missing'],
    [
      { ...ARGS, action_description: ' ' },
      '"action_description" of request_approval must be a text',
    ],
    [{ ...ARGS, risk_rationale: 5 }, '"risk_rationale" of request_approval must be a text'],
    [{ ...ARGS, context: 'x' }, '"context" of request_approval must be an object'],
    [{ ...ARGS, context: [] }, '"context" of request_approval must be an object'],
  ])('is not asked when it is %j', (args, problem) => {
    expect(readRequest(args)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
    expect(readRequest(args)).toHaveProperty(
      'problem',
      expect.stringContaining('Nobody was asked'),
    );
  });

  it('is asked without a context where the model says null', () => {
    expect(readRequest({ ...ARGS, context: null })).toHaveProperty('ok', true);
  });
});

describe('request_approval: what the model reads', () => {
  it.each([
    [{ kind: 'approved' }, false, /approved.*may proceed/],
    [{ kind: 'approved', reason: 'secretly' }, false, /^(?!.*secretly).*may proceed/],
    [
      { kind: 'approved', arguments: { b: 1, a: 'less' } },
      false,
      /with changes.*nothing else: \{"a":"less","b":1\}$/,
    ],
    [{ kind: 'denied', reason: 'not today' }, false, /rejected: not today\. Do not proceed/],
    [{ kind: 'denied', reason: 'Never!' }, false, /rejected: Never! Do not proceed/],
    [{ kind: 'denied' }, false, /rejected: no reason provided\. Do not proceed/],
    [{ kind: 'timed_out', waitedMs: 5 }, true, /timed out.*not approved/],
    [{ kind: 'cancelled', cause: { kind: 'unclaimed' } }, true, /cancelled.*not approved/],
    [{ kind: 'errored', message: 'status 500' }, true, /failed: status 500\. You may ask again/],
  ] as const)('of %j is an error: %j', (outcome, isError, text) => {
    const result = requestResult(outcome);
    expect(result.isError).toBe(isError);
    expect(result.text).toMatch(text);
  });
});
