import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import type { AgentSummary } from '../../src/handle.ts';
import { AGENT, type FakeRun, startCommand } from '../support/fake-handle.ts';
import { type HttpWorld, httpWorld } from '../support/http-world.ts';
import { type Answer, ask, post, RawConnection } from '../support/raw-client.ts';

const opened: HttpWorld[] = [];

async function world(agents: readonly AgentSummary[] = [AGENT]): Promise<HttpWorld> {
  const made = await httpWorld();
  made.handle.agents = agents;
  opened.push(made);
  return made;
}

async function startRun({ handle }: HttpWorld): Promise<FakeRun> {
  const { runId } = await handle.start(startCommand());
  const run = handle.runs.get(runId);
  if (run === undefined) throw new Error('invariant: the fake keeps what it starts');
  return run;
}

const json = ({ text }: Answer) => JSON.parse(text) as Record<string, unknown>;
const errorOf = (answer: Answer) => json(answer)['error'] as Record<string, unknown>;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('GET /health', () => {
  it('tells the versions and how the store is', async () => {
    const { port, clock } = await world();
    expect(json(await ask({ port, path: '/health' }))).toEqual({
      status: 'healthy',
      timestamp: new Date(clock.now()).toISOString(),
      aura_version: '0.2.3',
      runwarden_version: '0.1.0',
      session_store: { backend: 'memory', ping: { ok: true, latency_ms: 0 } },
    });
  });

  it('is 200 and degraded when the store does not answer', async () => {
    const { port, handle } = await world();
    const ping = { ok: false, error: 'timed out' } as const;
    handle.healthAnswer = { status: 'degraded', store: { backend: 'sqlite', ping } };
    const answer = await ask({ port, path: '/health' });
    expect(answer.status).toBe(200);
    expect(json(answer)).toMatchObject({ status: 'degraded', session_store: { ping } });
  });
});

describe('GET /v1/models', () => {
  const hidden: AgentSummary = { ...AGENT, id: 'hidden', hidden: true };
  const full: AgentSummary = {
    ...AGENT,
    id: 'team/agent',
    createdAtMs: 1_700_000_000_999,
    modelOwner: 'us',
    description: 'Helps.',
  };

  it('lists what is not hidden, in order', async () => {
    const { port } = await world([full, hidden, AGENT]);
    expect(json(await ask({ port, path: '/v1/models' }))).toEqual({
      object: 'list',
      data: [
        {
          id: 'team/agent',
          object: 'model',
          created: 1_700_000_000,
          owned_by: 'us',
          description: 'Helps.',
        },
        { id: 'demo', object: 'model', created: 1_700_000_000, owned_by: 'scripted' },
      ],
    });
  });

  it.each(['team%2Fagent', 'hidden'])('shows %s by its id', async (id) => {
    const { port } = await world([full, hidden]);
    const answer = await ask({ port, path: `/v1/models/${id}` });
    expect([answer.status, json(answer)['id']]).toEqual([200, decodeURIComponent(id)]);
  });

  it('answers for an unknown id as for an unknown model of a chat', async () => {
    const { port } = await world();
    const answer = await ask({ port, path: '/v1/models/nope' });
    expect(answer.status).toBe(404);
    expect(errorOf(answer)).toEqual({
      message: 'The model `nope` does not exist or you do not have access to it.',
      type: 'invalid_request_error',
      code: 'model_not_found',
      param: 'model',
    });
  });

  it.each(['a%0ab', `${'x'.repeat(257)}`, 'a%C2%85b'])('does not echo %s', async (id) => {
    const { port } = await world();
    const answer = await ask({ port, path: `/v1/models/${id}` });
    expect([answer.status, errorOf(answer)['param']]).toEqual([400, 'id']);
  });
});

