#!/usr/bin/env node
import { systemClock } from '../clock.ts';
import { runCli } from './program.ts';

const exitCode = await runCli(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
  env: process.env,
  cwd: process.cwd(),
  signals: process,
  now: () => systemClock.now(),
  loadServer: () => import('../server.ts'),
});

// A tool that ignored its signal may still hold the loop open; what was printed goes out first.
process.stdout.write('', () => process.exit(exitCode));
