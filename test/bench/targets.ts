import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer, Ask, Pace, Usage } from './child.ts';

/** A process under measurement, or the upstream behind it. */
export interface Target {
  readonly name: string;
  readonly url: string;
  /** `collect` collects garbage first. */
  usage(options?: { readonly collect: boolean }): Promise<Usage>;
  pace(pace: Pace): Promise<void>;
  stop(): Promise<void>;
}

/** How long a process may take to listen; a cold disk is slow. */
const START_MS_MAX = 30_000;
/** How long it may take to go when it was told to; writing a profile takes a second. */
const STOP_MS_MAX = 10_000;

export const startUpstream = (): Promise<Target> => start('upstream', []);

export const startProxy = (upstream: string): Promise<Target> => start('proxy', [upstream]);

/**
 * The product itself, with its SQLite journal in a folder that goes with it. Its CPU profile is
 * written into `profile`, where that is given.
 */
export async function startProduct(upstream: string, profile?: string): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'runwarden-bench-'));
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const target = await start('product', [upstream, folder], profiling);
  const stop = async () => {
    await target.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...target, stop };
}

async function start(
  name: string,
  args: readonly string[],
  nodeArgs: readonly string[] = [],
): Promise<Target> {
  const child = fork(join(import.meta.dirname, `${name}.ts`), args, {
    execArgv: ['--expose-gc', ...nodeArgs],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const url = await listening(name, child);
  const ask = asker(child);
  return {
    name,
    url,
    usage: async ({ collect } = { collect: false }) => {
      const answer = await ask((id) => ({ ask: 'usage', id, collect }));
      if (answer.answer !== 'usage') throw new Error(`${name} answers what it was not asked.`);
      return answer.usage;
    },
    pace: async (pace) => void (await ask((id) => ({ ask: 'pace', id, pace }))),
    stop: () => stop(child),
  };
}

/** A process goes when its channel closes; one that does not is killed. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  child.disconnect();
  await gone;
  clearTimeout(timer);
}

/** Resolves with the address, rejects when the process ends or says nothing in time. */
async function listening(name: string, child: ChildProcess): Promise<string> {
  const signal = AbortSignal.timeout(START_MS_MAX);
  const exited = once(child, 'exit', { signal }).then(() => {
    throw new Error(`The ${name} process ended before it listened; its error is above.`);
  });
  const told = once(child, 'message', { signal }).then(([message]) => message as Answer);
  const answer = await Promise.race([told, exited]).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  exited.catch(() => {});
  if (answer.answer !== 'listening') throw new Error(`${name} did not say where it listens.`);
  return answer.url;
}

function asker(child: ChildProcess): (make: (id: number) => Ask) => Promise<Answer> {
  const waiting = new Map<number, (answer: Answer) => void>();
  let next = 0;
  child.on('message', (message) => {
    const answer = message as Answer;
    if (answer.answer === 'listening') return;
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  return (make) =>
    new Promise((resolve) => {
      const id = next++;
      waiting.set(id, resolve);
      child.send(make(id));
    });
}
