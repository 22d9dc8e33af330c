import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/hitl/gate.ts';
import type { ApprovalRule, RuleCondition } from '../../src/hitl/rules.ts';

type Effect = ApprovalRule['effect'];

const EFFECTS: readonly Effect[] = ['approve', 'deny', 'allow'];

/** Whether a rule of this effect and condition matches a call with these arguments. */
function matches(effect: Effect, when: RuleCondition, args: Record<string, unknown>): boolean {
  const gate = createGate({ rules: [{ tools: ['t'], when: [when], effect }], requireApproval: [] });
  return gate('t', args).matchedPattern === 't';
}

const at = (op: RuleCondition['op'], value: unknown): RuleCondition =>
  // Each test gives the value that its op is for.
  ({ pointer: '/x', op, value }) as RuleCondition;

/** One of each op, with what it says of the number 5. */
const OPS: readonly RuleCondition[] = [
  at('eq', 5),
  at('ne', 5),
  at('in', [5]),
  at('matches', '5'),
  at('gt', 1),
  at('lt', 9),
];

describe('approval rules', () => {
  it('come before the globs of require_approval', () => {
    const rules = [{ tools: ['read_*'], when: [], effect: 'allow' }] as const;
    const gate = createGate({ rules, requireApproval: ['*'] });
    expect(gate('read_file', {})).toEqual({ effect: 'allow', matchedPattern: 'read_*' });
    expect(gate('write_file', {})).toMatchObject({ effect: 'approve', matchedPattern: '*' });
  });

  it('are taken in their order, whatever their effects', () => {
    const rule = (effect: Effect): ApprovalRule => ({ tools: ['x', '*'], when: [], effect });
    for (const first of EFFECTS) {
      for (const second of EFFECTS) {
        const gate = createGate({ rules: [rule(first), rule(second)], requireApproval: [] });
        expect(gate('a', {})).toMatchObject({ effect: first, matchedPattern: '*' });
      }
    }
  });

  it('report the first of their own globs that matches', () => {
    const rules = [{ tools: ['b*', '*c', 'abc'], when: [], effect: 'deny' }] as const;
    expect(createGate({ rules, requireApproval: [] })('abc', {}).matchedPattern).toBe('*c');
  });

  it('match only when every condition holds', () => {
    const when = [
      { pointer: '/env', op: 'eq', value: 'production' },
      { pointer: '/count', op: 'gt', value: 10 },
    ] as const;
    const gate = createGate({
      rules: [{ tools: ['t'], when, effect: 'deny' }],
      requireApproval: [],
    });
    expect(gate('t', { env: 'production', count: 11 }).effect).toBe('deny');
    expect(gate('t', { env: 'production', count: 10 }).effect).toBe('allow');
    expect(gate('t', { env: 'staging', count: 11 }).effect).toBe('allow');
    expect(gate('other', { env: 'production', count: 11 }).effect).toBe('allow');
  });

  it('hold for what cannot be compared no more than their other conditions do', () => {
    const when = [at('gt', 10), { pointer: '/env', op: 'eq', value: 'production' }] as const;
    const gate = createGate({
      rules: [{ tools: ['t'], when, effect: 'deny' }],
      requireApproval: [],
    });
    expect(gate('t', { x: 'many', env: 'staging' }).effect).toBe('allow');
    expect(gate('t', { x: 'many', env: 'production' }).effect).toBe('deny');
  });
});

