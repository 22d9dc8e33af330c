import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { ToolLease } from '../../src/tool.ts';
import type { McpLimits } from '../../src/mcp/limits.ts';
import {
  type HttpFixture,
  type HttpServerOptions,
  type SeenRequest,
  startHttpServer,
} from './mcp-http-kit.ts';
import { callContext, type Mcp, startMcp, stdioFixture, toolNamed } from './mcp-kit.ts';

/**
 * A server that never stops sending must not fill the memory of this process, by whatever way its
 * bytes come: they are counted as they come, and the connection is cut at the bound.
 */

const BOUND = 20_000;
const REASON = `the server sent a message over ${BOUND} bytes`;
const CHUNK = 'x'.repeat(1_000);
/** What the sockets and buffers between the two may hold; far below what an unread flood would be. */
const IN_FLIGHT_MAX = 30_000_000;

const PROBE = stdioFixture('probe-server.ts', { name: 'probe' });

let mcp: Mcp;
let server: HttpFixture;
let servers: HttpFixture[] = [];
let sent = 0;
let floods: Promise<void>[] = [];
const begin = async (options: HttpServerOptions, limits: Partial<McpLimits> = {}) => {
  sent = 0;
  floods = [];
  server = await startHttpServer(options);
  servers.push(server);
  mcp = startMcp({ messageBytesMax: BOUND, backoffMsFirst: 10, ...limits });
  return mcp;
};
const startStdio = (limits: Partial<McpLimits>) => {
  mcp = startMcp({ backoffMsFirst: 10, ...limits });
  return mcp;
};
afterEach(async () => {
  await mcp.stop();
  await Promise.all(servers.map((started) => started.stop()));
  servers = [];
});

/** Sends for ever; the promise in `floods` resolves when the other side cuts it. */
function flood(response: ServerResponse): void {
  const write = () => {
    while (!response.destroyed && response.write(CHUNK)) sent += CHUNK.length;
  };
  response.on('drain', write);
  floods.push(new Promise((resolve) => response.on('close', () => resolve())));
  write();
}

const BODIES = {
  'a JSON body': (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"jsonrpc":"2.0","id":1,"x":"');
    flood(response);
  },
  'an event of a stream': (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=utf-8' });
    response.write('id: 1\ndata: ');
    flood(response);
  },
};
const WAYS = Object.entries(BODIES).map(([way, answer]) => ({ way, answer }));

const floodsAt = (rpc: string, answer: (response: ServerResponse) => void) => ({
  intercept: (request: SeenRequest, response: ServerResponse) => {
    if (request.rpc !== rpc) return false;
    answer(response);
    return true;
  },
});

async function ask(lease: ToolLease, name: string, args: Record<string, unknown> = {}) {
  return toolNamed(lease, name).execute(args, callContext().context);
}

const warnings = () => mcp.lines.filter(({ level }) => level === 'warn');

describe.each(WAYS)('an endless answer as $way', ({ answer }) => {
  it('fails its call with the reason, at warn, while another call of the connection goes on', async () => {
    const { acquire } = await begin(floodsAtEcho(answer));
    const lease = await acquire([server.config()]);
    const other = callContext();
    const waits = toolNamed(lease, 'waits').execute({}, other.context);
    await other.until((told) => told.progress.length === 1);

    expect(await ask(lease, 'echo', { said: 'x' })).toEqual({
      text: `Tool execution failed: ${REASON}`,
      isError: true,
    });
    await Promise.all(floods);
    expect(sent).toBeLessThan(IN_FLIGHT_MAX);
    expect(warnings().map(({ fields }) => fields)).toEqual([{ server: 'web', reason: REASON }]);
    expect((await ask(lease, 'throws')).text).toBe('Tool returned an error: no luck');
    other.abort({ kind: 'shutdown' });
    await expect(waits).rejects.toEqual({ kind: 'shutdown' });
  });

  it.each(['initialize', 'tools/list'])('to %s fails the server with the reason', async (rpc) => {
    const { acquire } = await begin(floodsAt(rpc, answer));
    const lease = await acquire([server.config()]);

    expect(lease.servers[0]).toMatchObject({ status: 'failed', reason: REASON });
    await Promise.all(floods);
    expect(sent).toBeLessThan(IN_FLIGHT_MAX);
  });

  it('to a probe loses the connection, which is rebuilt for the run', async () => {
    let isFlooding = false;
    const { acquire } = await begin(
      {
        intercept: ({ rpc }, response) => {
          if (rpc !== 'ping' || !isFlooding) return false;
          isFlooding = false;
          answer(response);
          return true;
        },
      },
      { probeAfterMs: 0 },
    );
    await (await acquire([server.config()])).release({ evict: false });
    isFlooding = true;
    const lease = await acquire([server.config()]);

    expect(lease.servers[0]?.status).toBe('connected');
    await Promise.all(floods);
    expect(server.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2);
  });
});

