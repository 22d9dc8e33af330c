import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentsDigest } from '../../src/hitl/digest.ts';
import { createGate, type Verdict } from '../../src/hitl/gate.ts';
import { compileGlob } from '../../src/hitl/glob.ts';
import type { ApprovalRule, RuleCondition } from '../../src/hitl/rules.ts';
import { compilePattern, PatternSyntaxError } from '../../src/hitl/rules/pattern.ts';
import { compilePointer, PointerSyntaxError } from '../../src/hitl/rules/pointer.ts';

/**
 * Hazard: a call that a rule was meant to hold back and that runs unasked, because of its name, the
 * shape of its arguments or the order of the rules. The oracle below is the rules' meaning written
 * down case by case, with nothing of the code under test.
 */

const scalar = fc.constantFrom<string | number | boolean | null>(
  'a',
  'b',
  '1',
  '',
  1,
  2,
  true,
  null,
);

const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    { weight: 5, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(tie('json'), { maxLength: 2 }) },
    {
      weight: 1,
      arbitrary: fc.dictionary(fc.constantFrom('x', 'y', '0'), tie('json'), { maxKeys: 2 }),
    },
  ),
}));

const args = fc.dictionary(fc.constantFrom('x', 'y', 'z'), json, { maxKeys: 3 });

const pointer = fc.constantFrom('/x', '/y', '/x/0', '/x/x', '/y/y/0', '/z/-', '');

const condition: fc.Arbitrary<RuleCondition> = fc.oneof(
  fc.record({ pointer, op: fc.constantFrom('eq', 'ne'), value: scalar }),
  fc.record({ pointer, op: fc.constant('in' as const), value: fc.array(scalar, { maxLength: 3 }) }),
  fc.record({ pointer, op: fc.constantFrom('gt', 'lt'), value: fc.integer({ min: 0, max: 2 }) }),
  fc.record({
    pointer,
    op: fc.constant('matches' as const),
    value: fc.constantFrom('a', '^$', '1'),
  }),
);

const glob = fc.constantFrom('*', 'read_*', 'write_*', '*_file', 'read_file');
const toolName = fc.constantFrom('read_file', 'write_file', 'write_dir', 'other', 'write_\n', '..');

const rule: fc.Arbitrary<ApprovalRule> = fc.record({
  tools: fc.array(glob, { minLength: 1, maxLength: 2 }),
  when: fc.array(condition, { maxLength: 2 }),
  effect: fc.constantFrom('approve', 'deny', 'allow'),
});

const options = fc.record({
  rules: fc.array(rule, { maxLength: 3 }),
  requireApproval: fc.array(glob, { maxLength: 2 }),
});

const GLOBS: Readonly<Record<string, (name: string) => boolean>> = {
  '*': () => true,
  'read_*': (name) => name.startsWith('read_'),
  'write_*': (name) => name.startsWith('write_'),
  '*_file': (name) => name.endsWith('_file'),
  read_file: (name) => name === 'read_file',
};

const isMap = (of: unknown): of is Record<string, unknown> =>
  typeof of === 'object' && of !== null && !Array.isArray(of);

const named = (of: unknown, key: string): unknown => (isMap(of) ? of[key] : undefined);

/** Maps may have the name "0" as well. */
const first = (of: unknown): unknown => (Array.isArray(of) ? of[0] : named(of, '0'));

const VALUES: Readonly<Record<string, (call: object) => unknown>> = {
  '/x': (call) => named(call, 'x'),
  '/y': (call) => named(call, 'y'),
  '/x/0': (call) => first(named(call, 'x')),
  '/x/x': (call) => named(named(call, 'x'), 'x'),
  '/y/y/0': (call) => first(named(named(call, 'y'), 'y')),
  '/z/-': () => undefined,
  '': (call) => call,
};

const TEXTS: Readonly<Record<string, (text: string) => boolean>> = {
  a: (text) => text.includes('a'),
  '^$': (text) => text === '',
  '1': (text) => text.includes('1'),
};

/** Undefined: it cannot be compared. */
function compared({ op, value }: RuleCondition, of: unknown): boolean | undefined {
  if (op === 'matches') return typeof of === 'string' ? TEXTS[value]?.(of) : undefined;
  if (op === 'gt') return typeof of === 'number' ? of > value : undefined;
  if (op === 'lt') return typeof of === 'number' ? of < value : undefined;
  if (typeof of === 'object' && of !== null) return undefined;
  if (op === 'eq') return of === value;
  if (op === 'ne') return of !== value;
  return (value as readonly unknown[]).includes(of);
}

