#!/usr/bin/env node
import { systemClock } from '../clock.ts';
import { runCli } from './program.ts';

const outClosed = new AbortController();
// Who has read enough (`head`) closes the pipe, and a disk that is full takes nothing: what was to be
// printed is lost, and that is no failure of ours.
process.stdout.on('error', () => outClosed.abort());
// The log is lost as well; the runs go on.
process.stderr.on('error', () => {});

const exitCode = await runCli(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
  columns: () => (process.stdout.isTTY ? process.stdout.columns : undefined),
  outClosed: outClosed.signal,
  env: process.env,
  cwd: process.cwd(),
  signals: process,
  now: () => systemClock.now(),
  timers: systemClock,
  fetch: globalThis.fetch,
  loadServer: () => import('../server.ts'),
});

// A tool that ignored its signal may still hold the loop open; what was printed goes out first.
process.stdout.write('', () => process.exit(exitCode));