/** Only `echo` is answered without end. */
function floodsAtEcho(answer: (response: ServerResponse) => void): HttpServerOptions {
  return {
    intercept: ({ rpc, body }, response) => {
      const params = body?.['params'] as { name?: string } | undefined;
      if (rpc !== 'tools/call' || params?.name !== 'echo') return false;
      answer(response);
      return true;
    },
  };
}

describe('an endless body of a refusal', () => {
  it.each(['http_streamable', 'sse'] as const)(
    'is not read over %s: the status is told at once',
    async (transport) => {
      const { acquire } = await begin({
        transport,
        ...floodsAt('tools/call', (response) => {
          response.writeHead(500, { 'content-type': 'text/plain' });
          flood(response);
        }),
      });
      const lease = await acquire([server.config()]);

      expect((await ask(lease, 'echo', { said: 'x' })).text).toBe(
        'Tool execution failed: server returned HTTP 500',
      );
      await Promise.all(floods);
      expect(sent).toBeLessThan(IN_FLIGHT_MAX);
    },
  );

  it('is not waited for when it comes slowly', async () => {
    const { acquire } = await begin(
      floodsAt('tools/call', (response) => {
        response.writeHead(503).write('wait');
      }),
    );
    const lease = await acquire([server.config()]);

    expect((await ask(lease, 'echo', { said: 'x' })).text).toBe(
      'Tool execution failed: server returned HTTP 503',
    );
  });
});

describe('an endless event of the stream that a connection listens to', () => {
  it('fails an SSE server that sends it first', async () => {
    const { acquire } = await begin({
      transport: 'sse',
      intercept: ({ method }, response) => {
        if (method === 'GET') BODIES['an event of a stream'](response);
        return method === 'GET';
      },
    });
    const lease = await acquire([server.config()]);

    expect(lease.servers[0]).toMatchObject({ status: 'failed', reason: REASON });
    await Promise.all(floods);
    expect(sent).toBeLessThan(IN_FLIGHT_MAX);
  });

  it.each(['http_streamable', 'sse'] as const)(
    'costs a connection over %s all its calls, and it is rebuilt',
    async (transport) => {
      const listening: ServerResponse[] = [];
      const { acquire } = await begin({
        transport,
        intercept: ({ method }, response) => {
          if (method === 'GET') listening.push(response);
          return false;
        },
      });
      const lease = await acquire([server.config()]);
      await server.until(() => listening.length === 1);
      const call = callContext();
      const done = toolNamed(lease, 'waits').execute({}, call.context);
      await call.until((told) => told.progress.length === 1);
      const [response] = listening;
      response?.write('data: ');
      if (response !== undefined) flood(response);

      expect((await done).text).toBe(`Tool execution failed: ${REASON}`);
      expect(warnings().map(({ fields }) => fields)).toEqual([{ server: 'web', reason: REASON }]);
      expect((await ask(lease, 'echo', { said: 'again' })).text).toBe('again');
      await Promise.all(floods);
    },
  );

  it('is none when many small events add up', async () => {
    const { acquire } = await begin({});
    const lease = await acquire([server.config()]);
    for (let call = 0; call < 30; call += 1) {
      expect((await ask(lease, 'echo', { said: CHUNK })).text).toBe(CHUNK);
    }
    expect(warnings()).toEqual([]);
  });
});

describe('an endless line of a stdio server', () => {
  it('is closed with the reason when it sends a line beyond every measure', async () => {
    const { acquire, lines } = startStdio({ messageBytesMax: 100_000 });
    const lease = await acquire([PROBE]);

    expect(await ask(lease, 'shout', { bytes: 200_000 })).toEqual({
      text: 'Tool execution failed: the server sent a message over 100000 bytes',
      isError: true,
    });
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        fields: { server: 'probe', reason: 'the server sent a message over 100000 bytes' },
        message: 'MCP server sent too much',
      },
    ]);
    // The connection is rebuilt, and a call that comes meanwhile waits for it.
    expect((await ask(lease, 'shout', { bytes: 3 })).text).toBe('xxx');
  });

  it('is failed with the reason when it sends such a line before it is connected', async () => {
    const lease = await startStdio({ messageBytesMax: 10 }).acquire([PROBE]);

    expect(lease.servers[0]?.reason).toBe('the server sent a message over 10 bytes');
  });
});
