import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Ended, runCommand } from './command.ts';
import type { Outcome } from './layers.ts';
import type { Workspace } from './workspace.ts';

/** What vitest's JSON report has of one test file. */
interface ReportedFile {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

export interface SuiteRun {
  readonly outcome: Outcome;
  readonly tookMs: number;
  /** The files that failed, as far as the run came. */
  readonly failed: readonly string[];
}

export interface SuiteOptions {
  readonly boundMs: number;
  /** Stop at the first test that fails. */
  readonly bail: boolean;
  /** Only the tests named so. */
  readonly only?: string | undefined;
}

let reports = 0;

/** Runs test files in one vitest process, one after the other. */
export async function runSuites(
  { root, scratch }: Workspace,
  files: readonly string[],
  { boundMs, bail, only }: SuiteOptions,
): Promise<SuiteRun> {
  reports += 1; // Of its own, since several may run in one copy.
  const report = join(scratch, `report-${reports}.json`);
  const argv = [
    'node_modules/vitest/vitest.mjs',
    ...['run', '--config', '.ci/vitest.config.ts', '--no-cache'],
    // Beside the copy, so that nothing is left in the modules that it shares with the tree.
    ...['--fsModuleCachePath', join(scratch, 'modules')],
    ...['--reporter=json', `--outputFile=${report}`, '--maxWorkers=1'],
    ...(bail ? ['--bail=1'] : []),
    ...(only === undefined ? [] : ['--testNamePattern', only]),
    ...files,
  ];
  const ended = await runCommand(argv, { cwd: root, boundMs });
  const reported = readReport(report);
  const failed = reported
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => relative(root, name));
  return { outcome: suiteOutcome(root, ended, reported), tookMs: ended.tookMs, failed };
}

function readReport(path: string): readonly ReportedFile[] {
  if (!existsSync(path)) return [];
  const { testResults } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly testResults: readonly ReportedFile[];
  };
  return testResults;
}

/** A run that ended badly is a kill, whether or not vitest can say which test it was. */
export function suiteOutcome(
  root: string,
  { status }: Pick<Ended, 'status'>,
  report: readonly ReportedFile[],
): Outcome {
  if (status === null) return { kind: 'hung' };
  if (status === 0) return { kind: 'passed' };
  return { kind: 'failed', by: firstFailure(root, report) };
}

/** Files that vitest gave up because of a failure elsewhere are reported as failed too, by no test. */
function firstFailure(root: string, report: readonly ReportedFile[]): string {
  const failed = report.filter(({ status }) => status === 'failed');
  for (const { name, assertionResults } of failed) {
    const test = assertionResults.find(({ status }) => status === 'failed');
    if (test !== undefined) return `${relative(root, name)}: ${test.fullName}`;
  }
  const broken = failed.find(({ message }) => message !== '') ?? failed[0];
  return broken ? `${relative(root, broken.name)}: ${firstLine(broken.message)}` : 'vitest itself';
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

/** Checks the types of the whole copy; only what a change can have touched is looked at again. */
export async function runTypes({ root, scratch }: Workspace, boundMs: number): Promise<SuiteRun> {
  const argv = [
    'node_modules/typescript/bin/tsc',
    ...['--project', 'tsconfig.json', '--pretty', 'false'],
    ...['--incremental', '--tsBuildInfoFile', join(scratch, 'types.tsbuildinfo')],
  ];
  const { status, output, tookMs } = await runCommand(argv, { cwd: root, boundMs });
  return { outcome: typesOutcome(status, output), tookMs, failed: [] };
}

function typesOutcome(status: number | null, output: string): Outcome {
  if (status === null) return { kind: 'hung' };
  return status === 0 ? { kind: 'passed' } : { kind: 'failed', by: firstLine(output) };
}
