import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory } from '../../src/directories.ts';

let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'runwarden-directories-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

const at = (...parts: readonly string[]): string => join(root, ...parts);

describe('making a directory', () => {
  it('makes every level that is missing', () => {
    mkdirSync(at('a'));
    makeDirectory(at('a', 'b', 'c'));
    expect(existsSync(at('a', 'b', 'c'))).toBe(true);
  });

  it('leaves one alone that is there, also behind a link', () => {
    mkdirSync(at('a'));
    writeFileSync(at('a', 'kept'), '');
    symlinkSync(at('a'), at('link'));
    makeDirectory(at('a'));
    makeDirectory(at('link', 'b'));
    expect([existsSync(at('a', 'kept')), existsSync(at('a', 'b'))]).toEqual([true, true]);
  });

  it.each([['file'], ['file/a'], ['file/a/b']])('names the file in the way of %s', (path) => {
    writeFileSync(at('file'), '');
    expect(() => makeDirectory(at(path))).toThrow(
      expect.objectContaining({ code: 'ENOTDIR', path: at('file') }),
    );
  });

  it('names the level that could not be made', () => {
    symlinkSync(at('nowhere'), at('link'));
    expect(() => makeDirectory(at('link', 'a'))).toThrow(
      expect.objectContaining({ code: 'EEXIST', path: at('link') }),
    );
  });
});
