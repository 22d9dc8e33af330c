import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import type { KeyPath } from '../../src/config/issue.ts';
import { indexLines } from '../../src/config/toml-lines.ts';

/**
 * Documents are put together line by line, so that the line of every key is known without the code
 * under test. Each is parsed by the TOML library too, so that only real documents count.
 */
interface Piece {
  /** Lines of text; `paths` says which path begins on which of them, from 0. */
  readonly lines: readonly string[];
  readonly paths: readonly { readonly path: KeyPath; readonly at: number }[];
}

const word = fc.string({
  unit: fc.constantFrom(...'abcd_-1'.split('')),
  minLength: 1,
  maxLength: 4,
});
const odd = fc.constantFrom('a b', 'a.b', '#x', '[q]', 'é', '=', ',', '{', "'");
const key = fc.oneof({ weight: 4, arbitrary: word }, { weight: 1, arbitrary: odd });
const keyText = (name: string): string => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));

/** Values that try to look like keys, tables and comments. */
const scalar: fc.Arbitrary<readonly string[]> = fc.constantFrom(
  ['1'],
  ['true # a = 1'],
  ['"x = 1 # no"'],
  ["'[t]'"],
  ['"\\" ] } = \\\\"'],
  ['1979-05-27T07:32:00Z'],
  ['"""', 'a = 1', '[t]', '""" # end'],
  ["'''", "b = 2 '' x", "'''"],
  ['"""x"""""'],
  ['[1, "a,]",', '  # b = 3', ' 2]'],
);

const keyed = fc.uniqueArray(fc.tuple(key, scalar), { maxLength: 4, selector: ([name]) => name });

/** `name = value` under a table whose path is `table`. */
function pair(table: KeyPath, name: string, value: readonly string[]): Piece {
  const [first = '', ...rest] = value;
  return {
    lines: [`${keyText(name)} = ${first}`, ...rest],
    paths: [{ path: [...table, name], at: 0 }],
  };
}

/** `name = { inner = { leaf = 1 }, list = [ { leaf = 2 }, …` over several lines. */
function inline(table: KeyPath, name: string): Piece {
  const path = [...table, name];
  return {
    lines: [
      `${keyText(name)} = { in.ner = { "le af" = "}" }, list = [ { leaf = '1' },`,
      '{ leaf = 2 } ] }',
    ],
    paths: [
      { path: [...path, 'in', 'ner', 'le af'], at: 0 },
      { path: [...path, 'list', 0, 'leaf'], at: 0 },
      { path: [...path, 'list', 1, 'leaf'], at: 1 },
    ],
  };
}

const section = fc.record({
  name: word,
  repeats: fc.nat(2),
  pairs: keyed,
  nested: fc.boolean(),
  blank: fc.boolean(),
});

const document = fc
  .tuple(keyed, fc.uniqueArray(section, { maxLength: 5, selector: ({ name }) => name }))
  .map(([top, sections]) => [
    ...top.map(([name, value]) => pair([], `top-${name}`, value)),
    ...sections.flatMap(pieces),
  ]);

function pieces(input: typeof section extends fc.Arbitrary<infer T> ? T : never): Piece[] {
  const { name, repeats, pairs, nested, blank } = input;
  const table = `t-${name}`;
  const body = (path: KeyPath): Piece[] => [
    ...pairs.map(([field, value]) => pair(path, field, value)),
    ...(nested ? [inline(path, 'in line')] : []),
    ...(blank ? [{ lines: ['', '   # [t-x]'], paths: [] }] : []),
  ];
  if (repeats === 0) return [header([table, 'sub'], '[', ']'), ...body([table, 'sub'])];
  return Array.from({ length: repeats }, (_, index) => [
    { lines: [`[[${table}]]`], paths: [{ path: [table, index], at: 0 }] },
    ...body([table, index]),
    { lines: [`[ ${table} . deep ]`], paths: [{ path: [table, index, 'deep'], at: 0 }] },
    ...body([table, index, 'deep']),
  ]).flat();
}

const header = (path: readonly string[], open: string, close: string): Piece => ({
  lines: [`${open}${path.join('.')}${close} # header`],
  paths: [{ path, at: 0 }],
});

describe('line finder: any document', () => {
  it.each([['\n'], ['\r\n']])('finds each key on its own line (line ends %j)', (end) => {
    fc.assert(
      fc.property(document, (parts) => {
        const text = parts.flatMap(({ lines }) => lines).join(end);
        expect(() => parse(text)).not.toThrow();
        const lineOf = indexLines(text);
        let line = 1;
        for (const { lines, paths } of parts) {
          for (const { path, at } of paths) {
            expect(lineOf(path), `${JSON.stringify(path)}\n${text}`).toBe(line + at);
          }
          line += lines.length;
        }
      }),
      { numRuns: 500 },
    );
  });

  it('ends on text that is no TOML at all', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'a="\'[]{},.#\n\\ '.split('')) }),
        (text) => {
          indexLines(text);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
