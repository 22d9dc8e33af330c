import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileToolFilter } from '../../src/mcp/filter.ts';
import { assignUniqueNames, sanitizeToolName } from '../../src/mcp/names.ts';

describe('a sanitised tool name', () => {
  it.each([
    ['list files', 'list_files'],
    ['get.user/name', 'get_user_name'],
    ['__private__', 'private'],
    ['3d-render', 'tool_3d-render'],
    ['', 'tool_'],
    ['日本', 'tool_'],
    ['é-x', '-x'],
    ['a'.repeat(80), 'a'.repeat(64)],
    [`1${'a'.repeat(80)}`, `tool_1${'a'.repeat(58)}`],
  ])('turns %j into %j', (name, sane) => {
    expect(sanitizeToolName(name)).toBe(sane);
  });

  it('is one that every model accepts, and stays itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (name) => {
        const sane = sanitizeToolName(name);
        expect(sane).toMatch(/^[A-Za-z_-][A-Za-z0-9_-]{0,63}$/);
      }),
    );
  });
});

describe('the names of several servers', () => {
  const assign = (tools: readonly [server: string, name: string][]) => {
    const collisions: string[] = [];
    const named = tools.map(([serverName, name]) => ({ serverName, original: name, name }));
    const names = assignUniqueNames(named, (tool, unique) =>
      collisions.push(`${tool.serverName}:${tool.original}:${unique}`),
    );
    return { names, collisions };
  };

  it('keep the first of a kind and add the server to the next, and a number to a third', () => {
    const { names, collisions } = assign([
      ['a', 'search'],
      ['b', 'search'],
      ['b', 'search'],
      ['b', 'other'],
    ]);
    expect(names).toEqual(['search', 'search_b', 'search_b_2', 'other']);
    expect(collisions).toEqual(['b:search:search_b', 'b:search:search_b_2']);
  });

  it('stay within the length by shortening the name and not what tells it apart', () => {
    const long = 'x'.repeat(64);
    const { names } = assign([
      ['a', long],
      ['b', long],
    ]);
    expect(names[1]).toBe(`${'x'.repeat(62)}_b`);
  });

  it('are unique and short whatever the tools are called', () => {
    const tool = fc.tuple(
      fc.constantFrom('a', 'b', 'a_2'),
      fc.constantFrom('t', 't_a', 't_a_2', 'x'.repeat(64)),
    );
    fc.assert(
      fc.property(fc.array(tool, { maxLength: 30 }), (tools) => {
        const { names } = assign(tools);
        expect(new Set(names).size).toBe(tools.length);
        for (const name of names) expect(name.length).toBeLessThanOrEqual(64);
      }),
    );
  });
});

describe('the tool filter', () => {
  it.each([
    [undefined, 'anything', true],
    [[], 'anything', false],
    [['*'], 'anything', true],
    [['list_*'], 'list_files', true],
    [['list_*'], 'my_list_files', false],
    [['list_?'], 'list_a', true],
    [['list_?'], 'list_ab', false],
    [['a.c'], 'abc', false],
    [['[ab]'], 'a', false],
    [['{a,b}'], 'a', false],
    [['x', 'y'], 'y', true],
    [['**a'], 'ba', true],
  ])('with %j lets %s through: %s', (globs, name, through) => {
    expect(compileToolFilter(globs)(name)).toBe(through);
  });

  it('agrees with the regular expression that means the same', () => {
    const glob = fc.string({ unit: fc.constantFrom('*', '?', 'a', 'b'), maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
    fc.assert(
      fc.property(glob, name, (pattern, candidate) => {
        const same = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`);
        expect(compileToolFilter([pattern])(candidate)).toBe(same.test(candidate));
      }),
      { numRuns: 1_000 },
    );
  });

  it('answers for a pattern of many stars that a regular expression never ends with', () => {
    const filter = compileToolFilter([`${'*a'.repeat(30)}*b`]);
    expect(filter('a'.repeat(64))).toBe(false);
  });
});
