import { describe, expect, it } from 'vitest';
import type { KeyPath } from '../../src/config/issue.ts';
import { formatPath } from '../../src/config/issue.ts';
import { indexLines } from '../../src/config/toml-lines.ts';

const TEXT = `top = 1
[table]
key = "[fake]"
"quoted key" = 2
a.b . "c d" = 3
inline = { one = 1, two = { three = [ 1, { four = 4 } ] } }
list = [
  1, # two = 2
  "x",
]
long = """
[no.table]
no = 1
"""

[[many]]
x = 1
[[many]]
[many.deep]
y = 2
[[many.deeper]]
z = 3
['lit.eral']
w = """a"""""
v = '\\'
u = "\\u0041"
"\\u0042" = 1`;

describe('line finder', () => {
  const lineOf = indexLines(TEXT);

  it.each<[KeyPath, number]>([
    [['top'], 1],
    [['table'], 2],
    [['table', 'key'], 3],
    [['table', 'quoted key'], 4],
    [['table', 'a'], 5],
    [['table', 'a', 'b', 'c d'], 5],
    [['table', 'inline', 'two', 'three', 1, 'four'], 6],
    [['table', 'list'], 7],
    [['table', 'list', 0], 8],
    [['table', 'list', 1], 9],
    [['table', 'long'], 11],
    [['many'], 16],
    [['many', 0, 'x'], 17],
    [['many', 1], 18],
    [['many', 1, 'deep', 'y'], 20],
    [['many', 1, 'deeper', 0, 'z'], 22],
    [['lit.eral', 'w'], 24],
    [['lit.eral', 'v'], 25],
    [['lit.eral', 'u'], 26],
    [['lit.eral', 'B'], 27],
  ])('finds %j on line %i', (path, line) => {
    expect(lineOf(path)).toBe(line);
  });

  it('gives the nearest table for a key that is missing', () => {
    expect(lineOf(['table', 'inline', 'two', 'missing'])).toBe(6);
    expect(lineOf(['many', 1, 'missing', 'more'])).toBe(18);
  });

  it('gives nothing for what stands in strings and comments, or nowhere', () => {
    expect(lineOf(['fake'])).toBeUndefined();
    expect(lineOf(['no'])).toBeUndefined();
    expect(lineOf([])).toBeUndefined();
  });
});

describe('key path in a message', () => {
  it('reads as one would write it in TOML', () => {
    expect(formatPath(['mcp', 'servers', 'my server', 'args', 0])).toBe(
      'mcp.servers."my server".args[0]',
    );
  });
});
