import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Mutant, planted, StaleMutantError } from '../mutation/mutant.ts';
import { MUTANTS } from '../mutation/mutants.ts';
import { suitesOf } from '../mutation/suites.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const mutantOf = (...edits: Mutant['edits']): Mutant => ({
  name: 'one',
  says: 'it does something wrong',
  file: 'a.ts',
  edits,
});

describe('planting a bug', () => {
  it('replaces the text that is there once', () => {
    expect(planted(mutantOf(['< max', '<= max']), 'a < max; b')).toBe('a <= max; b');
  });

  it('makes every edit of a mutant', () => {
    expect(planted(mutantOf(['a', 'x'], ['b', 'y']), 'a b c')).toBe('x y c');
  });

  it('takes a replacement as it is written', () => {
    expect(planted(mutantOf(['a', '$& $1']), 'a')).toBe('$& $1');
  });

  it.each([
    ['not at all', 'b', '0 times'],
    ['twice', 'a a', '2 times'],
  ])('refuses a mutant whose text is there %s', (_how, text, said) => {
    const plant = () => planted(mutantOf(['a', 'x']), text);
    expect(plant).toThrow(StaleMutantError);
    expect(plant).toThrow(said);
  });

  it('refuses a mutant that changes nothing', () => {
    expect(() => planted(mutantOf(['a', 'a']), 'a')).toThrow('changes nothing');
  });
});

/** Hazard: code that moves on leaves mutants behind that no longer plant anything. */
describe('the list of mutants', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'fits the code: %s',
    (_, one) => {
      const original = readFileSync(resolve(ROOT, one.file), 'utf8');
      expect(planted(one, original)).not.toBe(original);
    },
  );

  it('names each of them once', () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)+$/.test(name))).toEqual([]);
  });

  it('has bugs for every chart', () => {
    const charts = readdirSync(resolve(ROOT, 'machines')).filter((name) =>
      name.includes('machine'),
    );
    const spoiled = new Set(MUTANTS.map(({ file }) => file));
    expect(charts.filter((name) => !spoiled.has(`machines/${name}`))).toEqual([]);
  });

  it('is judged by suites that there are', () => {
    const files = MUTANTS.flatMap(({ file }) => Object.values(suitesOf(file)).flat());
    expect([...new Set(files)].filter((file) => !existsSync(resolve(ROOT, file)))).toEqual([]);
  });

  it('refuses a file that no suite is assigned to', () => {
    expect(() => suitesOf('src/nobody.ts')).toThrow('src/nobody.ts');
  });
});