describe('conditions of approval rules', () => {
  it.each<[RuleCondition, unknown, boolean]>([
    [at('eq', 1), 1, true],
    [at('eq', 1), 1.5, false],
    [at('eq', 1), '1', false],
    [at('eq', '1'), 1, false],
    [at('eq', 0), -0, true],
    [at('eq', 0), false, false],
    [at('eq', null), null, true],
    [at('eq', null), '', false],
    [at('eq', true), true, true],
    [at('ne', 1), 2, true],
    [at('ne', 1), 1, false],
    [at('ne', 1), '1', true],
    [at('ne', null), null, false],
    [at('in', ['a', 1, null]), 'a', true],
    [at('in', ['a', 1, null]), 1, true],
    [at('in', ['a', 1, null]), null, true],
    [at('in', ['a', 1, null]), '1', false],
    [at('gt', 5), 5, false],
    [at('gt', 5), 5.1, true],
    [at('gt', 5), Number.POSITIVE_INFINITY, true],
    [at('lt', 5), 5, false],
    [at('lt', 5), -1, true],
    [at('matches', 'etc'), '/etc/passwd', true],
    [at('matches', '^etc'), '/etc/passwd', false],
    [at('matches', '^/etc$'), '/etc\n', false],
    [at('matches', '(?i)DROP\\s+table'), 'x; drop \n table y', true],
    [at('matches', '^.$'), '\u{1f600}', true],
    [at('matches', ''), '', true],
  ])('%j says of %j: %j, in a rule of any effect', (condition, x, expected) => {
    for (const effect of EFFECTS) expect(matches(effect, condition, { x })).toBe(expected);
  });

  it.each(OPS)('%j without a value holds for ne alone, and in no allow rule', (condition) => {
    for (const args of [{}, { y: 5 }]) {
      expect(matches('deny', condition, args)).toBe(condition.op === 'ne');
      expect(matches('approve', condition, args)).toBe(condition.op === 'ne');
      expect(matches('allow', condition, args)).toBe(false);
    }
  });

  it.each<[RuleCondition, readonly unknown[]]>([
    [at('eq', 5), [{}, [], [5]]],
    [at('ne', 5), [{}, [], [5]]],
    [at('in', [5]), [{}, [], [5]]],
    [at('matches', '5'), [5, true, null, {}, ['5']]],
    [at('gt', 1), ['5', true, null, {}, [5]]],
    [at('lt', 9), ['5', true, null, {}, [5]]],
  ])('%j counts a value of another type against the call', (condition, values) => {
    for (const x of values) {
      expect(matches('deny', condition, { x })).toBe(true);
      expect(matches('approve', condition, { x })).toBe(true);
      expect(matches('allow', condition, { x })).toBe(false);
    }
  });

  it('compare the whole of the arguments with nothing, so they count against the call', () => {
    const whole = { pointer: '', op: 'eq', value: 1 } as const;
    expect(matches('deny', whole, {})).toBe(true);
    expect(matches('allow', whole, {})).toBe(false);
  });
});

describe('approval rules from callers without types', () => {
  it.each(['equals', '', undefined])('with the comparison %j are no gate at all', (op) => {
    for (const effect of EFFECTS) {
      const when = [{ pointer: '/a', op, value: 1 } as unknown as RuleCondition];
      const make = () =>
        createGate({ rules: [{ tools: ['t'], when, effect }], requireApproval: [] });
      expect(make).toThrow(TypeError);
    }
  });

  it('without conditions hold for each call of their tools', () => {
    const gate = createGate({ rules: [{ tools: ['t'], effect: 'deny' }], requireApproval: [] });
    expect(gate('t', { any: 1 })).toEqual({ effect: 'deny', matchedPattern: 't' });
  });

  it('tell two rules with one pattern apart by what they hold back', () => {
    const when = (value: string) => [{ pointer: '/to', op: 'eq', value } as const];
    const gate = createGate({
      rules: [
        { tools: ['pay_*'], when: when('friend'), effect: 'approve' },
        { tools: ['pay_*'], when: when('stranger'), effect: 'approve' },
      ],
      requireApproval: ['pay_*'],
    });
    const heldBy = (to: string) => {
      const verdict = gate('pay_now', { to });
      return verdict.effect === 'approve' ? verdict.heldBy : undefined;
    };
    expect(new Set([heldBy('friend'), heldBy('stranger'), heldBy('nobody')]).size).toBe(3);
    expect(heldBy('friend')).toBe(heldBy('friend'));
  });
});
