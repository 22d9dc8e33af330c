import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterEach } from 'vitest';
import {
  type FakeUpstream,
  startFakeUpstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from '../../src/testing/fake-upstream.ts';
import { Exchange, HELLO } from './system-client.ts';
import { type LogEntry, type SystemOptions, systemToml } from './system-world.ts';
import { expectSoundData } from './sound-journals.ts';

const MAIN = resolve('src/cli/main.ts');

export interface ProcessOptions extends Pick<SystemOptions, 'agent' | 'toml'> {
  readonly mcp?: readonly 'demo'[];
  /** The machine's clock is set while it runs. */
  readonly clock?: 'set';
  /** The grace of a shutdown in seconds. */
  readonly grace?: number;
  /** What the upstream does with a request that no answer was queued for. */
  readonly respond?: (request: UpstreamRequest) => UpstreamAnswer | Promise<UpstreamAnswer>;
  /** More flags of `serve`. */
  readonly flags?: readonly string[];
  /** The program and its first arguments, in place of Node and the product's own entry. */
  readonly command?: readonly string[];
  /** Of the process, beside `PATH`. */
  readonly env?: Readonly<Record<string, string>>;
}

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT';

const COMMAND = [process.execPath, MAIN];

interface Place extends Pick<ProcessOptions, 'command' | 'env'> {
  readonly cwd: string;
}

/** `runwarden serve` as a process of its own, with its log. */
export class ServerProcess {
  readonly url: string;
  readonly log: readonly LogEntry[];
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown[]>;
  #told = false;
  readonly #lines: Readable;

  private constructor(child: ChildProcess, exit: Promise<unknown[]>, parts: Started) {
    this.#child = child;
    this.#exit = exit;
    this.url = parts.url;
    this.log = parts.log;
    this.#lines = parts.lines;
    this.pid = child.pid ?? Number.NaN; // It has one: it has logged.
  }

  /** Resolves when it listens; rejects with its log when it ends before. */
  static async start(
    args: readonly string[],
    { cwd, command = COMMAND, env = {} }: Place,
  ): Promise<ServerProcess> {
    const [program = process.execPath, ...first] = command;
    const child = spawn(program, [...first, 'serve', ...args], {
      cwd,
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exit = once(child, 'exit');
    const lines = child.stderr as Readable; // A pipe, by `stdio` above.
    const log: LogEntry[] = [];
    const url = await new Promise<string>((found, failed) => {
      child.once('exit', () => failed(new Error(`It ended: ${JSON.stringify(log)}`)));
      createInterface(lines).on('line', (line) => {
        const entry = entryOf(line);
        log.push(entry);
        lines.emit('entry');
        if (entry.msg === 'Server is listening') found(String(entry['url']));
      });
    });
    return new ServerProcess(child, exit, { url, log, lines });
  }

  /** The first log entry with this message, from the entry `from` on, now or when it comes. */
  async logged(msg: string, from = 0): Promise<LogEntry> {
    for (;;) {
      const entry = this.log.slice(from).find((candidate) => candidate.msg.startsWith(msg));
      if (entry !== undefined) return entry;
      await once(this.#lines, 'entry');
    }
  }

  /** It was told to end, in whatever way. */
  get told(): boolean {
    return this.#told;
  }

  signal(signal: StopSignal): void {
    this.#told ||= signal !== 'SIGSTOP' && signal !== 'SIGCONT';
    this.#child.kill(signal);
  }

  /** Its exit code and the signal that ended it. */
  async exit(): Promise<readonly unknown[]> {
    return this.#exit;
  }

  /** Ends it, whatever it does. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.#exit;
  }

  ask(path: string, options: ConstructorParameters<typeof Exchange>[1] = {}): Exchange {
    return new Exchange(this.url + path, options);
  }

  chat(sessionId: string, body: object = {}, headers: Record<string, string> = {}): Exchange {
    return this.ask('/v1/chat/completions', {
      method: 'POST',
      headers: { 'X-Chat-Session-Id': sessionId, ...headers },
      body: { ...HELLO, stream: true, ...body },
    });
  }
}

/** A line of the log; a warning of the configuration is a line of text. */
function entryOf(line: string): LogEntry {
  return line.startsWith('{') ? (JSON.parse(line) as LogEntry) : { msg: line };
}

interface Started {
  readonly url: string;
  readonly log: readonly LogEntry[];
  readonly lines: Readable;
}

export interface ProcessWorld {
  readonly upstream: FakeUpstream;
  readonly dataDir: string;
  readonly server: ServerProcess;
  /** Queues answers of the upstream, in the order of the requests. */
  answer(...answers: readonly UpstreamAnswer[]): void;
  /** Another process on the same configuration and data, by the given command if there is one. */
  again(command?: readonly string[]): Promise<ServerProcess>;
}

/** Gives a way to start server processes, and ends what a test left of them. */
export function processWorlds(): (options?: ProcessOptions) => Promise<ProcessWorld> {
  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const clean of cleanups.splice(0).reverse()) await clean();
  });
  return async ({
    grace = 30,
    respond: fallback,
    command: first,
    flags: more = [],
    clock,
    env = {},
    ...options
  } = {}) => {
    const dir = mkdtempSync(join(tmpdir(), 'runwarden-process-'));
    cleanups.push(async () => rmSync(dir, { recursive: true, force: true }));
    const answers: UpstreamAnswer[] = [];
    const respond = (request: UpstreamRequest) =>
      answers.shift() ?? fallback?.(request) ?? { status: 500, body: 'No answer was queued.' };
    const upstream = await startFakeUpstream({ respond });
    cleanups.push(() => upstream.close());
    writeFileSync(join(dir, 'config.toml'), systemToml({ ...options, upstream: upstream.url }));
    const dataDir = join(dir, 'data');
    cleanups.push(() => expectSoundData(dataDir, clock === undefined ? {} : { clock }));
    const flags = ['--config', 'config.toml', '--port', '0', '--data-dir', dataDir, ...more];
    const again = async (command = first) => {
      const args = [...flags, '--shutdown-timeout-secs', String(grace)];
      const how = { cwd: dir, env, ...(command !== undefined && { command }) };
      const server = await ServerProcess.start(args, how);
      cleanups.push(() => server.kill());
      return server;
    };
    const server = await again();
    const answer = (...more: readonly UpstreamAnswer[]) => void answers.push(...more);
    return { upstream, dataDir, server, answer, again };
  };
}
