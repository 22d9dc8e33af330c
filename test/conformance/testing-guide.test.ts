import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guideFiles } from '../../.ci/guide.ts';
import * as invariants from '../../src/journal/invariants.ts';
import { ROOT, sourcesOf } from './architecture-sources.ts';

/** Hazard: a guide that nobody runs is wrong a week later. `.ci/package` runs it from the package too. */

const run = promisify(execFile);
const guide = readFileSync(join(ROOT, 'docs/testing.md'), 'utf8');
const files = guideFiles();

/** It calls the installed command, so it is for `.ci/package` alone. */
const NEEDS_PACKAGE = 'first.test.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'runwarden-guide-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, text] of files) {
    if (name !== NEEDS_PACKAGE) writeFileSync(join(folder, name), text);
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  // The package is not installed here: its names stand for the sources that it is built from.
  const alias = {
    'runwarden/testing/property': join(ROOT, 'src/testing/property/index.ts'),
    'runwarden/testing': join(ROOT, 'src/testing/index.ts'),
    runwarden: join(ROOT, 'src/index.ts'),
  };
  const config = `export default { resolve: { alias: ${JSON.stringify(alias)} } };`;
  writeFileSync(join(folder, 'vitest.config.ts'), config);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the guide to testing', () => {
  it('has files that pass as they stand there', async () => {
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    const args = [vitest, 'run', '--reporter=json', '--outputFile=report.json'];
    await run(process.execPath, args, { cwd: folder, maxBuffer: 1e8 });
    const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report;
    const passed = report.testResults.map(({ name }) => name.slice(folder.length + 1)).sort();
    const tests = [...files.keys()].filter((name) => name.endsWith('.test.ts')).sort();
    expect(passed).toEqual(tests.filter((name) => name !== NEEDS_PACKAGE));
    expect(report.numFailedTests).toBe(0);
    expect(report.numPassedTests).toBeGreaterThan(20);
  }, 120_000);

  it('begins with a chart and a server in thirty lines', () => {
    const lines = files.get(NEEDS_PACKAGE)?.split('\n') ?? [];
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.length).toBeLessThanOrEqual(30);
  });

  it('has lines that a page can show', () => {
    const long = [...files.values()].flatMap((text) => text.split('\n'));
    expect(long.filter(({ length }) => length > 110)).toEqual([]);
  });

  it('names every invariant that a check may report, and no other', () => {
    const sources = sourcesOf('src').filter(({ path }) => path.includes('journal/invariants'));
    const numbers = (text: string) => text.match(/\b(?:INV|JN)-\d+\b/g) ?? [];
    const reported = sources.flatMap(({ text }) => numbers(text));
    const section = guide.split('\n## Invariants')[1]?.split('\n## ')[0] ?? '';
    expect(new Set(numbers(section))).toEqual(new Set(reported));
    expect(invariants.CHECKS.length).toBeGreaterThan(20);
  });
});

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly name: string }[];
}