describe('GET /aura/info', () => {
  const agent: AgentSummary = {
    ...AGENT,
    description: 'Helps.',
    mcpServers: [
      {
        name: 'logs',
        transport: 'http_streamable',
        url: 'https://logs.example',
        description: 'Logs.',
      },
      { name: 'fs', transport: 'stdio', command: 'fs-server' },
    ],
  };
  const search = { name: 'search', description: 'Finds.', parameters: { type: 'object' } };

  it('shows the agents and their servers', async () => {
    const made = await world([agent, { ...AGENT, id: 'secret', hidden: true }]);
    made.handle.defaultAgent = 'demo';
    expect(json(await ask({ port: made.port, path: '/aura/info' }))).toEqual({
      default_agent: 'demo',
      agents: [
        {
          id: 'demo',
          description: 'Helps.',
          model: 'echo',
          mcp_servers: {
            logs: {
              transport: 'http_streamable',
              url: 'https://logs.example',
              description: 'Logs.',
            },
            fs: { transport: 'stdio', command: 'fs-server' },
          },
        },
      ],
    });
  });

  it.each([
    ['tools:summary', { name: 'search', description: 'Finds.' }],
    ['tools', { name: 'search', description: 'Finds.', inputSchema: { type: 'object' } }],
    [
      ' tools:summary ,, tools',
      { name: 'search', description: 'Finds.', inputSchema: { type: 'object' } },
    ],
  ])('adds the tools for detail %j, not of a server that failed', async (detail, shown) => {
    const made = await world([agent]);
    let seen: Readonly<Record<string, string>> = {};
    made.handle.toolsAnswer = (_agent, headers) => {
      seen = headers;
      return { logs: [search] };
    };
    const path = `/aura/info?detail=${encodeURIComponent(detail)}`;
    const answer = await ask({ port: made.port, path, headers: { 'X-Token': 'Token abc' } });
    const [info] = json(answer)['agents'] as { mcp_servers: Record<string, { tools?: unknown }> }[];
    expect(info?.mcp_servers['logs']?.tools).toEqual([shown]);
    expect(info?.mcp_servers['fs']).not.toHaveProperty('tools');
    expect(seen['x-token']).toBe('Token abc');
    expect(made.clock.pending).toEqual([]);
  });

  it('refuses an unknown detail by its name', async () => {
    const { port } = await world();
    const answer = await ask({ port, path: '/aura/info?detail=tools,tolls' });
    expect([answer.status, errorOf(answer)['message'], errorOf(answer)['param']]).toEqual([
      400,
      "unknown detail 'tolls'; expected 'tools' or 'tools:summary'",
      'detail',
    ]);
  });

  it('does without the tools of an agent whose servers do not answer in 30 seconds', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<AbortSignal>();
    const made = await world([agent, { ...agent, id: 'other' }]);
    made.handle.tools = async (id, _headers, signal) => {
      if (id === 'other') return { logs: [search] };
      resolve(signal);
      return new Promise(() => {});
    };
    const waiting = ask({ port: made.port, path: '/aura/info?detail=tools' });
    const signal = await asked;
    await made.clock.advance(29_999);
    expect(signal.aborted).toBe(false);
    await made.clock.advance(1);
    const agents = json(await waiting)['agents'] as { mcp_servers: { logs: object } }[];
    expect(agents.map(({ mcp_servers }) => 'tools' in mcp_servers.logs)).toEqual([false, true]);
    expect([signal.aborted, made.clock.pending]).toEqual([true, []]);
  });

  it('stops asking when the caller leaves', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<AbortSignal>();
    const made = await world([agent]);
    made.handle.tools = async (_id, _headers, signal) => {
      resolve(signal);
      return new Promise(() => {});
    };
    const client = await RawConnection.open(made.port);
    client.get('/aura/info?detail=tools');
    const signal = await asked;
    client.socket.destroy();
    if (!signal.aborted) await once(signal, 'abort');
  });
});

describe('POST /v1/approvals/{decision_id}', () => {
  const id = '01890000-0000-7000-8000-00000000000a';

  it('records the decision and is empty', async () => {
    const { port, handle } = await world();
    handle.pending.add(id);
    const body = { approved: false, reason: 'Too\nrisky.' };
    const answer = await post(port, `/v1/approvals/${id.toUpperCase()}`, body);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(handle.decisions).toEqual([{ decisionId: id, decision: body }]);
  });

  it('is 204 for the same decision again and 404 for another', async () => {
    const { port, handle } = await world();
    handle.pending.add(id);
    await post(port, `/v1/approvals/${id}`, { approved: true });
    const same = await post(port, `/v1/approvals/${id}`, { approved: true, reason: 'Sure.' });
    const other = await post(port, `/v1/approvals/${id}`, { approved: false });
    expect([same.status, other.status, handle.decisions.length]).toEqual([204, 404, 1]);
    expect(errorOf(other)).toEqual({
      message: `no pending approval for decision id ${id}`,
      type: 'not_found',
      code: 'not_found',
    });
  });

  it('refuses an id that is no UUID', async () => {
    const { port } = await world();
    const answer = await post(port, '/v1/approvals/17', { approved: true });
    expect([answer.status, errorOf(answer)['message']]).toEqual([400, 'invalid decision id: 17']);
  });

  it.each([
    [{ approved: true, aproved: false }, 'aproved'],
    [{ approved: 'yes' }, 'approved'],
    [{}, 'approved'],
    [{ approved: true, reason: 1 }, 'reason'],
    [{ approved: true, reason: 'x'.repeat(8_193) }, 'reason'],
    [[true], undefined],
  ])('refuses the body %j by the field', async (body, param) => {
    const { port, handle } = await world();
    handle.pending.add(id);
    const answer = await post(port, `/v1/approvals/${id}`, body);
    expect([answer.status, errorOf(answer)['param']]).toEqual([400, param]);
    expect(String(errorOf(answer)['message'])).toContain(param ?? 'body');
    expect(handle.decisions).toEqual([]);
  });
});

