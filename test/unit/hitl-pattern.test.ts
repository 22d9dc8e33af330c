import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/hitl/gate.ts';
import { compileGlob } from '../../src/hitl/glob.ts';
import {
  compilePattern,
  MATCH_STEPS_MAX,
  PATTERN_CHARS_MAX,
  PATTERN_SIZE_MAX,
  PatternSyntaxError,
} from '../../src/hitl/rules/pattern.ts';

/**
 * Hazard: a pattern that an operator wrote in good faith and a text that a model wrote hold the one
 * thread for minutes, and every run with it.
 */
describe('patterns over what a model wrote', () => {
  // An engine that goes back over its steps would need more of them than there are atoms.
  it.each(['(a+)+$', '(a|aa)+$', '(a*)*b', '^(([a-z])+.)+[A-Z]([a-z])+$', '(.*a){25}b'])(
    '%s comes to an end on a text that is nearly one',
    (source) => {
      const matches = compilePattern(source);
      expect(matches(`${'a'.repeat(10_000)}!`)).toBe(false);
    },
  );

  it('come to an end in a name with many stars too', () => {
    expect(compileGlob(`${'*a'.repeat(30)}*b`)('a'.repeat(5_000))).toBe(false);
  });

  it('say nothing of a text that is too long for their size, which counts against the call', () => {
    const source = '[ab]{900}c';
    const long = 'a'.repeat(Math.ceil(MATCH_STEPS_MAX / 900));
    expect(compilePattern(source)('a'.repeat(1_000))).toBe(false);
    expect(compilePattern(source)(long)).toBeUndefined();
    const when = [{ pointer: '/x', op: 'matches', value: source }] as const;
    const gate = (effect: 'allow' | 'deny') =>
      createGate({ rules: [{ tools: ['t'], when, effect }], requireApproval: ['*'] });
    expect(gate('deny')('t', { x: long }).effect).toBe('deny');
    expect(gate('allow')('t', { x: long }).effect).toBe('approve');
  });

  it('meet texts of a hundred thousand characters when they are small', () => {
    const text = 'x'.repeat(100_000);
    expect(compilePattern('rm\\s+-rf')(`${text}rm  -rf`)).toBe(true);
    expect(compilePattern('rm\\s+-rf')(text)).toBe(false);
  });

  it.each([
    [
      '(?=a)',
      'is no regular expression that we match: invalid or unsupported Perl syntax at "(?="',
    ],
    ['(a)\\1', 'is no regular expression that we match: invalid escape sequence at "\\1"'],
    ['(a', 'is no regular expression that we match: missing closing ) at "(a"'],
    ['a'.repeat(PATTERN_CHARS_MAX + 1), `is longer than ${PATTERN_CHARS_MAX} characters`],
    ['[ab]{1000}'.repeat(3), `repeats too much: 3002 steps, where ${PATTERN_SIZE_MAX} may be`],
  ])('%j is refused because it %s', (source, message) => {
    expect(() => compilePattern(source)).toThrow(new PatternSyntaxError(message));
  });
});
