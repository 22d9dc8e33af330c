import { describe, expect, it } from 'vitest';
import type { Decision } from '../../machines/vocabulary.ts';
import { DecisionRefusedError } from '../../src/errors.ts';
import { checkDecision, type DecisionSubject } from '../../src/hitl/check-decision.ts';
import { argumentsDigest } from '../../src/hitl/digest.ts';
import { isSameDecision } from '../../src/hitl/same-decision.ts';

/** What a decision may say of one approval, before anybody takes it. */

const ASKED = { path: '/tmp/a', depth: 1 };
const schema = {
  type: 'object',
  properties: { path: { type: 'string' }, depth: { type: 'integer' } },
  required: ['path'],
  additionalProperties: false,
};

const subject = (fields: Partial<DecisionSubject> = {}): DecisionSubject => ({
  origin: { kind: 'config_gate', matchedPattern: 'delete_*' },
  policy: { allowsEdits: true, allowsGrants: true },
  gate: () => ({ effect: 'approve', matchedPattern: 'delete_*', heldBy: 'delete_*' }),
  argumentsDigest: argumentsDigest(ASKED),
  expected: { schema },
  ...fields,
});

const edit = (edited: Record<string, unknown>): Decision => ({ approved: true, arguments: edited });

/** Code and field of a refusal. */
function refusalOf(about: DecisionSubject, decision: Decision): readonly string[] {
  const taken = checkDecision(about, decision);
  if (!(taken instanceof DecisionRefusedError)) throw new Error('the decision is taken');
  return [taken.code, taken.field];
}

describe('an edit', () => {
  it('that fits the tool is taken as it is given', () => {
    const decision = edit({ path: '/tmp/b' });
    expect(checkDecision(subject(), decision)).toEqual(decision);
  });

  it.each([
    [{ path: 7 }, 'arguments.path'],
    [{}, 'arguments.path'],
    [{ path: '/b', depth: 1.5 }, 'arguments.depth'],
    [{ path: '/b', dept: 1 }, 'arguments.dept'],
  ])('%o that does not fit is refused at %s', (edited, field) => {
    expect(refusalOf(subject(), edit(edited))).toEqual(['invalid_arguments', field]);
  });

  it('that does not fit is refused with what would be right', () => {
    expect(checkDecision(subject(), edit({ path: 7 }))).toMatchObject({
      message:
        '`arguments.path` must be a text, not a number. Give arguments that the tool takes, or leave ' +
        'them out to approve the call as it was asked for.',
    });
  });

  it('of a tool that is not at hand is left to the call', () => {
    const { expected: _unknown, ...parked } = subject();
    const decision = edit({ path: 7 });
    expect(checkDecision(parked, decision)).toEqual(decision);
  });

  it('is held against the rules, with the arguments that it brings', () => {
    const gate: DecisionSubject['gate'] = (args) =>
      args['path'] === '/etc'
        ? { effect: 'deny', matchedPattern: 'delete_*' }
        : { effect: 'allow' };
    expect(refusalOf(subject({ gate }), edit({ path: '/etc' }))).toEqual([
      'arguments_forbidden',
      'arguments',
    ]);
    expect(checkDecision(subject({ gate }), edit({ path: '/b' }))).toEqual(edit({ path: '/b' }));
  });

  it('is refused where edits are off, before anything is said of the tool', () => {
    const strict = subject({ policy: { allowsEdits: false, allowsGrants: false } });
    expect(refusalOf(strict, edit({ path: 7 }))).toEqual(['edits_not_allowed', 'arguments']);
  });

  it('names a field of any length no further than a reader needs', () => {
    const [, field = ''] = refusalOf(subject(), edit({ path: '/b', ['x'.repeat(5_000)]: 1 }));
    expect(field.length).toBeLessThan(300);
  });
});

describe('arguments that are those that were asked for', () => {
  const same = edit({ depth: 1, path: '/tmp/a' });

  it('are no edit: nothing is taken but the approval', () => {
    const decision = { ...same, reason: 'Fine.', by: 'ann' };
    const taken = checkDecision(subject(), decision);
    expect(taken).toEqual({ approved: true, reason: 'Fine.', by: 'ann' });
    expect(taken).not.toHaveProperty('arguments');
  });

  it('may be sent where edits are off, whatever the tool makes of them', () => {
    const strict = subject({
      policy: { allowsEdits: false, allowsGrants: false },
      expected: { schema: { type: 'object', required: ['mode'] } },
    });
    expect(checkDecision(strict, same)).toEqual({ approved: true });
  });

  it('do not stand in the way of a grant', () => {
    const granting = { ...same, grant: 'session' as const };
    expect(checkDecision(subject(), granting)).toEqual({ approved: true, grant: 'session' });
  });

  it('are still refused with a denial, and where nothing can be edited', () => {
    const denial = { ...same, approved: false };
    expect(refusalOf(subject(), denial)).toEqual(['edits_not_allowed', 'arguments']);
    const origin = { kind: 'agent_requested', reason: 'r', agentName: 'a' } as const;
    expect(refusalOf(subject({ origin }), same)).toEqual(['edits_not_allowed', 'arguments']);
  });

  it('say the same again as an approval without any, and other ones do not', () => {
    const asked = argumentsDigest(ASKED);
    const plain = { kind: 'approved' } as const;
    const edited = { kind: 'approved', arguments: { path: '/b' } } as const;
    expect(isSameDecision(plain, same, asked)).toBe(true);
    expect(isSameDecision(plain, { approved: true }, asked)).toBe(true);
    expect(isSameDecision(plain, edit({ path: '/b' }), asked)).toBe(false);
    expect(isSameDecision(edited, edit({ path: '/b' }), asked)).toBe(true);
    expect(isSameDecision(edited, same, asked)).toBe(false);
    expect(isSameDecision(edited, { approved: true }, asked)).toBe(false);
  });
});
