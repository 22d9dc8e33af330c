import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob } from '../../src/hitl/glob.ts';

/**
 * The hazard: a pattern that is read otherwise than globset reads it would let a tool run unasked.
 * The oracle below is globset's meaning written down as a set of possible rests, nothing shared
 * with the code under test.
 */
type Glob =
  | { readonly kind: 'literal'; readonly char: string; readonly escape: boolean }
  | { readonly kind: 'star' }
  | { readonly kind: 'any' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly ranges: readonly string[] }
  | { readonly kind: 'choice'; readonly options: readonly (readonly Glob[])[] };

const NAME_CHARS = 'abcAB01_-'.split('');
const ODD_CHARS = '().|+!@^$~#:%&='.split('');

const literal: fc.Arbitrary<Glob> = fc
  .oneof(
    { weight: 8, arbitrary: fc.constantFrom(...NAME_CHARS) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_CHARS) },
  )
  .chain((char) => fc.boolean().map((escape) => ({ kind: 'literal', char, escape }) as const));

const range = fc
  .tuple(fc.constantFrom(...'abcAB01_'.split('')), fc.constantFrom(...'abcAB01_'.split('')))
  .map(([a, b]) => (a <= b ? `${a}-${b}` : a));

const { glob } = fc.letrec<{ glob: readonly Glob[]; piece: Glob }>((tie) => ({
  glob: fc.array(tie('piece'), { maxLength: 5 }),
  piece: fc.oneof(
    { maxDepth: 3 },
    { weight: 6, arbitrary: literal },
    { weight: 2, arbitrary: fc.constant<Glob>({ kind: 'star' }) },
    { weight: 2, arbitrary: fc.constant<Glob>({ kind: 'any' }) },
    {
      weight: 2,
      arbitrary: fc.record<Glob & { kind: 'class' }>({
        kind: fc.constant('class'),
        negated: fc.boolean(),
        ranges: fc.array(range, { minLength: 1, maxLength: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record<Glob & { kind: 'choice' }>({
        kind: fc.constant('choice'),
        options: fc.array(tie('glob'), { minLength: 1, maxLength: 3 }),
      }),
    },
  ),
}));

const written = (pieces: readonly Glob[]): string => pieces.map(writtenPiece).join('');

function writtenPiece(piece: Glob): string {
  switch (piece.kind) {
    case 'literal':
      return piece.escape ? `\\${piece.char}` : piece.char;
    case 'star':
      return '*';
    case 'any':
      return '?';
    case 'class':
      return `[${piece.negated ? '!' : ''}${piece.ranges.join('')}]`;
    case 'choice':
      return `{${piece.options.map(written).join(',')}}`;
  }
}

/** Everything that may be left of `name` after the pieces took their part of it. */
function rests(pieces: readonly Glob[], name: string): Set<string> {
  let left = new Set([name]);
  for (const piece of pieces) {
    left = new Set([...left].flatMap((rest) => [...restsOfPiece(piece, rest)]));
  }
  return left;
}

function restsOfPiece(piece: Glob, name: string): Set<string> {
  const first = name.charAt(0);
  const tail = new Set([name.slice(1)]);
  const none = new Set<string>();
  switch (piece.kind) {
    case 'literal':
      return first === piece.char ? tail : none;
    case 'star':
      return new Set(Array.from({ length: name.length + 1 }, (_, index) => name.slice(index)));
    case 'any':
      return first === '' ? none : tail;
    case 'class': {
      const inside = piece.ranges.some((r) => first >= r.charAt(0) && first <= (r.charAt(2) || r));
      return first !== '' && inside !== piece.negated ? tail : none;
    }
    case 'choice':
      return new Set(piece.options.flatMap((option) => [...rests(option, name)]));
  }
}

describe('glob over tool names: any pattern', () => {
  it('matches exactly what globset matches', () => {
    const name = fc.string({ unit: fc.constantFrom(...NAME_CHARS), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(glob, name, (pieces, toolName) => {
        const expected = rests(pieces, toolName).has('');
        expect(compileGlob(written(pieces))(toolName), written(pieces)).toBe(expected);
      }),
      { numRuns: 5_000 },
    );
  });

  it('is compiled or refused, never anything else', () => {
    const text = fc.string({
      unit: fc.constantFrom(...'a*?[]{},!^-\\/.'.split('')),
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, (pattern) => {
        try {
          compileGlob(pattern)('abc');
        } catch (error) {
          expect(error).toHaveProperty('name', 'GlobSyntaxError');
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
