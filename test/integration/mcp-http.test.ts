import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { ToolLease } from '../../src/tool.ts';
import { describeTools } from '../../src/mcp/describe-tools.ts';
import { MCP_LIMITS, type McpLimits } from '../../src/mcp/limits.ts';
import { type HttpFixture, type HttpServerOptions, startHttpServer } from './mcp-http-kit.ts';
import { callContext, demoServer, type Mcp, poolIsEmpty, startMcp, toolNamed } from './mcp-kit.ts';

let mcp: Mcp;
let servers: HttpFixture[] = [];
const begin = async (options: HttpServerOptions = {}, limits: Partial<McpLimits> = {}) => {
  const server = await startHttpServer(options);
  servers.push(server);
  mcp = startMcp(limits);
  return { ...mcp, server };
};
afterEach(async () => {
  await mcp.stop();
  await Promise.all(servers.map((server) => server.stop()));
  servers = [];
});

async function ask(lease: ToolLease, name: string, args: Record<string, unknown> = {}) {
  return toolNamed(lease, name).execute(args, callContext().context);
}

const KINDS = [
  { title: 'streamable HTTP', transport: 'http_streamable' as const, json: false },
  { title: 'streamable HTTP with JSON answers', transport: 'http_streamable' as const, json: true },
  { title: 'SSE', transport: 'sse' as const, json: false },
];

describe.each(KINDS)('a server over $title', ({ transport, json }) => {
  it('is connected, called and marked when it fails', async () => {
    const { acquire, server } = await begin({ transport, json });
    const lease = await acquire([server.config()]);

    expect(lease.servers).toEqual([
      { serverName: 'web', transport, status: 'connected', toolsCount: 5 },
    ]);
    const call = callContext();
    const answer = await toolNamed(lease, 'echo').execute({ said: 'hello' }, call.context);
    expect(answer).toEqual({ text: 'hello', isError: false });
    expect(call.told.started).toHaveLength(1);
    expect((await ask(lease, 'throws')).text).toBe('Tool returned an error: no luck');
  });

  it('hears of a cancellation with its reason, under the id of the call', async () => {
    const { acquire, server } = await begin({ transport, json }, { cancelQuietMs: 30 });
    const lease = await acquire([server.config()]);
    const call = callContext();
    const done = toolNamed(lease, 'waits').execute({}, call.context);
    await call.until((told) => told.started.length === 1);
    await server.until(() => server.seen.some(({ rpc }) => rpc === 'tools/call'));
    const reason = { kind: 'deadline', which: 'total', afterMs: 1 };
    call.abort(reason);

    await expect(done).rejects.toBe(reason);
    await server.until(() => server.cancelled.length === 1);
    const [token] = call.told.started;
    expect(server.cancelled).toEqual(['timeout']);
    expect(call.told.cancelSent).toEqual([{ requestId: String(token), confirmed: true }]);
    const sent = server.seen.find(({ rpc }) => rpc === 'notifications/cancelled');
    expect(sent?.body?.['params']).toEqual({ requestId: token, reason: 'timeout' });
  });

  it('forwards the configured headers and lets the request win', async () => {
    const { acquire, server } = await begin({ transport, json });
    const config = server.config({
      headers: { Authorization: 'Token static', 'X-Team': 'blue' },
      headersFromRequest: { Authorization: 'X-User-Token', 'X-Absent': 'X-Nothing' },
    });
    const plain = await acquire([config]);
    const own = await acquire([config], { requestHeaders: { 'x-user-token': 'Token abc' } });

    const read = async (lease: ToolLease) => JSON.parse((await ask(lease, 'headers')).text);
    expect(await read(plain)).toEqual({ authorization: 'Token static', team: 'blue' });
    expect(await read(own)).toEqual({ authorization: 'Token abc', team: 'blue' });
    expect(mcp.pool.getSnapshot().actors.size).toBe(2);
    const again = await acquire([config], { requestHeaders: { 'x-user-token': 'Token abc' } });
    expect(mcp.pool.getSnapshot().actors.size).toBe(2);
    expect(await read(again)).toEqual({ authorization: 'Token abc', team: 'blue' });
  });

  it('is failed with its status when it refuses, and the secret stays inside', async () => {
    const { acquire, server, lines } = await begin({
      transport,
      json,
      intercept: (request, response) => {
        response.writeHead(401).end(`bad ${request.headers.authorization ?? ''}`);
        return true;
      },
    });
    const headers = { authorization: 'Bearer very-secret-token' };
    const lease = await acquire([server.config({ headers })]);

    expect(lease.servers[0]).toMatchObject({ status: 'failed', toolsCount: 0 });
    expect(lease.servers[0]?.reason).toBe(
      'server returned HTTP 401: it did not accept the credentials; ' +
        'check `headers` and `headers_from_request` of this server',
    );
    expect(JSON.stringify([lease.servers, lines])).not.toContain('very-secret-token');
  });

  it.each([403, 404, 500, 503])('is failed with HTTP %i in its reason', async (status) => {
    const { acquire, server } = await begin({
      transport,
      json,
      intercept: (_request, response) => {
        response.writeHead(status).end('a page of words');
        return true;
      },
    });
    const lease = await acquire([server.config()]);

    expect(lease.servers[0]?.reason).toBe(`server returned HTTP ${status}`);
  });

  it('is failed within its time when it never answers, while another one serves', async () => {
    const { acquire, server } = await begin({ transport, json, intercept: () => true });
    await acquire([demoServer()]);
    const lease = await acquire([server.config(), demoServer()], {
      limits: { ...MCP_LIMITS, connectMs: 500 },
    });

    expect(lease.servers.map(({ status, reason }) => [status, reason])).toEqual([
      ['failed', 'did not connect within 0.5 s'],
      ['connected', undefined],
    ]);
    // Nothing of the failed connection is left open.
    await server.until(() => server.sockets.size === 0);
  });

  it('closes every socket when it is evicted', async () => {
    const { acquire, server, pool } = await begin({ transport, json });
    const lease = await acquire([server.config()]);
    await ask(lease, 'echo', { said: 'x' });
    await lease.release({ evict: true });

    expect(pool.getSnapshot().actors.size).toBe(0);
    await server.until(() => server.sockets.size === 0);
  });
});

