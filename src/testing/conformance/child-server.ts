import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Timers } from './acts/within.ts';
import { type ConfigFile, SERVER_FLAGS } from './kit/config-text.ts';

/** A server of this package in a process of its own, on a data directory of its own. */
export interface ChildServer {
  readonly url: string;
  signal(name: 'SIGTERM' | 'SIGINT'): void;
  /** Its exit code, when it has one. */
  exit(): Promise<number | null>;
  /** Ends it, in order if it can, and removes what it wrote. */
  close(): Promise<void>;
}

export interface ChildOptions {
  readonly files: readonly ConfigFile[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Seconds that runs in flight have when it is told to stop. */
  readonly graceSecs: number;
  readonly timers: Timers;
}

interface Life {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  readonly timers: Timers;
}

/** A server that listens takes a second; a loaded machine may take many. */
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 10_000;
const LOG_LINES = 20;

/** Starts it and resolves when it listens; rejects with its last words when it does not. */
export async function startChild(options: ChildOptions): Promise<ChildServer> {
  const dir = mkdtempSync(join(tmpdir(), 'runwarden-conformance-'));
  const child = spawnIn(dir, options);
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const life = { child, exited, timers: options.timers };
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  try {
    const url = await listening(life);
    const close = async (): Promise<void> => {
      await stop(life);
      remove();
    };
    return { url, signal: (name) => void child.kill(name), exit: () => exited, close };
  } catch (error) {
    child.kill('SIGKILL');
    remove();
    throw error;
  }
}

function spawnIn(dir: string, { files, env, graceSecs }: ChildOptions): ChildProcess {
  const config = join(dir, 'config');
  mkdirSync(config);
  for (const { name, text } of files) writeFileSync(join(config, name), text);
  const grace = ['--shutdown-timeout-secs', String(graceSecs)];
  const place = ['--config', config, '--port', '0', '--data-dir', join(dir, 'data')];
  return spawn(process.execPath, [mainPath(), 'serve', ...place, ...grace, ...SERVER_FLAGS], {
    cwd: dir,
    // Settings of the caller's own server are not the kit's.
    env: { PATH: env['PATH'], HOME: env['HOME'] },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** The command line of this package, as source or built. */
function mainPath(): string {
  const own = import.meta.url;
  return fileURLToPath(new URL(`../../cli/main${extname(own)}`, own));
}

/** Its address, which it logs when it listens. */
function listening({ child, exited, timers }: Life): Promise<string> {
  const log: string[] = [];
  const failure = (what: string): Error =>
    new Error(`${what}: ${log.slice(-LOG_LINES).join('\n')}`);
  return new Promise((found, failed) => {
    const tooLate = (): void => failed(failure('The server does not listen'));
    const timer = timers.setTimeout(tooLate, START_MS_MAX);
    void exited.then(() => {
      timers.clearTimeout(timer);
      failed(failure('The server ended'));
    });
    child.once('error', failed);
    // A pipe, by `stdio` above. It is read to its end, so that the child never waits for us.
    createInterface(child.stderr as NodeJS.ReadableStream).on('line', (line) => {
      log.push(line);
      const [, url] = /"url":"(http[^"]+)"/.exec(line) ?? [];
      if (url === undefined) return;
      timers.clearTimeout(timer);
      found(url);
    });
  });
}

async function stop({ child, exited, timers }: Life): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = timers.setTimeout(() => void child.kill('SIGKILL'), STOP_MS_MAX);
  await exited;
  timers.clearTimeout(timer);
}
