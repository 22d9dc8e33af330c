import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ConfigSource } from './document.ts';
import { ConfigError } from './issue.ts';

/**
 * Reads a file, or the `*.toml` of a directory in the order of their names. Throws
 * {@link ConfigError} when there is nothing to read or it is not text.
 */
export function readSources(path: string, cwd: string): readonly ConfigSource[] {
  if (!isDirectory(path, cwd)) return [readSource(path, cwd)];
  const names = readdirSync(resolve(cwd, path)).filter((name) => name.endsWith('.toml'));
  if (names.length === 0) {
    fail(path, 'holds no *.toml file', 'Put one file for each agent into it.');
  }
  return names.sort().map((name) => readSource(join(path, name), cwd));
}

function isDirectory(path: string, cwd: string): boolean {
  try {
    return statSync(resolve(cwd, path)).isDirectory();
  } catch (error) {
    return unreadable(path, error);
  }
}

function readSource(file: string, cwd: string): ConfigSource {
  const bytes = readBytes(file, cwd);
  try {
    return { file, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return fail(file, 'is not UTF-8 text', 'Save it as UTF-8.');
  }
}

function readBytes(file: string, cwd: string): Uint8Array {
  try {
    return readFileSync(resolve(cwd, file));
  } catch (error) {
    return unreadable(file, error);
  }
}

function unreadable(path: string, error: unknown): never {
  if (errorCode(error) === 'ENOENT') {
    return fail(path, 'does not exist', 'Name a file or a directory with --config or CONFIG_PATH.');
  }
  return fail(path, `cannot be read (${errorCode(error)})`, 'Check its permissions.');
}

/** The system's code of an error (`ENOENT`), or `unknown`. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}

function fail(source: string, problem: string, suggestion: string): never {
  throw new ConfigError([{ source, key: '', problem, suggestion }]);
}
