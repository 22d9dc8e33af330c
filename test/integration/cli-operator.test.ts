import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text as all } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { finished, RUN, runRecord, text } from '../unit/cli-operator-kit.ts';

/** The real command in a process of its own, against a server on loopback that answers by hand. */

const MAIN = resolve('src/cli/main.ts');
const KEY = 'rw-0123456789abcdef0123456789abcdef';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let cwd = '';
let closers: (() => Promise<unknown>)[] = [];

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'runwarden-operator-'));
});

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  closers = [];
  rmSync(cwd, { recursive: true, force: true });
});

/** Serves until the test is over; gives the address. */
async function serving(handler: Handler): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

interface Spawned {
  readonly child: ChildProcess;
  readonly out: Readable;
  readonly err: Promise<string>;
  readonly exit: Promise<unknown[]>;
}

function typed(url: string, ...argv: string[]): Spawned {
  const child = spawn(process.execPath, [MAIN, ...argv, '--url', url], {
    cwd,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit');
  closers.push(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exit;
  });
  // Both are pipes by `stdio` above.
  return { child, out: child.stdout as Readable, err: all(child.stderr as Readable), exit };
}

const json = (response: ServerResponse, value: unknown): void => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
};

const stream = (response: ServerResponse, frames: string): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`retry: 10\n${frames}`);
};

/** Resolves when the output holds `wanted`. */
async function printed(out: Readable, wanted: string): Promise<void> {
  let seen = '';
  while (!seen.includes(wanted)) {
    const [chunk] = (await once(out, 'data')) as [Buffer];
    seen += chunk.toString();
  }
}

describe('an operators command in its own process', () => {
  it('sends the key of its file and prints what it got', async () => {
    writeFileSync(join(cwd, 'key'), `${KEY}\n`);
    const keys: unknown[] = [];
    const url = await serving(({ headers }, response) => {
      keys.push(headers.authorization);
      json(response, runRecord());
    });
    const run = typed(url, 'runs', 'show', RUN, '--api-key-file', 'key');
    expect(await all(run.out)).toContain(`Run ${RUN}\n`);
    expect(await run.exit).toEqual([0, null]);
    expect(keys).toEqual([`Bearer ${KEY}`]);
    expect(await run.err).toBe('');
  });

  it('takes its key to nobody that the server points to', async () => {
    writeFileSync(join(cwd, 'key'), KEY);
    let visits = 0;
    const elsewhere = await serving((_, response) => {
      visits += 1;
      json(response, runRecord());
    });
    const url = await serving((_, response) => {
      response.writeHead(307, { location: `${elsewhere}/v1/runs/${RUN}` }).end();
    });
    const run = typed(url, 'runs', 'show', RUN, '--api-key-file', 'key');
    expect(await all(run.out)).toBe('');
    expect(await run.err).toContain(`sends us on to ${elsewhere}`);
    expect(await run.exit).toEqual([5, null]);
    expect(visits).toBe(0);
  });

  it('ends with 5 where nobody listens', async () => {
    const url = await serving((_, response) => response.end());
    await closers.pop()?.();
    const { exit, err, out } = typed(url, 'runs', 'ls');
    out.resume();
    expect(await err).toContain(
      `error: No server listens at ${url}. Start one by "runwarden serve"`,
    );
    expect(await exit).toEqual([5, null]);
  });

  it('comes back after a socket that was cut inside an entry', async () => {
    const cursors: unknown[] = [];
    const url = await serving(({ headers }, response) => {
      cursors.push(headers['last-event-id']);
      if (cursors.length === 1) {
        stream(response, `${text(1, 'a')}${text(2, 'b').slice(0, -20)}`);
        setImmediate(() => response.destroy());
      } else {
        stream(response, text(2, 'b') + finished(3));
        response.end();
      }
    });
    const { exit, out, err } = typed(url, 'runs', 'watch', RUN);
    const lines = (await all(out)).trimEnd().split('\n');
    expect(lines.map((line) => line.trim().split(' ')[0])).toEqual(['1', '2', '3']);
    expect(cursors).toEqual([undefined, '1']);
    expect(await err).toContain('Trying again in 10ms.');
    expect(await exit).toEqual([0, null]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('leaves a run at %s with %i, and closes its stream', async (signal, exitCode) => {
    const methods: unknown[] = [];
    const closed = Promise.withResolvers<void>();
    const url = await serving(({ method }, response) => {
      methods.push(method);
      response.once('close', closed.resolve);
      stream(response, text(1, 'hello'));
    });
    const { child, exit, out, err } = typed(url, 'runs', 'watch', RUN);
    await printed(out, 'hello');
    child.kill(signal);
    expect(await exit).toEqual([exitCode, null]);
    await closed.promise;
    expect(await err).toBe('The run goes on. Watch on by --from 2.\n');
    expect(methods).toEqual(['GET']);
  });

  it('ends quietly when its reader has read enough', async () => {
    const url = await serving((_, response) => {
      stream(response, text(1, 'hello'));
      let seq = 1;
      const timer = setInterval(() => response.write(text((seq += 1), 'more')), 5);
      response.once('close', () => clearInterval(timer));
    });
    const { exit, out, err } = typed(url, 'runs', 'watch', RUN);
    await printed(out, 'hello');
    out.destroy();
    expect(await exit).toEqual([0, null]);
    expect(await err).toBe('');
  });

  it('prints a long list whole into a pipe', async () => {
    const data = Array.from({ length: 200 }, (_, index) => runRecord({ run_id: `run-${index}` }));
    const page = JSON.stringify({ object: 'list', data, next: null });
    const url = await serving((_, response) => response.end(page));
    const { exit, out, err } = typed(url, 'runs', 'ls', '--json');
    expect(await all(out)).toBe(`${page}\n`);
    expect(await exit).toEqual([0, null]);
    expect(await err).toBe('');
  });
});
