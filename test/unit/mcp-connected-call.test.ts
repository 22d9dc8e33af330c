import { describe, expect, it } from 'vitest';
import type { ToolContext, ToolProgress, ToolResult } from '../../src/tool.ts';
import type { CallRequest } from '../../src/mcp/call.ts';
import type { McpClient } from '../../src/mcp/client.ts';
import { callConnected, type CallRoute } from '../../src/mcp/connected-call.ts';
import { McpConnectionError, NotExecutedError } from '../../src/mcp/failures.ts';
import { deferred } from '../../src/mcp/wait.ts';
import { turn } from './mcp-kit.ts';

type Behaviour = (request: CallRequest) => Promise<ToolResult>;

const QUESTION = { server: 'web', message: 'Why?', schema: { type: 'object', properties: {} } };
const OK: ToolResult = { text: 'ok', isError: false };
const REFUSED: Behaviour = (request) => {
  request.context.started({ progressToken: 1 });
  return Promise.reject(new NotExecutedError('server returned HTTP 404'));
};

/** A connection whose client is what the test puts there. */
function connection() {
  const clients: { calls: number; gone: ReturnType<typeof deferred<void>> }[] = [];
  let current: McpClient | undefined;
  let ready = deferred<void>();
  const route = {
    serverName: 'web',
    lease: { connectionId: 'c', ready: () => ready.promise, release: async () => {} },
    registry: { client: () => current },
    log: { debug: () => {}, info: () => {}, warn: () => {} },
  } as unknown as CallRoute; // A registry has more than a route asks of it.
  return {
    route,
    clients,
    connect: (behaviour: Behaviour) => {
      const made = { calls: 0, gone: deferred<void>() };
      clients.push(made);
      const call: Behaviour = (request) => {
        made.calls += 1;
        return behaviour(request);
      };
      current = { call, gone: made.gone.promise } as McpClient;
      ready.resolve();
    },
    lose: () => {
      current = undefined;
      ready = deferred<void>();
      clients.at(-1)?.gone.resolve();
    },
    fail: (reason: string) => ready.reject(new McpConnectionError(reason)),
  };
}

function request() {
  const stop = new AbortController();
  const told = { started: [] as unknown[], progress: [] as ToolProgress[] };
  const context: ToolContext = {
    runId: 'r',
    sessionId: 's',
    toolCallId: 'c',
    signal: stop.signal,
    started: ({ progressToken }) => void told.started.push(progressToken),
    progress: (progress) => void told.progress.push(progress),
  };
  return { stop, told, call: { toolName: 'work', args: {}, context } };
}

describe('a call on a connection that may be rebuilt', () => {
  it('is made once more, on the next connection, when it certainly was not executed', async () => {
    const { route, connect, lose, clients } = connection();
    connect(REFUSED);
    const { call, told } = request();
    const done = callConnected(call, route);
    await turn();
    lose();
    connect(async ({ context }) => {
      context.started({ progressToken: 9 });
      context.progress({ message: 'half', progressToken: 9 });
      return OK;
    });

    await expect(done).resolves.toEqual(OK);
    expect(clients.map(({ calls }) => calls)).toEqual([1, 1]);
    expect(told).toEqual({
      started: [1],
      progress: [{ message: 'half', progressToken: 1 }],
    });
  });

  it('carries its headers again and may ask as before when it is made once more', async () => {
    const { route, connect, lose } = connection();
    const seen: unknown[] = [];
    const behaviour =
      (next: Behaviour): Behaviour =>
      async (made) => {
        seen.push(made.context.headers, await made.context.elicit?.(QUESTION));
        return next(made);
      };
    connect(behaviour(REFUSED));
    const { call } = request();
    const context: ToolContext = {
      ...call.context,
      headers: { 'x-ticket': '7' },
      elicit: async () => ({ action: 'decline' }),
    };
    const done = callConnected({ ...call, context }, route);
    await turn();
    lose();
    connect(behaviour(async () => OK));
    await expect(done).resolves.toEqual(OK);
    const each = [{ 'x-ticket': '7' }, { action: 'decline' }];
    expect(seen).toEqual([...each, ...each]);
  });

  it('is not made again before the connection it failed on is over', async () => {
    const { route, connect, lose, clients } = connection();
    connect(REFUSED);
    const done = callConnected(request().call, route);
    await turn();
    expect(clients[0]?.calls).toBe(1);
    lose();
    connect(async () => OK);
    await expect(done).resolves.toEqual(OK);
  });

  it('is given up when the next connection refuses it too', async () => {
    const { route, connect, lose, clients } = connection();
    connect(REFUSED);
    const done = callConnected(request().call, route);
    await turn();
    lose();
    connect(REFUSED);

    await expect(done).resolves.toEqual({
      text: 'Tool execution failed: server returned HTTP 404',
      isError: true,
    });
    expect(clients.map(({ calls }) => calls)).toEqual([1, 1]);
  });

  it('is never made again when it may have been executed', async () => {
    const { route, connect, lose, clients } = connection();
    const failed = { text: 'Tool execution failed: the connection closed', isError: true };
    connect(async () => {
      lose();
      connect(async () => OK);
      return failed;
    });

    await expect(callConnected(request().call, route)).resolves.toEqual(failed);
    expect(clients.map(({ calls }) => calls)).toEqual([1, 0]);
  });

  it('waits while there is no connection', async () => {
    const { route, connect } = connection();
    const done = callConnected(request().call, route);
    await turn();
    connect(async () => OK);
    await expect(done).resolves.toEqual(OK);
  });

  it('fails with the reason when there will be no connection', async () => {
    const { route, fail } = connection();
    const done = callConnected(request().call, route);
    fail('the command "x" was not found');
    await expect(done).resolves.toEqual({
      text: 'Tool execution failed: the MCP server "web" is not connected: the command "x" was not found',
      isError: true,
    });
  });

  it.each(['before it is made', 'while it waits for the next connection'])(
    'rejects with the reason when it is stopped %s',
    async (when) => {
      const { route, connect } = connection();
      if (when !== 'before it is made') connect(REFUSED);
      const { call, stop } = request();
      const done = callConnected(call, route);
      await turn();
      stop.abort(new Error('stopped'));
      await expect(done).rejects.toThrow('stopped');
    },
  );
});