describe('a server that is not there', () => {
  it.each(['http_streamable', 'sse'] as const)(
    'is failed over %s, with the system code',
    async (transport) => {
      const { acquire, server } = await begin();
      const port = await freePort();
      const url = `http://user:pass-word@127.0.0.1:${port}/mcp`;
      const lease = await acquire([server.config({ transport, url })]);

      expect(lease.servers[0]?.reason).toBe('the connection failed (ECONNREFUSED)');
    },
  );

  it.each([
    ['ftp://host/x', '`url` of this server is not an http or https URL; correct it'],
    ['nonsense', '`url` of this server is not an http or https URL; correct it'],
  ])('is failed when its URL is %s', async (url, reason) => {
    const { acquire, server } = await begin();
    const lease = await acquire([server.config({ url })]);

    expect(lease.servers[0]?.reason).toBe(reason);
  });

  it('is failed when its headers cannot be sent, without their values', async () => {
    const { acquire, server } = await begin();
    const lease = await acquire([
      server.config({ headers: { 'x-key': 'line\nbreak' } }),
      server.config({ name: 'b', headers: { Host: 'elsewhere' } }),
    ]);

    expect(lease.servers.map(({ reason }) => reason)).toEqual([
      'the value of the header "x-key" has characters that no header can hold; correct it in `headers` of this server',
      'the header "host" is set by the transport; remove it from `headers` of this server',
    ]);
  });
});

describe('a session over streamable HTTP', () => {
  it('is ended by DELETE when its connection closes', async () => {
    const { acquire, server } = await begin();
    const lease = await acquire([server.config({ headers: { authorization: 'Bearer abcd' } })]);
    const [session] = server.sessions.keys();
    await lease.release({ evict: true });

    const ended = server.seen.filter(({ method }) => method === 'DELETE');
    expect(ended.map(({ headers }) => [headers['mcp-session-id'], headers.authorization])).toEqual([
      [session, 'Bearer abcd'],
    ]);
    expect(server.sessions.size).toBe(0);
  });

  it('closes within its bound when the DELETE hangs (INV-49)', async () => {
    const { acquire, server, pool } = await begin(
      { intercept: ({ method }) => method === 'DELETE' },
      { sessionEndMs: 50 },
    );
    const lease = await acquire([server.config()]);
    await lease.release({ evict: true });

    expect(pool.getSnapshot().actors.size).toBe(0);
    await server.until(() => server.sockets.size === 0);
  });

  it('tells the error of a server in its own words, though its code is that of a close', async () => {
    const { acquire, server } = await begin({
      intercept: ({ rpc, body }, response) => {
        if (rpc !== 'tools/call') return false;
        const error = { code: -32000, message: 'out of paper' };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id: body?.['id'], error }));
        return true;
      },
    });
    const lease = await acquire([server.config()]);

    expect((await ask(lease, 'echo', { said: 'x' })).text).toBe(
      'Tool execution failed: MCP error -32000: out of paper',
    );
  });

  it('survives a probe that is answered with the code of a close', async () => {
    const { acquire, server } = await begin(
      {
        intercept: ({ rpc, body }, response) => {
          if (rpc !== 'ping') return false;
          const error = { code: -32000, message: 'no ping here' };
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ jsonrpc: '2.0', id: body?.['id'], error }));
          return true;
        },
      },
      { probeAfterMs: 0 },
    );
    await (await acquire([server.config()])).release({ evict: false });
    const lease = await acquire([server.config()]);

    expect(lease.servers[0]?.status).toBe('connected');
    expect(server.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(1);
  });

  it('is probed before a run gets it after a silence, and rebuilt when it is dead', async () => {
    const { acquire, server } = await begin({}, { backoffMsFirst: 10, probeAfterMs: 0 });
    await (await acquire([server.config()])).release({ evict: false });
    server.sessions.clear();
    const lease = await acquire([server.config()]);

    expect(lease.servers[0]?.status).toBe('connected');
    expect((await ask(lease, 'echo', { said: 'alive' })).text).toBe('alive');
  });

  it('is rebuilt when the probe gets no answer', async () => {
    let isMute = false;
    const { acquire, server } = await begin(
      { intercept: ({ rpc }) => isMute && rpc === 'ping' },
      { backoffMsFirst: 10, probeAfterMs: 0, probeMs: 50 },
    );
    await (await acquire([server.config()])).release({ evict: false });
    isMute = true;
    const lease = await acquire([server.config()]);

    expect(lease.servers[0]?.status).toBe('connected');
    expect(server.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2);
  });

  it('gives a call an error when its stream ends before the answer', async () => {
    const { acquire, server } = await begin();
    const lease = await acquire([server.config()]);
    const call = callContext();
    const done = toolNamed(lease, 'waits').execute({}, call.context);
    await call.until((told) => told.progress.length === 1);
    server.cut();

    await expect(done).resolves.toEqual({
      text: 'Tool execution failed: the server closed the stream before the answer came',
      isError: true,
    });
    expect(call.told.progress).toEqual([
      { message: 'Progress: 1/3', percent: 33, progressToken: call.told.started[0] },
    ]);
    expect((await ask(lease, 'echo', { said: 'after' })).text).toBe('after');
  });

  it('lists its tools again after the server said that they changed', async () => {
    const { acquire, server } = await begin();
    const lease = await acquire([server.config()]);
    await server.until(() => server.seen.some(({ method }) => method === 'GET'));
    await ask(lease, 'grows');

    await expect
      .poll(async () => (await acquire([server.config()])).servers[0]?.toolsCount)
      .toBe(6);
  });
});

