import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { ToolLease } from '../../src/tool.ts';
import type { McpLimits } from '../../src/mcp/limits.ts';
import { type HttpFixture, type HttpServerOptions, startHttpServer } from './mcp-http-kit.ts';
import { callContext, type Mcp, startMcp, stdioFixture, toolNamed } from './mcp-kit.ts';

/**
 * A call that certainly was not executed is made once more on the next connection; one that may have
 * been executed never is, because nobody knows what a second time would do.
 */

let mcp: Mcp;
let servers: HttpFixture[] = [];
const start = (limits: Partial<McpLimits> = {}) => {
  mcp = startMcp(limits);
  return mcp;
};
const begin = async (options: HttpServerOptions = {}, limits: Partial<McpLimits> = {}) => {
  const server = await startHttpServer(options);
  servers.push(server);
  return { ...start(limits), server };
};
afterEach(async () => {
  await mcp.stop();
  await Promise.all(servers.map((server) => server.stop()));
  servers = [];
});

const probe = () => stdioFixture('probe-server.ts', { name: 'probe' });

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

/** False once this process has collected it. */
const isKnown = (pid: number): boolean => existsSync(`/proc/${pid}`);

/** Whether a process and all its threads are through with their files, reaped or not. */
function hasLeft(pid: number): boolean {
  try {
    const [, state] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) /);
    return state?.startsWith('Z') === true && readdirSync(`/proc/${pid}/task`).length === 1;
  } catch {
    return true;
  }
}

describe('a call over streamable HTTP', () => {
  it('is made once more in a new session when the server has forgotten the old one', async () => {
    const { acquire, server, lines } = await begin({}, { backoffMsFirst: 300 });
    const lease = await acquire([server.config()]);
    server.sessions.clear();
    const calls = ['a', 'b', 'c'].map((said) => ({ said, ...callContext() }));

    const results = await Promise.all(
      calls.map(({ said, context }) => toolNamed(lease, 'echo').execute({ said }, context)),
    );
    expect(results.map(({ text }) => text)).toEqual(['a', 'b', 'c']);
    expect(calls.map(({ told }) => told.started.length)).toEqual([1, 1, 1]);
    expect(server.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(6);
    expect(server.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2);
    expect(lines.filter(({ message }) => message.includes('once more'))).toHaveLength(3);
  });

  it('fails when the server refuses the second session too', async () => {
    const { acquire, server } = await begin(
      {
        intercept: ({ rpc }, response) => {
          if (rpc === 'tools/call') response.writeHead(404).end();
          return rpc === 'tools/call';
        },
      },
      { backoffMsFirst: 10 },
    );
    const lease = await acquire([server.config()]);

    expect((await ask(lease, 'echo', { said: 'x' })).text).toBe(
      'Tool execution failed: server returned HTTP 404',
    );
    expect(server.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(2);
  });

  it('is made once when it is refused with 404 where it had no session', async () => {
    const answers: Record<string, unknown> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'web', version: '1' },
      },
      'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    };
    const { acquire, server } = await begin({
      intercept: ({ rpc = '', body }, response) => {
        const result = answers[rpc];
        // A session that comes with the refusal was not the one of the request.
        const status = rpc === 'tools/call' ? 404 : result === undefined ? 202 : 200;
        const session = rpc === 'tools/call' ? { 'mcp-session-id': 'late' } : {};
        response.writeHead(status, { 'content-type': 'application/json', ...session });
        response.end(JSON.stringify({ jsonrpc: '2.0', id: body?.['id'], result }));
        return true;
      },
    });
    const lease = await acquire([server.config()]);

    expect((await ask(lease, 'echo')).text).toBe('Tool execution failed: server returned HTTP 404');
    expect(server.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(1);
  });

  it.each([400, 500, 502])('is made once when it is refused with HTTP %i', async (status) => {
    const { acquire, server } = await begin({
      intercept: ({ rpc }, response) => {
        if (rpc === 'tools/call') response.writeHead(status).end();
        return rpc === 'tools/call';
      },
    });
    const lease = await acquire([server.config()]);

    expect((await ask(lease, 'echo', { said: 'x' })).isError).toBe(true);
    expect(server.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(1);
  });
});

describe('a call over stdio', () => {
  // Only /proc says when the pipes of a process that was killed are closed.
  it.skipIf(!existsSync('/proc/self/stat')).each(['noticed', 'still unnoticed'])(
    'is answered by a new process when it finds its own ended, %s',
    async (how) => {
      const { acquire } = start({ backoffMsFirst: 10 });
      const lease = await acquire([probe()]);
      const before = Number((await ask(lease, 'pid')).text);
      process.kill(before, 'SIGKILL');
      // Without a turn of the event loop nothing here can learn of the end.
      while (!hasLeft(before));
      if (how === 'noticed')
        await expect.poll(() => isKnown(before), { timeout: 10_000 }).toBe(false);

      const call = callContext();
      const after = await toolNamed(lease, 'pid').execute({}, call.context);
      expect(after).toEqual({ text: expect.stringMatching(/^\d+$/), isError: false });
      expect(Number(after.text)).not.toBe(before);
      expect(call.told.started).toHaveLength(1);
    },
  );

  it('is made once when its process ended during it', async () => {
    const { acquire, lines } = start({ backoffMsFirst: 10 });
    const lease = await acquire([probe()]);
    const call = callContext();

    const died = await toolNamed(lease, 'die').execute({}, call.context);
    expect(died.text).toBe('Tool execution failed: the connection closed');
    expect((await ask(lease, 'pid')).isError).toBe(false);
    expect(call.told.started).toHaveLength(1);
    expect(lines.filter(({ message }) => message.includes('once more'))).toEqual([]);
  });

  it('is made on a new process when its own closed its input, and that one is ended', async () => {
    const { acquire } = start({ backoffMsFirst: 10, stdinEndMs: 10 });
    const lease = await acquire([probe()]);
    const before = (await ask(lease, 'plug_ears')).text;
    const after = await ask(lease, 'pid');

    expect(after.isError).toBe(false);
    expect(after.text).not.toBe(before);
    expect(isRunning(Number(before))).toBe(false);
  });
});
