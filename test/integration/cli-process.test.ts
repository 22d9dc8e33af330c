import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINIMAL } from '../support/config-kit.ts';

/** The real command in a process of its own, with real signals. */
const MAIN = resolve('src/cli/main.ts');

let cwd = '';
const children: ChildProcess[] = [];

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'runwarden-process-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  rmSync(cwd, { recursive: true, force: true });
});

function start(args: readonly string[]): ChildProcess {
  const env = { PATH: process.env['PATH'] };
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  return child;
}

/** Runs a command that ends by itself. */
async function run(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
  const child = start(args);
  const [[code], out, err] = await Promise.all([
    once(child, 'exit'),
    text(outOf(child)),
    text(errOf(child)),
  ]);
  return { code, out, err };
}

type Pipe = NonNullable<ChildProcess['stdout']>;

/** Both are pipes by `stdio` above. */
const outOf = (child: ChildProcess): Pipe => child.stdout as Pipe;
const errOf = (child: ChildProcess): Pipe => child.stderr as Pipe;

interface Served {
  readonly child: ChildProcess;
  readonly url: string;
  /** Log entries so far. */
  readonly log: Record<string, unknown>[];
}

/** Waits for the log line that says where it listens. */
async function served(...args: string[]): Promise<Served> {
  const child = start(args);
  outOf(child).resume();
  const log: Record<string, unknown>[] = [];
  const url = await new Promise<string>((found, failed) => {
    child.once('exit', () => failed(new Error(`It ended: ${JSON.stringify(log)}`)));
    createInterface(errOf(child)).on('line', (line) => {
      const entry: Record<string, unknown> = JSON.parse(line);
      log.push(entry);
      if (entry['msg'] === 'Server is listening') found(String(entry['url']));
    });
  });
  return { child, url, log };
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const address = holder.address();
  await new Promise((closed) => holder.close(closed));
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** Tries again while the process lives: one whose log is lost cannot say when it listens. */
async function until<T>(attempt: () => Promise<T>, child: ChildProcess): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (child.exitCode !== null || child.signalCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describe('the command in its own process', () => {
  it('says its version', async () => {
    const { code, out, err } = await run('--version');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('checks a good and a bad configuration', async () => {
    writeFileSync(join(cwd, 'good.toml'), MINIMAL);
    writeFileSync(join(cwd, 'bad.toml'), `${MINIMAL}[hitl]`);
    expect(await run('check-config', '-c', 'good.toml')).toMatchObject({ code: 0, err: '' });
    const bad = await run('check-config', '-c', 'bad.toml');
    expect(bad).toMatchObject({ code: 1, out: '' });
    expect(bad.err).toContain('bad.toml:6: hitl.route is missing.');
  });

  it('says in one sentence that its address is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const address = holder.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const { code, err } = await run('demo', '--port', String(port));
    await new Promise((closed) => holder.close(closed));
    expect(code).toBe(1);
    expect(err).toContain(`\nThe address 127.0.0.1:${port} is already in use.`);
    expect(err).not.toContain('    at ');
  });

  it.runIf(existsSync('/dev/full'))('goes on when its log takes nothing any more', async () => {
    writeFileSync(join(cwd, 'config.toml'), MINIMAL);
    const full = openSync('/dev/full', 'w');
    const port = await freePort();
    const child = spawn(process.execPath, [MAIN, 'serve', '--port', String(port)], {
      cwd,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', full, full],
    });
    children.push(child);
    const answers = await until(() => fetch(`http://127.0.0.1:${port}/health`), child);
    expect(answers.status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    closeSync(full);
  });

  it.runIf(process.platform === 'linux')(
    'gives up on a data directory where none can be made',
    async () => {
      const { code, err } = await run('demo', '--port', '0', '--data-dir', '/proc/runwarden/data');
      expect(code).toBe(1);
      expect(err).toContain('/proc/runwarden/data cannot be made: /proc takes no new directory.');
    },
  );

  it.each([['SIGINT'], ['SIGTERM']] as const)(
    'ends with 0 after %s when nothing is in flight',
    async (signal) => {
      writeFileSync(join(cwd, 'config.toml'), MINIMAL);
      const { child, url, log } = await served('serve', '--port', '0');
      expect((await fetch(`${url}/health`)).status).toBe(200);
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([0, null]);
      expect(log.map(({ msg }) => msg)).toContain(
        'Starting server on 127.0.0.1:0 (shutdown_timeout=30s)',
      );
      expect(log.at(-1)).toMatchObject({ clean_shutdown: true, unaborted_tasks: false });
    },
  );
});
