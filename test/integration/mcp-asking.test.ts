import { afterEach, describe, expect, it } from 'vitest';
import type { ToolLease } from '../../src/tool.ts';
import { accept, askedContext } from './mcp-asking-kit.ts';
import { REASON_SCHEMA, registerAskingTools } from './mcp-fixtures/asking-tools.ts';
import { type HttpFixture, startHttpServer } from './mcp-http-kit.ts';
import { demoServer, type Mcp, startMcp, stdioFixture, toolNamed } from './mcp-kit.ts';

let mcp: Mcp;
let web: HttpFixture | undefined;
afterEach(async () => {
  await mcp.stop();
  await web?.stop();
  web = undefined;
});

type Transport = 'stdio' | 'http_streamable' | 'sse';

/** Runs that share one connection to a server that asks. */
async function connect(transport: Transport, runs = 1): Promise<ToolLease[]> {
  mcp = startMcp();
  if (transport !== 'stdio') web = await startHttpServer({ transport, tools: registerAskingTools });
  const server = web?.config() ?? stdioFixture('asking-server.ts');
  const leases: ToolLease[] = [];
  for (let run = 0; run < runs; run += 1) leases.push(await mcp.acquire([server]));
  return leases;
}

/** A call by a run, and the person who is asked for it. */
function call(lease: ToolLease | undefined, name: string, args: Record<string, unknown> = {}) {
  if (lease === undefined) throw new Error('There is no such run.');
  const person = askedContext();
  const done = toolNamed(lease, name).execute(args, person.context);
  return { ...person, done, told: async () => JSON.parse((await done).text) as unknown };
}

const warnings = () => mcp.lines.filter(({ level }) => level === 'warn');

describe.each<Transport>(['stdio', 'http_streamable', 'sse'])(
  'a server over %s that asks',
  (by) => {
    it('is told what the person says, question after question', async () => {
      const [lease] = await connect(by);
      const { question, told, put } = call(lease, 'ask', { message: 'Why?', times: 3 });

      const first = await question(1);
      expect(first.question).toEqual({
        server: by === 'stdio' ? 'asking-server.ts' : 'web',
        message: 'Why? 1',
        schema: REASON_SCHEMA,
      });
      first.answer(accept('because'));
      (await question(2)).answer({ action: 'decline' });
      (await question(3)).answer({ action: 'cancel' });

      expect(await told()).toEqual([
        { action: 'accept', content: { reason: 'because' } },
        { action: 'decline' },
        { action: 'cancel' },
      ]);
      expect(put).toHaveLength(3);
      expect(warnings()).toEqual([]);
    });

    it('is told why when it asks for an object in an object, by URL, or without a message', async () => {
      const [lease] = await connect(by);
      const nested = { type: 'object', properties: { a: { type: 'object', properties: {} } } };
      const tries = [
        [
          { message: 'x', requestedSchema: nested },
          /-32602: requestedSchema: `properties\.a\.type`/,
        ],
        [
          { mode: 'url', message: 'x', elicitationId: '1', url: 'http://localhost/' },
          /-32602.*URL/,
        ],
        [{ requestedSchema: REASON_SCHEMA }, /-32602: `message`/],
      ] as const;
      for (const [params, reason] of tries) {
        const { told, put } = call(lease, 'ask_raw', { params });
        expect(await told()).toMatch(reason);
        expect(put).toEqual([]);
      }
      expect(warnings()).toHaveLength(3);
    });

    it('is told "cancel" when the call is stopped while its question is open', async () => {
      const [lease] = await connect(by);
      const { question, done, abort } = call(lease, 'ask_raw', {
        params: { message: 'Why?', requestedSchema: REASON_SCHEMA },
      });
      const { signal } = await question(1);
      abort(new Error('stopped'));
      await expect(done).rejects.toThrow('stopped');
      expect(signal.aborted).toBe(true);
      const wire = web?.seen.map(({ body }) => body?.['method'] ?? body?.['result']);
      if (wire === undefined) return;
      expect(wire.slice(wire.indexOf('tools/call'))).toEqual([
        'tools/call',
        'notifications/cancelled',
        { action: 'cancel' },
        'ping',
      ]);
    });

    it('may have ten questions open and is told "cancel" for the eleventh', async () => {
      const [lease] = await connect(by);
      const { question, told, put } = call(lease, 'ask_at_once', { count: 11 });
      await mcp.untilLogged(({ level }) => level === 'warn');
      for (let n = 1; n <= 10; n += 1) (await question(n)).answer(accept('because'));
      expect(await told()).toEqual([...Array.from({ length: 10 }, () => 'accept'), 'cancel']);
      expect(put).toHaveLength(10);
      expect(warnings()).toMatchObject([{ fields: { open: 10, questionsOpenMax: 10 } }]);
    });

    it('may ask a hundred questions in one call and is told "cancel" for the rest', async () => {
      const [lease] = await connect(by);
      const { question, told } = call(lease, 'ask', { message: 'Why?', times: 102 });
      for (let n = 1; n <= 100; n += 1) (await question(n)).answer(accept('because'));
      const actions = (await told()) as { action: string }[];
      expect(actions.slice(99).map(({ action }) => action)).toEqual(['accept', 'cancel', 'cancel']);
    });

    it('takes a question back, and whoever was asked learns of it', async () => {
      const [lease] = await connect(by);
      const { question, done } = call(lease, 'take_back');
      const [first, second] = [await question(1), await question(2)];
      second.answer(accept('because'));
      expect(await done).toEqual({ text: 'taken back', isError: false });
      expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false]);
    });

    it('is told "cancel" where nobody can be asked', async () => {
      const [lease] = await connect(by);
      if (lease === undefined) throw new Error('There is no such run.');
      const { elicit: _, ...context } = askedContext().context;
      const done = await toolNamed(lease, 'ask').execute({ message: 'Why?' }, context);
      expect(done.text).toBe('[{"action":"cancel"}]');
    });
  },
);