describe('GET /v1/runs/{id}', () => {
  it('is the record', async () => {
    const made = await world();
    const run = await startRun(made);
    const answer = await ask({ port: made.port, path: `/v1/runs/${run.runId}` });
    expect([answer.status, json(answer)]).toEqual([200, { ...run.record() }]);
  });

  it.each(['nobody', '01890000-0000-7000-8000-000000000001xyz', '%zz'])(
    'is 404 for %s',
    async (id) => {
      const made = await world();
      await startRun(made);
      const answer = await ask({ port: made.port, path: `/v1/runs/${id}` });
      expect([answer.status, errorOf(answer)['code']]).toEqual([404, 'not_found']);
    },
  );

  it('does not echo an id with a line break', async () => {
    const { port } = await world();
    const answer = await ask({ port, path: '/v1/runs/a%0d%0ab' });
    expect([answer.status, errorOf(answer)['param']]).toEqual([400, 'id']);
  });
});

describe('POST /v1/runs/{id}/cancel', () => {
  it('answers at once with the record of the run that stops', async () => {
    const made = await world();
    made.handle.cancelMode = 'wait';
    const run = await startRun(made);
    const answer = await post(made.port, `/v1/runs/${run.runId}/cancel`, { message: 'Enough.' });
    expect([answer.status, json(answer)['state']]).toEqual([202, 'stopping']);
    expect(made.handle.cancels).toEqual([{ runId: run.runId, message: 'Enough.' }]);
  });

  it('needs no body', async () => {
    const made = await world();
    const run = await startRun(made);
    const path = `/v1/runs/${run.runId}/cancel`;
    const answer = await ask({ port: made.port, method: 'POST', path });
    expect(answer.status).toBe(202);
    expect(made.handle.cancels).toEqual([{ runId: run.runId, message: undefined }]);
  });

  it('is 200 and changes nothing when the run had ended', async () => {
    const made = await world();
    const run = await startRun(made);
    run.finish();
    const answer = await post(made.port, `/v1/runs/${run.runId}/cancel`, {});
    expect([answer.status, json(answer)]).toEqual([200, { ...run.record() }]);
    expect([json(answer)['state'], made.handle.cancels]).toEqual(['finished', []]);
  });

  it('waits for the terminal entry when it is asked to', async () => {
    const made = await world();
    made.handle.cancelMode = 'wait';
    const run = await startRun(made);
    let answered = false;
    const waiting = post(made.port, `/v1/runs/${run.runId}/cancel?wait=true`, {});
    void waiting.then(() => {
      answered = true;
    });
    while (made.handle.journal.followers === 0) await nextTurn();
    run.text('last words');
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(answered).toBe(false);
    run.cancelled('external');
    const answer = await waiting;
    expect([answer.status, json(answer)['state']]).toEqual([200, 'cancelled']);
    while (made.clock.pending.length > 0) await nextTurn();
    expect(made.handle.journal.followers).toBe(0);
  });

  it('lets go of the journal when the caller does not wait for the end', async () => {
    const made = await world();
    made.handle.cancelMode = 'wait';
    const run = await startRun(made);
    const client = await RawConnection.open(made.port);
    client.write(`POST /v1/runs/${run.runId}/cancel?wait=true HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    while (made.handle.journal.followers === 0) await nextTurn();
    client.socket.destroy();
    while (made.handle.journal.followers > 0) await nextTurn();
    expect(run.end).toBeUndefined();
  });

  it('stops waiting when the run is over and its last entry does not come', async () => {
    const made = await world();
    made.handle.cancelMode = 'wait';
    const run = await startRun(made);
    const waiting = post(made.port, `/v1/runs/${run.runId}/cancel?wait=true`, {});
    while (made.handle.journal.followers === 0) await nextTurn();
    run.state = 'cancelled';
    await made.clock.advance(60_000);
    const answer = await waiting;
    expect([answer.status, json(answer)['state']]).toEqual([200, 'cancelled']);
  });

  it.each([
    ['', { massage: 'x' }, 'massage'],
    ['', { message: 1 }, 'message'],
    ['?wait=1', {}, 'wait'],
  ])(
    'refuses %j with %j by the field, before anything is cancelled',
    async (query, body, param) => {
      const made = await world();
      const run = await startRun(made);
      const answer = await post(made.port, `/v1/runs/${run.runId}/cancel${query}`, body);
      expect([answer.status, errorOf(answer)['param']]).toEqual([400, param]);
      expect(made.handle.cancels).toEqual([]);
    },
  );

  it('is 404 for an unknown run', async () => {
    const { port } = await world();
    expect((await post(port, '/v1/runs/x/cancel', {})).status).toBe(404);
  });
});
