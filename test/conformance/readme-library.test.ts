import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as testing from '../../src/testing/index.ts';
import { ROOT } from './architecture-sources.ts';

/** Hazard: the first lines that a stranger copies are the last ones that anybody runs. */

const run = promisify(execFile);

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const section = readme.split(/^## /m).find((part) => part.startsWith('As a library')) ?? '';
const code = /^```ts\n([\s\S]*?)^```$/m.exec(section)?.[1] ?? '';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'runwarden-readme-'));
  // The package is not installed here: its name stands for the sources that it is built from.
  const entry = JSON.stringify(join(ROOT, 'src/index.ts'));
  writeFileSync(join(folder, 'example.ts'), code.replaceAll(`'runwarden'`, entry));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const typeRoots = [join(ROOT, 'node_modules/@types')];
  const project = {
    extends: join(ROOT, 'tsconfig.json'),
    // The rewritten import is no relative one.
    compilerOptions: { typeRoots, rewriteRelativeImportExtensions: false },
    include: ['example.ts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the example of the library in the README', () => {
  it('imports the package by its name, and is short', () => {
    expect(code).toContain(`from 'runwarden';`);
    expect(code.split('\n').length).toBeLessThanOrEqual(40);
    expect(Math.max(...code.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(100);
  });

  it('runs a tool, tells the answer, cancels, and ends by itself', async () => {
    const { stdout, stderr } = await run(process.execPath, ['example.ts'], { cwd: folder });
    const lines = stdout.split('\n');
    expect(lines.slice(0, lines.indexOf('finished') + 1)).toEqual([
      'started',
      'session_info',
      'tool_requested',
      'tool_start',
      'tool_complete',
      'It is 5.',
      'finished',
    ]);
    expect(stdout).toContain('cleanShutdown: true');
    expect(stderr).toBe('');
  });

  it('has the types that it seems to have', async () => {
    const compiler = join(
      dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
      'bin/tsc',
    );
    const checked = run(process.execPath, [compiler, '--project', folder]).catch(
      (error: Error & { stdout?: string }) => ({ stdout: error.stdout ?? `example.ts: ${error}` }),
    );
    // Errors of the sources themselves are the type check's to tell.
    const own = (await checked).stdout.split('\n').filter((line) => line.includes('example.ts'));
    expect(own).toEqual([]);
  });
});

describe('the test kit in the README', () => {
  it('has what it is said to have', () => {
    const kit = section.split('**Test kit.**')[1] ?? '';
    const names = [...kit.matchAll(/`([a-z]+[A-Z]\w*)`/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(4);
    const known = [...Object.keys(testing), 'createSupervisor'];
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
  });
});