describe('an SSE connection that breaks', () => {
  it('fails its calls and is opened again for those who hold it', async () => {
    const { acquire, server, pool } = await begin({ transport: 'sse' }, { backoffMsFirst: 10 });
    const lease = await acquire([server.config()]);
    const call = callContext();
    const done = toolNamed(lease, 'waits').execute({}, call.context);
    await call.until((told) => told.progress.length === 1);
    server.cut();

    expect((await done).text).toBe('Tool execution failed: the connection closed');
    const [actor] = pool.getSnapshot().actors.values();
    await new Promise<void>((resolve) => {
      actor?.subscribe((snapshot) => snapshot.hasTag('ready') && resolve());
    });
    expect((await ask(lease, 'echo', { said: 'again' })).text).toBe('again');
  });
});

describe('the tools of several servers', () => {
  it('are filtered by their sanitised names and told apart where they collide', async () => {
    const { source, server, lines } = await begin();
    const request = { requestHeaders: {}, signal: new AbortController().signal };
    const both = source([server.config(), server.config({ name: 'web two' })], {
      filter: ['ec?o', 'th*'],
    });
    const lease = await both.acquire({ runId: 'first', ...request });
    await both.acquire({ runId: 'second', ...request });

    expect(lease.tools.map(({ spec }) => spec.name)).toEqual([
      'echo',
      'throws',
      'echo_web_two',
      'throws_web_two',
    ]);
    // One line for the catalogue, not one for each tool and run.
    expect(lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields)).toEqual([
      {
        count: 2,
        tools: [
          { server: 'web two', name: 'echo', renamed: 'echo_web_two' },
          { server: 'web two', name: 'throws', renamed: 'throws_web_two' },
        ],
      },
    ]);
    expect((await ask(lease, 'echo_web_two', { said: 'two' })).text).toBe('two');
  });

  it('are described by server, without the servers that failed', async () => {
    const { source, server, pool } = await begin({}, { idleMs: 0 });
    const gone = server.config({ name: 'gone', url: `http://127.0.0.1:${await freePort()}/` });
    const tools = await describeTools(source([server.config(), gone], { filter: ['echo'] }), {
      runId: 'info',
      requestHeaders: {},
      signal: new AbortController().signal,
    });

    expect(Object.keys(tools)).toEqual(['web']);
    expect(tools['web']).toMatchObject([{ name: 'echo', parameters: { required: ['said'] } }]);
    await expect.poll(() => pool.getSnapshot().actors.size).toBeLessThanOrEqual(1);
  });

  it('are none with an empty filter, though the servers are connected', async () => {
    const { acquire, server } = await begin();
    const lease = await acquire([server.config()], { filter: [] });

    expect(lease.tools).toEqual([]);
    expect(lease.servers[0]).toMatchObject({ status: 'connected', toolsCount: 5 });
  });

  it('closes the connections in order when the pool is told to', async () => {
    const { acquire, server, pool } = await begin();
    await acquire([server.config(), demoServer()]);
    const empty = poolIsEmpty(pool);
    pool.send({ type: 'pool.tellAll', event: { type: 'mcp.close' } });
    await empty;

    expect(server.seen.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
  });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}
