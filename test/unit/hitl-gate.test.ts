import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/hitl/gate.ts';
import { compileGlob, GlobSyntaxError } from '../../src/hitl/glob.ts';

describe('approval gate', () => {
  it('reports the first pattern in configuration order that matches', () => {
    const gate = createGate({ requireApproval: ['read_*', '*_file', 'delete_file'] });
    expect(gate('delete_file', {})).toMatchObject({ effect: 'approve', matchedPattern: '*_file' });
    expect(gate('read_file', {})).toMatchObject({ effect: 'approve', matchedPattern: 'read_*' });
  });

  it('lets a tool pass that no pattern matches, and names none', () => {
    expect(createGate({ requireApproval: ['delete_*'] })('add', {})).toEqual({ effect: 'allow' });
    expect(createGate({ requireApproval: [] })('delete_file', {})).toEqual({ effect: 'allow' });
  });

  it('refuses a pattern that is not a glob', () => {
    expect(() => createGate({ requireApproval: ['ok', '[a'] })).toThrow(GlobSyntaxError);
  });

  it.each([
    'a\nb',
    '\r',
    '.',
    '..',
    './a',
    'a/b',
    'a/',
    '\u2028',
    'a\u0000b',
    '\u{1f600}',
    '__proto__',
  ])('asks for the name %j as for any other when everything must be approved', (name) => {
    const approve = { effect: 'approve', matchedPattern: '*' };
    expect(createGate({ requireApproval: ['*'] })(name, {})).toMatchObject(approve);
    const rules = [{ tools: ['*'], when: [], effect: 'deny' }] as const;
    expect(createGate({ rules, requireApproval: [] })(name, {}).effect).toBe('deny');
  });
});

describe('glob over tool names', () => {
  it.each([
    ['*', 'anything-at_all'],
    ['*', 'a/b'],
    ['**', 'a/b/c'],
    ['delete*', 'delete'],
    ['a?c', 'abc'],
    ['{a,b}_x', 'b_x'],
    ['{a,{b,c}d}', 'cd'],
    ['{only}', 'only'],
    ['x{,_y}', 'x'],
    ['{a*,b}', 'abc'],
    ['[abc]1', 'b1'],
    ['[a-c]1', 'b1'],
    ['[!a-c]1', 'd1'],
    ['[^a]1', 'b1'],
    ['[]a]', ']'],
    ['[a-]', '-'],
    ['\\*', '*'],
    ['{1..3}', '1..3'],
    ['.hidden*', '.hidden_tool'],
    ['delete*', 'delete\n_all'],
    ['a?b', 'a/b'],
    ['a?b', 'a\u{1f600}b'],
    ['[\u{1f600}-\u{1f610}]', '\u{1f604}'],
    ['*', ''],
    ['\\é', 'é'],
    ['[é]', 'é'],
    ['*', '.hidden'],
    ['a(b|c)', 'a(b|c)'],
    ['!a', '!a'],
    ['@(a)', '@(a)'],
  ])('"%s" matches "%s"', (pattern, name) => {
    expect(compileGlob(pattern)(name)).toBe(true);
  });

  it.each([
    ['delete', 'delete_file'],
    ['delete', 'Delete'],
    ['a?c', 'ac'],
    ['[!a]1', 'a1'],
    ['{1..3}', '2'],
    ['a(b|c)', 'ab'],
    ['!a', 'b'],
    ['+(a)', 'aa'],
    ['\\*', 'x'],
    ['{a,b}', 'ab'],
    ['a|b', 'a'],
    ['delete', 'delete\n'],
    ['', 'a'],
  ])('"%s" does not match "%s"', (pattern, name) => {
    expect(compileGlob(pattern)(name)).toBe(false);
  });

  it.each([
    ['[a', 'has a "[" without its "]" at character 1'],
    ['x[z-a]', 'has the range "z-a", whose ends are swapped at character 3'],
    ['{a,b', 'has a "{" without its "}" at character 1'],
    ['a}', 'has a "}" without its "{" at character 2'],
    ['a\\', 'has a backslash at the end at character 3'],
    ['{'.repeat(9) + '}'.repeat(9), 'has "{" nested deeper than 8 at character 9'],
  ])('"%s" is refused because it %s', (pattern, message) => {
    expect(() => compileGlob(pattern)).toThrow(new GlobSyntaxError(message));
  });
});