describe('runs that share a connection', () => {
  it('each see the questions of their own calls alone over streamable HTTP', async () => {
    const leases = await connect('http_streamable', 8);
    const calls = leases.flatMap((lease, run) =>
      [1, 2].map((n) => call(lease, 'ask', { message: `Run ${run} call ${n}`, times: 2 })),
    );
    for (const n of [2, 1]) {
      // From the last to the first, so that no order helps.
      for (const { question } of [...calls].reverse()) {
        const put = await question(3 - n);
        put.answer(accept(put.question.message));
      }
    }
    for (const [at, { told, put }] of calls.entries()) {
      const own = `Run ${Math.floor(at / 2)} call ${(at % 2) + 1}`;
      expect(put.map(({ question }) => question.message)).toEqual([`${own} 1`, `${own} 2`]);
      expect(await told()).toEqual([accept(`${own} 1`), accept(`${own} 2`)]);
    }
    expect(web?.sessions.size).toBe(1);
  });

  it.each<Transport>(['stdio', 'http_streamable', 'sse'])(
    'see no question over %s that does not say whose it is, and the operator learns of it',
    async (by) => {
      const [mine, other] = await connect(by, 2);
      const holding = call(other, 'hold');
      await holding.until(({ progress }) => progress.length > 0);
      const asking = call(mine, 'ask', { message: 'Whose?', via: 'connection' });
      expect(await asking.told()).toEqual([{ action: 'cancel' }]);
      expect([...asking.put, ...holding.put]).toEqual([]);
      expect(warnings()).toMatchObject([
        { fields: { calls: 2 }, message: expect.stringContaining('for which of its calls') },
      ]);

      await call(mine, 'let_go').done;
      await holding.done;
      const alone = call(mine, 'ask', { message: 'Mine?', via: 'connection' });
      (await alone.question(1)).answer(accept('because'));
      expect(await alone.told()).toEqual([accept('because')]);
    },
  );

  it('are not asked for a call that was given up and may still ask', async () => {
    const [mine, other] = await connect('stdio', 2);
    const holding = call(other, 'hold');
    await holding.until(({ progress }) => progress.length > 0);
    holding.abort(new Error('stopped'));
    await expect(holding.done).rejects.toThrow('stopped');
    const asking = call(mine, 'ask', { message: 'Whose?', via: 'connection' });
    expect(await asking.told()).toEqual([{ action: 'cancel' }]);
    expect(warnings()).toMatchObject([{ fields: { calls: 1, givenUp: 1 } }]);
  });
});

