import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterEach } from 'vitest';
import { expectSoundData } from './sound-journals.ts';

/** A demo that prints to type what one may; started by a command of the test's choice. */
export interface DemoProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** The commands it printed, each on one line. */
  readonly commands: readonly string[];
  /** The messages of its log so far. */
  readonly log: readonly string[];
  /** Of the server itself, whatever stands between it and `child`. Known once it has logged. */
  pid(): number;
  /** Resolves when the log has a message that begins so. */
  logged(message: string): Promise<void>;
  /** Exit code and signal, once its output has ended too: nothing of it is left then. */
  readonly ended: Promise<readonly [unknown, unknown]>;
}

export type StartDemo = (command: string, args: readonly string[]) => Promise<DemoProcess>;

/**
 * Gives a way to start the demo in a process group of its own, as a terminal does, with its data in
 * a new directory. What a test leaves of the group is killed.
 */
export function demoProcesses(cwd?: string): StartDemo {
  const cleanups: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const clean of cleanups.splice(0).reverse()) await clean();
  });
  return async (command, args) => {
    const dir = mkdtempSync(join(tmpdir(), 'runwarden-demo-test-'));
    cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
    cleanups.push(() => expectSoundData(join(dir, 'data')));
    const flags = ['--port', '0', '--data-dir', join(dir, 'data')];
    const child = spawn(command, [...args, ...flags], {
      cwd: cwd ?? dir,
      env: { PATH: process.env['PATH'], HOME: dir },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const ended = closed(child);
    cleanups.push(() => killGroup(child, ended));
    return watch(child, ended);
  };
}

async function closed(child: ChildProcess): Promise<readonly [unknown, unknown]> {
  const [code, signal] = await once(child, 'close');
  return [code, signal];
}

async function killGroup(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  try {
    // The group is that of a child this file has made; without a child there is no pid.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
  await ended;
}

async function watch(child: ChildProcess, ended: DemoProcess['ended']): Promise<DemoProcess> {
  const log: string[] = [];
  let pid = Number.NaN;
  const heard = createInterface(child.stderr as Readable); // Pipes, by `stdio` above.
  heard.on('line', (line) => {
    const entry = entryOf(line);
    log.push(entry.msg);
    pid = entry.pid ?? pid;
  });
  const commands = await printedCommands(child.stdout as Readable, log);
  const url = /http:\/\/[^/]+/.exec(commands[0] ?? '')?.[0] ?? '';
  const logged = async (message: string): Promise<void> => {
    while (!log.some((line) => line.startsWith(message))) await once(heard, 'line');
  };
  return { child, url, commands, log, logged, ended, pid: () => pid };
}

/** A line of the log; other lines count as messages. */
function entryOf(line: string): { readonly msg: string; readonly pid?: number } {
  try {
    return JSON.parse(line) as { msg: string; pid: number }; // What the log writes.
  } catch {
    return { msg: line };
  }
}

/** Reads up to the last hint. */
async function printedCommands(out: Readable, log: readonly string[]): Promise<string[]> {
  const printed: string[] = [];
  const lines = createInterface(out);
  await new Promise<void>((done, failed) => {
    lines.once('close', () => failed(new Error(`It ended: ${log.join('\n')}`)));
    lines.on('line', (line) => {
      printed.push(line.trim());
      if (line.includes('/cancel')) done();
    });
  });
  const joined = printed.join('\n').replaceAll('\\\n', ' ').split('\n');
  return joined.filter((line) => line.startsWith('curl'));
}

/** Does what a printed command does, with `ids` in place of its capitals. */
export async function typed(
  command: string | undefined,
  ids: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const filled = Object.entries(ids).reduce(
    (text, [name, id]) => text.replace(name, id),
    command ?? '',
  );
  const url = /http:\S+/.exec(filled)?.[0] ?? '';
  const body = / -d '(.*)'$/.exec(filled)?.[1];
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', ...(body === undefined ? {} : { headers, body }) });
}

/** Reads a response until its text so far satisfies `isEnough`, or to its end; then `rest()`. */
export async function readUntil(response: Response, isEnough: (text: string) => boolean) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  const more = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    return !done;
  };
  while (!isEnough(text) && (await more()));
  const rest = async (): Promise<string> => {
    while (await more());
    return text;
  };
  return { text, rest };
}
