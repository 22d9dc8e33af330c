import { afterEach, describe, expect, it } from 'vitest';
import { accept, askedContext } from './mcp-asking-kit.ts';
import { registerAskingTools } from './mcp-fixtures/asking-tools.ts';
import { type HttpFixture, type SeenRequest, startHttpServer } from './mcp-http-kit.ts';
import { callContext, demoServer, type Mcp, startMcp, toolNamed } from './mcp-kit.ts';

const SECRET = 'Bearer given-with-the-approval';

let mcp: Mcp;
let web: HttpFixture;
afterEach(async () => {
  await mcp.stop();
  await web.stop();
});

/** Each request that carried the secret, by what it was. */
const carriers = (): unknown[] =>
  web.seen
    .filter(({ headers }) => Object.values(headers).flat().includes(SECRET))
    .map(({ body }) => (body?.['params'] as { arguments?: unknown } | undefined)?.arguments);

const logged = (): string => JSON.stringify(mcp.lines);

describe.each(['http_streamable', 'sse'] as const)(
  'the headers of one call over %s',
  (transport) => {
    it('go with its request alone among twenty calls at a time, and win over configured ones', async () => {
      mcp = startMcp();
      web = await startHttpServer({ transport });
      const configured = { authorization: 'Bearer configured', 'x-team': 'blue' };
      const lease = await mcp.acquire([web.config({ headers: configured })]);
      const echo = toolNamed(lease, 'echo');
      const calls = Array.from({ length: 20 }, (_, n) =>
        echo.execute(
          { said: `call ${n}` },
          { ...callContext().context, ...(n === 7 ? { headers: { Authorization: SECRET } } : {}) },
        ),
      );
      await Promise.all(calls);
      expect(carriers()).toEqual([{ said: 'call 7' }]);

      const headers = toolNamed(lease, 'headers');
      const context = { ...callContext().context, headers: { authorization: SECRET } };
      const approved = await headers.execute({}, context);
      expect(JSON.parse(approved.text)).toEqual({ authorization: SECRET, team: 'blue' });
      const after = await headers.execute({}, callContext().context);
      expect(JSON.parse(after.text)).toEqual({ authorization: 'Bearer configured', team: 'blue' });
      expect(web.sessions.size).toBe(1);
    });

    it('do not go with the cancellation, the ping, or the reply to what the call asks', async () => {
      mcp = startMcp();
      web = await startHttpServer({ transport, tools: registerAskingTools });
      const lease = await mcp.acquire([web.config()]);
      const { context, question, abort } = askedContext({ headers: { authorization: SECRET } });
      const done = toolNamed(lease, 'ask').execute({ message: 'Why?', times: 2 }, context);
      (await question(1)).answer(accept('because'));
      await question(2);
      abort(new Error('stopped'));
      await expect(done).rejects.toThrow('stopped');
      const sent = web.seen.map(({ rpc, body }: SeenRequest) => rpc ?? body?.['result']);
      expect(sent).toEqual(
        expect.arrayContaining(['notifications/cancelled', 'ping', { action: 'cancel' }]),
      );
      expect(carriers()).toEqual([{ message: 'Why?', times: 2 }]);
    });

    it('that the transport sets itself, or that no header can hold, are passed over by name', async () => {
      mcp = startMcp();
      web = await startHttpServer({ transport });
      const lease = await mcp.acquire([web.config()]);
      const headers = {
        'Mcp-Session-Id': 'another',
        'content-length': '1',
        'x-broken': 'line\nbreak-and-secret',
        'not a name': 'x',
        'x-team': 'red',
      };
      const done = await toolNamed(lease, 'headers').execute(
        {},
        { ...callContext().context, headers },
      );
      expect(JSON.parse(done.text)).toEqual({ team: 'red' });
      const warned = mcp.lines.filter(({ level }) => level === 'warn');
      expect(warned.map(({ fields }) => fields['header'])).toEqual([
        'mcp-session-id',
        'content-length',
        'x-broken',
        'not a name',
      ]);
      expect(logged()).not.toContain('break-and-secret');
    });

    it('are in no error, progress, question or log, though the server repeats them', async () => {
      mcp = startMcp();
      web = await startHttpServer({
        transport,
        tools: (server) =>
          server.registerTool('repeats', { inputSchema: {} }, async (_args, extra) => {
            const { authorization } = extra.requestInfo?.headers ?? {};
            const progressToken = extra._meta?.progressToken ?? 0;
            const message = `I got ${String(authorization)}`;
            await extra.sendNotification({
              method: 'notifications/progress',
              params: { progressToken, progress: 1, message },
            });
            await server.server.elicitInput(
              { message, requestedSchema: { type: 'object', properties: {} } },
              { relatedRequestId: extra.requestId },
            );
            throw new Error(`refused: ${message}`);
          }),
      });
      const lease = await mcp.acquire([web.config()]);
      const { context, question, told } = askedContext({ headers: { authorization: SECRET } });
      const done = toolNamed(lease, 'repeats').execute({}, context);
      const put = await question(1);
      put.answer({ action: 'decline' });
      const { text, isError } = await done;
      expect(isError).toBe(true);
      expect(put.question.message).toBe('I got [redacted]');
      expect(text).toContain('refused: I got [redacted]');
      expect(told.progress.map(({ message }) => message)).toEqual(['I got [redacted]']);
      expect(logged()).not.toContain('given-with-the-approval');
    });
  },
);

describe('the headers of a call that is made once more', () => {
  it('go with it again, and stay out of the protocol error that it ends with', async () => {
    mcp = startMcp();
    let calls = 0;
    web = await startHttpServer({
      intercept: ({ rpc, body, headers }, response) => {
        if (rpc !== 'tools/call') return false;
        calls += 1;
        const error = { code: -32_000, message: `no entry for ${headers.authorization}` };
        const answer = JSON.stringify({ jsonrpc: '2.0', id: body?.['id'], error });
        if (calls === 1) response.writeHead(404).end('gone');
        else response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
        return true;
      },
    });
    const lease = await mcp.acquire([web.config()]);
    const context = { ...callContext().context, headers: { authorization: SECRET } };
    const done = await toolNamed(lease, 'echo').execute({ said: 'again' }, context);
    expect(carriers()).toEqual([{ said: 'again' }, { said: 'again' }]);
    expect(done.text).toBe('Tool execution failed: MCP error -32000: no entry for [redacted]');
    expect(logged()).not.toContain('given-with-the-approval');
  });
});

describe('the headers of one call over stdio', () => {
  it('are passed over', async () => {
    mcp = startMcp();
    web = await startHttpServer();
    const lease = await mcp.acquire([demoServer()]);
    const context = { ...callContext().context, headers: { authorization: SECRET } };
    const done = await toolNamed(lease, 'add').execute({ a: 2, b: 3 }, context);
    expect(done).toEqual({ text: '5', isError: false });
    expect(mcp.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});