describe('a connection with an open question', () => {
  it('is not given up because its server reads nothing but the answer', async () => {
    mcp = startMcp({ probeAfterMs: 0, probeMs: 50 });
    let isDeaf = false;
    web = await startHttpServer({
      tools: registerAskingTools,
      intercept: ({ rpc }) => isDeaf && rpc === 'ping',
    });
    const asking = call(await mcp.acquire([web.config()]), 'ask', { message: 'Why?' });
    const put = await asking.question(1);
    isDeaf = true;
    const other = await mcp.acquire([web.config()]);
    expect(other.servers).toMatchObject([{ status: 'connected' }]);
    put.answer(accept('because'));
    expect(await asking.told()).toEqual([accept('because')]);
    expect(web.sessions.size).toBe(1);
  });
});

describe('a call that was given up', () => {
  it('is forgotten as one that may ask as soon as its answer comes after all', async () => {
    mcp = startMcp({ cancelQuietMs: 20, strayAskMs: 3_600_000 });
    const lease = await mcp.acquire([demoServer()]);
    const deaf = call(lease, 'ignores_cancel', { seconds: 1 });
    await deaf.until(({ progress }) => progress.length > 0);
    deaf.abort(new Error('stopped'));
    await expect(deaf.done).rejects.toThrow('stopped');
    const tooEarly = call(lease, 'deploy', { service: 'web' });
    expect((await tooEarly.done).text).toContain('Nobody answered');

    // The SDK says of an answer that nobody waits for that something is wrong.
    await mcp.untilLogged(({ message }) => message === 'MCP transport error');
    const asking = call(lease, 'deploy', { service: 'web' });
    (await asking.question(1)).answer({ action: 'decline' });
    expect((await asking.done).text).toContain('A person refused');
  });
});

describe('a question by the stream of another request than a call', () => {
  it('is shown to nobody and puzzles nobody', async () => {
    mcp = startMcp();
    let isAsking = false;
    const told = Promise.withResolvers<unknown>();
    web = await startHttpServer({
      tools: registerAskingTools,
      intercept: ({ rpc, body }, response) => {
        if (body?.['id'] === 'q') told.resolve(body['result']);
        if (!isAsking || rpc !== 'ping') return false;
        const params = { message: 'Whose?', requestedSchema: REASON_SCHEMA };
        const method = 'elicitation/create';
        const question = JSON.stringify({ jsonrpc: '2.0', id: 'q', method, params });
        const pong = JSON.stringify({ jsonrpc: '2.0', id: body?.['id'], result: {} });
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`data: ${question}\n\ndata: ${pong}\n\n`);
        return true;
      },
    });
    const [mine, other] = [await mcp.acquire([web.config()]), await mcp.acquire([web.config()])];
    const holding = call(mine, 'hold');
    const stopped = call(other, 'hold');
    await holding.until(({ progress }) => progress.length > 0);
    await stopped.until(({ progress }) => progress.length > 0);
    isAsking = true;
    // Makes the client ping.
    stopped.abort(new Error('stopped'));
    expect(await told.promise).toEqual({ action: 'cancel' });
    expect(warnings()).toEqual([]);
    expect(holding.put).toEqual([]);
    await expect(stopped.done).rejects.toThrow('stopped');
    await call(mine, 'let_go').done;
    await holding.done;
  });
});

describe('a question outside of a call', () => {
  it('is shown to nobody', async () => {
    mcp = startMcp();
    let ask: (() => Promise<unknown>) | undefined;
    web = await startHttpServer({
      tools: (server) => {
        registerAskingTools(server);
        const requestedSchema = { type: 'object' as const, properties: {} };
        ask = () => server.server.elicitInput({ message: 'Late?', requestedSchema });
      },
    });
    const lease = await mcp.acquire([web.config()]);
    const { question, done, put } = call(lease, 'ask', { message: 'Why?' });
    (await question(1)).answer(accept('because'));
    await done;
    expect(await ask?.()).toEqual({ action: 'cancel' });
    expect(put).toHaveLength(1);
  });
});
