import { Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { parse, type SourceFile, sourcesOf } from './architecture-sources.ts';
import { HOLES, INVARIANTS } from './invariants.ts';

/**
 * Hazard: an invariant that no test shows is a wish. A citation counts where a person reads it, in
 * the title of a test or in a comment; a number in a table of data shows nothing.
 */

const MANIFEST = /^test\/conformance\/invariants\b/;

/** Numbers cited in titles and comments. `INV-15@3` names a finding and is no citation. */
function citedIn(file: SourceFile): readonly number[] {
  return wordsOf(file).flatMap(numbersIn);
}

const numbersIn = (text: string): number[] => numbersOf(text, /\bINV-(\d+)\b(?!@)/g);

const numbersOf = (text: string, pattern: RegExp): number[] =>
  [...text.matchAll(pattern)].map((match) => Number(match[1]));

function wordsOf({ text, program, comments }: SourceFile): readonly string[] {
  const words = [...comments];
  new Visitor({
    CallExpression: ({ callee, arguments: [title] }) => {
      if (title === undefined || !isTest(text.slice(callee.start, callee.end))) return;
      words.push(text.slice(title.start, title.end));
    },
  }).visit(program);
  return words;
}

/** The argument of `it.each(…)` is data, that of the function it gives is the title. */
const isTest = (callee: string): boolean =>
  /^(?:it|test|describe)\b/.test(callee) && !/\.(?:each|for)$/.test(callee);

const tests = sourcesOf('test').filter(({ path }) => !MANIFEST.test(path));
const cited = new Set(tests.flatMap(citedIn));
const numbers = Object.keys(INVARIANTS).map(Number);

describe('the invariants', () => {
  it('are numbered without a hole', () => {
    expect(numbers).toEqual(numbers.map((_, at) => at + 1));
    expect(numbers.length).toBe(62);
  });

  it('are sentences of their own', () => {
    const sentences = Object.values(INVARIANTS).flatMap(({ says, notYet = '.' }) => [says, notYet]);
    expect(sentences.filter((sentence) => !sentence.endsWith('.'))).toEqual([]);
    const says = Object.values(INVARIANTS).map((invariant) => invariant.says);
    expect(new Set(says).size).toBe(says.length);
  });

  it.each(numbers.filter((number) => INVARIANTS[number]?.notYet === undefined))(
    'number %i is cited by a test that shows it',
    (number) => {
      expect(cited, INVARIANTS[number]?.says).toContain(number);
    },
  );

  it('that wait for a later issue are cited by no test', () => {
    const early = numbers.filter((number) => INVARIANTS[number]?.notYet && cited.has(number));
    expect(early).toEqual([]);
  });

  it('that anybody cites are known', () => {
    const files = [...tests, ...sourcesOf('src', 'machines')];
    const unknown = files.flatMap(({ path, text }) =>
      [...text.matchAll(/INV-(\d+)/g)]
        .filter(([, digits = '']) => INVARIANTS[Number(digits)] === undefined || digits.length < 2)
        .map(([citation]) => `${path} cites ${citation}`),
    );
    expect(unknown).toEqual([]);
  });
});

describe('the holes in what the invariants come from', () => {
  const known = Object.keys(HOLES).map(Number);
  const holes = new Set(
    tests.flatMap((file) => wordsOf(file).flatMap((words) => numbersOf(words, /\bH-(\d+)\b/g))),
  );

  it('are fourteen', () => {
    expect(known).toEqual(Array.from({ length: 14 }, (_, at) => at + 1));
  });

  it.each(known.filter((number) => HOLES[number]?.notYet === undefined))(
    'number %i is cited by a test that shows it closed',
    (number) => {
      expect(holes, HOLES[number]?.says).toContain(number);
    },
  );

  it('that are not there yet, or that nobody knows, are cited by no test', () => {
    expect([...holes].filter((number) => HOLES[number]?.notYet !== undefined)).toEqual([]);
    expect([...holes].filter((number) => HOLES[number] === undefined)).toEqual([]);
  });
});

describe('what counts as a citation', () => {
  it.each([
    [`it('ends once (INV-35)', () => {});`, [35]],
    [`it.each([1])('ends once (INV-35, INV-36)', () => {});`, [35, 36]],
    ['describe.skipIf(no)(`${what} (INV-01)`, () => {});', [1]],
    [`// Shows INV-07.\nlet a;`, [7]],
    [`/** INV-08 */ let a;`, [8]],
  ])('is what a person reads: %s', (text, expected) => {
    expect(citedIn(parse('test/a.test.ts', text))).toEqual(expected);
  });

  it.each([
    `it.each([['INV-35']])('a finding %s', () => {});`,
    `expect(found).toContain('INV-35');`,
    `it('finds INV-15@3', () => {});`,
  ])('is not data: %s', (text) => {
    expect(citedIn(parse('test/a.test.ts', text))).toEqual([]);
  });
});
