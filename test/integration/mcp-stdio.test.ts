import { getEventListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { ToolLease } from '../../src/tool.ts';
import type { McpLimits } from '../../src/mcp/limits.ts';
import {
  callContext,
  demoServer,
  type Mcp,
  poolIsEmpty,
  startMcp,
  stdioFixture,
  toolNamed,
} from './mcp-kit.ts';

let mcp: Mcp | undefined;
const start = (limits: Partial<McpLimits> = {}) => {
  mcp = startMcp(limits);
  return mcp;
};
afterEach(async () => {
  await mcp?.stop();
  mcp = undefined;
});

const probe = (...args: string[]) => stdioFixture('probe-server.ts', { name: 'probe', args });

async function ask(lease: ToolLease, name: string, args: Record<string, unknown> = {}) {
  return toolNamed(lease, name).execute(args, callContext().context);
}

/** A zombie that nobody has collected yet is as gone as can be seen from here. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return existsSync(`/proc/${pid}/exe`);
}

describe('the bundled server over stdio', () => {
  it('is connected, lists its tools and adds two numbers', async () => {
    const lease = await start().acquire([demoServer()]);

    expect(lease.servers).toEqual([
      { serverName: 'demo', transport: 'stdio', status: 'connected', toolsCount: 8 },
    ]);
    const call = callContext();
    const result = await toolNamed(lease, 'add').execute({ a: 2, b: 40 }, call.context);
    expect(result).toEqual({ text: '42', isError: false });
    expect(call.told.started).toEqual([expect.any(Number)]);
    expect(call.told.progress).toEqual([]);
  });

  it('tells every progress of a call, the last one included, under the token of its start', async () => {
    const lease = await start().acquire([demoServer()]);
    const call = callContext();

    await toolNamed(lease, 'slow_count').execute({ to: 4, delay_ms: 0 }, call.context);

    const [token] = call.told.started;
    expect(call.told.progress).toEqual(
      [25, 50, 75, 100].map((percent, index) => ({
        message: `Counted to ${index + 1}`,
        percent,
        progressToken: token,
      })),
    );
  });

  it('keeps the progress of parallel calls apart', async () => {
    const lease = await start().acquire([demoServer()]);
    const calls = [2, 3, 4].map((to) => ({ to, call: callContext() }));

    await Promise.all(
      calls.map(({ to, call }) =>
        toolNamed(lease, 'slow_count').execute({ to, delay_ms: 1 }, call.context),
      ),
    );

    for (const { to, call } of calls) expect(call.told.progress).toHaveLength(to);
    expect(new Set(calls.flatMap(({ call }) => call.told.started)).size).toBe(3);
  });

  it('marks the error of a tool as one', async () => {
    const lease = await start().acquire([demoServer()]);

    expect(await ask(lease, 'always_fails')).toEqual({
      text: 'Tool returned an error: This tool always fails.',
      isError: true,
    });
  });

  it('leaves out a null that the model wrote for an absent argument', async () => {
    const lease = await start().acquire([demoServer()]);

    const result = await ask(lease, 'ignores_cancel', { seconds: 0 });
    const counted = await ask(lease, 'slow_count', { to: 1, delay_ms: null });

    expect(result.text).toBe('Worked for 0 seconds.');
    expect(counted).toEqual({ text: 'Counted to 1.', isError: false });
  });

  it('works on files in its own directory and refuses to leave it', async () => {
    const lease = await start().acquire([demoServer()]);

    expect((await ask(lease, 'list_files')).text).toBe('notes.txt\nnotes/todo.txt\nreport.txt');
    await ask(lease, 'write_file', { path: 'a/b.txt', content: 'hello' });
    expect((await ask(lease, 'delete_file', { path: 'report.txt' })).text).toBe(
      'Deleted report.txt.',
    );
    expect((await ask(lease, 'list_files')).text).toBe('a/b.txt\nnotes.txt\nnotes/todo.txt');
    for (const path of ['../x', '/etc/hostname', '.', 'notes/../../x']) {
      expect(await ask(lease, 'delete_file', { path })).toMatchObject({ isError: true });
    }
    expect(await ask(lease, 'delete_file', { path: 'nothing' })).toEqual({
      text: 'Tool returned an error: There is no such file; list_files shows those there are.',
      isError: true,
    });
  });
});

describe('cancelling a call over stdio', () => {
  it('tells a server that obeys, and rejects with the reason once it is silent', async () => {
    const lease = await start({ cancelQuietMs: 50 }).acquire([demoServer()]);
    const call = callContext();
    const done = toolNamed(lease, 'slow_count').execute({ to: 9_999, delay_ms: 1 }, call.context);
    await call.until((told) => told.progress.length >= 2);

    const reason = { kind: 'unclaimed' };
    call.abort(reason);
    const heard = call.told.progress.length;

    await expect(done).rejects.toBe(reason);
    const [token] = call.told.started;
    expect(call.told.cancelSent).toEqual([{ requestId: String(token), confirmed: true }]);
    expect(call.told.progress).toHaveLength(heard);
    // It has really stopped: the server answers others and its count is over.
    expect((await ask(lease, 'add', { a: 1, b: 1 })).text).toBe('2');
  });

  it('waits for a server that goes on until its late answer, which is thrown away', async () => {
    const lease = await start({ cancelQuietMs: 60_000 }).acquire([demoServer()]);
    const call = callContext();
    const done = toolNamed(lease, 'ignores_cancel').execute({ seconds: 2 }, call.context);
    await call.until((told) => told.progress.length >= 1);

    let isSettled = false;
    done.catch(() => {
      isSettled = true;
    });
    call.abort(new Error('stop'));
    await call.until((told) => told.cancelSent.length === 1);
    await ask(lease, 'add', { a: 1, b: 1 });
    expect(isSettled).toBe(false);
    await expect(done).rejects.toThrow('stop');

    expect(call.told.progress).toHaveLength(1);
  });

  it('settles a call of a deaf server when its connection is evicted', async () => {
    const lease = await start({ cancelQuietMs: 60_000 }).acquire([demoServer()]);
    const call = callContext();
    const done = toolNamed(lease, 'ignores_cancel').execute({ seconds: 300 }, call.context);
    await call.until((told) => told.progress.length >= 1);
    call.abort(new Error('stop'));
    await call.until((told) => told.cancelSent.length === 1);

    await Promise.all([lease.release({ evict: true }), expect(done).rejects.toThrow('stop')]);
  });

  it('sends nothing for a call whose signal has aborted before', async () => {
    const lease = await start().acquire([demoServer()]);
    const call = callContext(AbortSignal.abort(new Error('too late')));

    await expect(toolNamed(lease, 'add').execute({ a: 1, b: 1 }, call.context)).rejects.toThrow(
      'too late',
    );
    expect(call.told.started).toEqual([]);
  });
});

describe('a stdio server that fails', () => {
  it('is told apart by what went wrong while the others serve', async () => {
    const { acquire } = start();
    const lease = await acquire([
      { ...probe(), name: 'absent', cmd: ['/nowhere/no-such-command'] },
      { ...probe('--exit'), name: 'exits' },
      { ...probe(), name: 'empty', cmd: [] },
      demoServer(),
    ]);

    expect(
      lease.servers.map(({ serverName, status, reason }) => [serverName, status, reason]),
    ).toEqual([
      [
        'absent',
        'failed',
        'the command "no-such-command" was not found; check `cmd` of this server',
      ],
      ['exits', 'failed', 'the connection closed'],
      ['empty', 'failed', '`cmd` of this server is empty; name the executable first'],
      ['demo', 'connected', undefined],
    ]);
  });

  it('fails within its time when it never answers, and its process is gone', async () => {
    const { acquire, pool } = start({ connectMs: 400, idleMs: 0, backoffMsFirst: 1 });
    const lease = await acquire([probe('--mute')]);

    expect(lease.servers[0]).toMatchObject({
      status: 'failed',
      reason: 'did not connect within 0.4 s',
      toolsCount: 0,
    });
    await poolIsEmpty(pool);
  });

  it('rests after a failure and is tried again by the first acquire after that', async () => {
    const { acquire, pool } = start({ backoffMsFirst: 1_500, idleMs: 60_000 });
    const server = { ...probe(), name: 'absent', cmd: ['/nowhere/no-such-command'] };
    const reasons = [];
    reasons.push((await acquire([server])).servers[0]?.reason);
    reasons.push((await acquire([server])).servers[0]?.reason);
    const [actor] = pool.getSnapshot().actors.values();
    await new Promise<void>((resolve) =>
      actor?.subscribe((snapshot) => snapshot.matches({ failed: 'retryable' }) && resolve()),
    );
    reasons.push((await acquire([server])).servers[0]?.reason);

    expect(reasons[1]).toContain('the next attempt waits for a while');
    expect(reasons[2]).toBe(reasons[0]);
    expect(actor?.getSnapshot().context.failures).toBe(2);
  });

  it('gives its running calls an error when it dies, and is rebuilt for those who hold it', async () => {
    const { acquire, pool } = start({ backoffMsFirst: 20 });
    const lease = await acquire([probe()]);
    const before = (await ask(lease, 'pid')).text;

    expect(await ask(lease, 'die')).toEqual({
      text: 'Tool execution failed: the connection closed',
      isError: true,
    });
    const [actor] = pool.getSnapshot().actors.values();
    await new Promise<void>((resolve) => {
      const seen = actor?.subscribe((snapshot) => snapshot.hasTag('ready') && resolve());
      if (actor?.getSnapshot().hasTag('ready')) resolve();
      return seen;
    });

    const after = (await ask(lease, 'pid')).text;
    expect(Number(after)).toBeGreaterThan(0);
    expect(after).not.toBe(before);
  });

  it('keeps its secrets out of the log', async () => {
    const { acquire, lines } = start();
    const server = stdioFixture('probe-server.ts', {
      name: 'probe',
      env: { SAY: 'hunter2-secret' },
    });
    await ask(await acquire([server]), 'pid');

    expect(lines.map(({ fields }) => fields['line'])).toContain('I know [redacted]');
    expect(JSON.stringify(lines)).not.toContain('hunter2-secret');
  });

  it('carries a result of several megabytes, cut for the model', async () => {
    const lease = await start({ resultTextBytesMax: 1_000 }).acquire([probe()]);
    const result = await ask(lease, 'shout', { bytes: 5_000_000 });

    expect(result.isError).toBe(false);
    expect(result.text).toContain('4999000 bytes omitted');
  });
});

describe('the pool of connections', () => {
  it('hands one connection to runs that come at the same time and later', async () => {
    const { acquire, pool } = start();
    const [a, b] = await Promise.all([acquire([probe()]), acquire([probe()])]);
    const c = await acquire([probe()]);

    const pids = await Promise.all([a, b, c].map(async (lease) => (await ask(lease, 'pid')).text));
    expect(new Set(pids).size).toBe(1);
    expect(pool.getSnapshot().actors.size).toBe(1);
  });

  it('closes a connection that nobody has held for a while', async () => {
    const { acquire, pool, ports } = start({ idleMs: 30 });
    const lease = await acquire([probe()]);
    const pid = Number((await ask(lease, 'pid')).text);
    await lease.release({ evict: false });
    await poolIsEmpty(pool);

    expect(isRunning(pid)).toBe(false);
    expect(ports.registry.size).toBe(0);
  });

  it('keeps an evicted connection for its other holder and lets nobody else in (H-13)', async () => {
    const { acquire, pool } = start();
    const [a, b] = await Promise.all([acquire([probe()]), acquire([probe()])]);
    const first = (await ask(b, 'pid')).text;
    await a.release({ evict: true });
    const c = await acquire([probe()]);

    expect((await ask(b, 'pid')).text).toBe(first);
    expect((await ask(c, 'pid')).text).not.toBe(first);
    await b.release({ evict: false });
    expect(isRunning(Number(first))).toBe(false);
    expect(pool.getSnapshot().actors.size).toBe(1);
  });

  it('counts a release once, however often it is called', async () => {
    const { acquire, pool } = start({ idleMs: 0 });
    const [a, b] = await Promise.all([acquire([probe()]), acquire([probe()])]);
    await a.release({ evict: false });
    await a.release({ evict: true });

    expect((await ask(b, 'pid')).isError).toBe(false);
    expect(pool.getSnapshot().actors.size).toBe(1);
  });

  it('ends what the server started, though it ignores SIGTERM', async () => {
    const { acquire } = start({ terminateMs: 200, stdinEndMs: 50, killMs: 5_000, closeMs: 10_000 });
    const lease = await acquire([probe('--deaf')]);
    const parent = Number((await ask(lease, 'pid')).text);
    const child = Number((await ask(lease, 'grandchild')).text);
    expect([parent, child].map(isRunning)).toEqual([true, true]);

    await lease.release({ evict: true });

    expect([parent, child].map(isRunning)).toEqual([false, false]);
  });

  it('lets go of everything when the run is stopped while it connects', async () => {
    const { acquire, pool } = start({ connectMs: 60_000 });
    const stop = new AbortController();
    const acquired = acquire([probe('--mute')], { signal: stop.signal });
    await new Promise<void>((resolve) => pool.on('pool.spawned', () => resolve()));
    stop.abort(new Error('stopped'));

    await expect(acquired).rejects.toThrow('stopped');
    expect(pool.getSnapshot().actors.size).toBe(0);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });

  it('ends processes at once when the pool is stopped without a drain', async () => {
    const { acquire, pool, ports } = start();
    const lease = await acquire([probe('--deaf')]);
    const pid = Number((await ask(lease, 'pid')).text);
    pool.send({ type: 'pool.stopAll' });
    ports.registry.killAll();

    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});

describe('a thousand calls on one connection', () => {
  it('leave no listener, no timer and no call behind', async () => {
    const lease = await start().acquire([demoServer()]);
    const stop = new AbortController();
    const add = toolNamed(lease, 'add');
    const call = () => add.execute({ a: 1, b: 1 }, callContext(stop.signal).context);
    await call();
    const timers = () =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    for (let done = 0; done < 1_000; done += 10) {
      await Promise.all(Array.from({ length: 10 }, call));
    }
    process.off('warning', onWarning);

    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(timers()).toBeLessThanOrEqual(before);
    expect(warnings).toEqual([]);
  });
});