function holds(one: RuleCondition, effect: ApprovalRule['effect'], call: object): boolean {
  const of = VALUES[one.pointer]?.(call);
  if (of === undefined) return one.op === 'ne' && effect !== 'allow';
  return compared(one, of) ?? effect !== 'allow';
}

function oracle(
  of: { rules: ApprovalRule[]; requireApproval: string[] },
  name: string,
  call: object,
): Verdict {
  for (const { tools, when = [], effect } of of.rules) {
    const matchedPattern = tools.find((one) => GLOBS[one]?.(name));
    if (matchedPattern === undefined) continue;
    if (!when.every((one) => holds(one, effect, call))) continue;
    if (effect !== 'approve') return { effect, matchedPattern };
    return { effect, matchedPattern, heldBy: expect.any(String) };
  }
  const matchedPattern = of.requireApproval.find((one) => GLOBS[one]?.(name));
  return matchedPattern === undefined
    ? { effect: 'allow' }
    : { effect: 'approve', matchedPattern, heldBy: matchedPattern };
}

describe('approval gate: any rules and any call', () => {
  it('gives the verdict of the first rule that means the call', () => {
    fc.assert(
      fc.property(options, toolName, args, (of, name, call) => {
        expect(createGate(of)(name, call)).toEqual(oracle(of, name, call));
      }),
      { numRuns: 5_000 },
    );
  });

  it('gives the same verdict for arguments with the same digest, and leaves them as they are', () => {
    fc.assert(
      fc.property(options, toolName, args, (of, name, call) => {
        const gate = createGate(of);
        const digest = argumentsDigest(call);
        const verdict = gate(name, call);
        const other = Object.fromEntries(Object.entries(structuredClone(call)).reverse());
        expect(argumentsDigest(other)).toBe(digest);
        expect(gate(name, other)).toEqual(verdict);
        expect(argumentsDigest(call)).toBe(digest);
      }),
    );
  });

  it('lets no name past "*", and none but itself past its own spelling', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(name, name, (one, other) => {
        expect(compileGlob('*')(one)).toBe(true);
        const spelt = Array.from(one, (char) => `\\${char}`).join('');
        expect(compileGlob(spelt)(one)).toBe(true);
        expect(compileGlob(spelt)(other)).toBe(one === other);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('JSON pointer: any document', () => {
  const document = fc.jsonValue({ maxDepth: 3 });

  function pathsOf(value: unknown): readonly (readonly [string, unknown])[] {
    if (typeof value !== 'object' || value === null) return [['', value]];
    const inner = Object.entries(value).flatMap(([key, item]) => {
      const name = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      return pathsOf(item).map(([rest, found]) => [name + rest, found] as const);
    });
    return [['', value], ...inner];
  }

  it('finds everything that it holds', () => {
    fc.assert(
      fc.property(document, (value) => {
        for (const [path, found] of pathsOf(value)) {
          expect(compilePointer(path)(value)).toEqual({ value: found });
        }
      }),
    );
  });

  it('is read with any text or refuses it as no pointer', () => {
    const text = fc.string({ unit: fc.constantFrom('/', '~', '0', '1', 'a'), maxLength: 8 });
    fc.assert(
      fc.property(text, document, (path, value) => {
        try {
          compilePointer(path)(value);
          expect(path).toMatch(/^(?:\/(?:[^~]|~[01])*)?$/);
        } catch (error) {
          expect(error).toBeInstanceOf(PointerSyntaxError);
        }
      }),
    );
  });
});

describe('patterns: any text', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '(?:a|b)',
    'a*',
    'b+',
    'a?',
    '^',
    '$',
    '\\d',
  );

  it('find what the language itself finds, where both know the syntax', () => {
    const source = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', '\n'), maxLength: 10 });
    fc.assert(
      fc.property(source, text, (pattern, of) => {
        expect(compilePattern(pattern)(of)).toBe(new RegExp(pattern).test(of));
      }),
      { numRuns: 2_000 },
    );
  });

  it('are compiled or refused, never anything else', () => {
    const unit = fc.constantFrom(...'ab(){}[]*+?|^$\\.,-:=!<>P19iszAZ'.split(''), '\u{1f600}');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 14 }), fc.string(), (source, text) => {
        try {
          expect(compilePattern(source)(text)).toBeTypeOf('boolean');
        } catch (error) {
          expect(error).toBeInstanceOf(PatternSyntaxError);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
