import { mkdirSync, statSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a directory and those above it that are missing, level by level: `mkdirSync` with
 * `recursive` never returns where a file system takes no directories and says that they are
 * missing.
 *
 * Throws the system's error, whose `path` is the level that could not be made; its `code` is
 * `ENOTDIR` and its `path` the file when a file stands where a directory is wanted.
 */
export function makeDirectory(path: string): void {
  for (const level of missingLevels(resolve(path))) makeLevel(level);
}

/** From the highest one down. */
function missingLevels(path: string): readonly string[] {
  const found = look(path);
  if (found?.isDirectory() === true) return [];
  if (found !== undefined) throw notADirectory(path);
  const parent = dirname(path);
  return parent === path ? [path] : [...missingLevels(parent), path];
}

/** Undefined where nothing is, also when that is because a file stands above it. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // The file system throws nothing else.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function makeLevel(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may have made it in the meantime.
    if (look(path)?.isDirectory() !== true) throw error;
  }
}

function notADirectory(path: string): Error {
  const error = new Error(`${path} is a file, not a directory`);
  return Object.assign(error, { code: 'ENOTDIR', path });
}
