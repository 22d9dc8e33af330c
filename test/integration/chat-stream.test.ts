import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentSummary } from '../../src/handle.ts';
import { chatWorld, HI, STREAM, type ChatWorld } from '../support/chat-world.ts';
import { AGENT } from '../support/fake-handle.ts';
import { ask, post } from '../support/raw-client.ts';

const PATH = '/v1/chat/completions';
const HEAD =
  'data: {"id":"chatcmpl-00000000-0000-4000-8000-000000000001","object":"chat.completion.chunk",' +
  '"created":1700000000,"model":"scripted/echo","choices":[{"index":0,"delta":{';
const USAGE = '"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}';
const DONE = 'data: [DONE]\n\n';
const chunk = (delta: string): string => `${HEAD}${delta}}}]}\n\n`;
const final = (reason = 'stop'): string => `${HEAD}},"finish_reason":"${reason}"}],${USAGE}}\n\n`;
const WITH_SERVER: AgentSummary = {
  ...AGENT,
  mcpServers: [{ name: 'm', transport: 'stdio', command: 'm' }],
};

let world: ChatWorld;

beforeEach(async () => {
  world = await chatWorld();
});

afterEach(() => world.close());

describe('streaming chat: a whole answer', () => {
  it("has exactly AURA's headers, the run's and the session's", async () => {
    const client = await world.chat(STREAM, ['X-Chat-Session-Id: zo\u00c3\u00ab']);
    const run = await world.nextRun();
    run.emit({ type: 'session_info', model: 'scripted/echo' });
    await client.until(({ text }) => text.includes('\r\n\r\n'));
    const lines = client.headers.split('\r\n').filter((line) => !/^(Date|Connection)/.test(line));
    expect(lines.map((line) => line.replace(/^Keep-Alive: .*/, 'Keep-Alive'))).toEqual([
      'HTTP/1.1 200 OK',
      expect.stringMatching(/^X-Run-Id: [0-9a-f-]{36}$/),
      expect.stringMatching(/^X-Chat-Session-Id: /),
      'Content-Type: text/event-stream',
      'Cache-Control: no-cache',
      'X-Accel-Buffering: no',
      'Transfer-Encoding: chunked',
    ]);
  });

  it('is session info, heartbeat, chunks, and [DONE] with the end', async () => {
    const client = await world.chat(STREAM, ['X-Aura-Custom-Events: true']);
    const run = await world.nextRun();
    run.emit({ type: 'session_info', model: 'scripted/echo' });
    run.text('Hel', 'lo');
    run.finish();
    await client.until(({ text }) => text.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toBe(
      'event: aura.session_info\ndata: {"model":"scripted/echo",' +
        `"session_id":"${run.sessionId}","choices":[]}\n\n` +
        ': heartbeat\n' +
        chunk('"role":"assistant","content":"Hel"') +
        chunk('"content":"lo"') +
        final() +
        DONE,
    );
    expect(client.text.endsWith(`${DONE}\r\n0\r\n\r\n`)).toBe(true);
  });

  it('asks for a claimed run that ends with its reader', async () => {
    await world.chat(STREAM);
    const { command, claims } = await world.nextRun();
    expect(command).toMatchObject({ streaming: true, prompt: 'hi', onBusy: 'parallel' });
    expect(command.claim?.observerId).toMatch(/^obs_/);
    expect(claims.size).toBe(1);
  });

  it('leaves the connection open for the next request', async () => {
    const client = await world.chat(STREAM);
    (await world.nextRun()).finish();
    await client.until(({ text }) => text.endsWith('0\r\n\r\n'));
    client.get('/v1/models');
    await client.until(({ text }) => text.includes('"object":"list"'));
    expect(world.handle.runs.values().next().value?.end?.type).toBe('finished');
  });

  it('gives no claim back and reads no more when the answer is whole', async () => {
    const released: string[] = [];
    world.handle.onRelease = (runId) => released.push(runId);
    const client = await world.chat(STREAM);
    (await world.nextRun()).finish();
    await client.until(({ text }) => text.endsWith('0\r\n\r\n'));
    client.socket.destroy();
    await client.ended;
    await world.clock.settle();
    expect(released).toEqual([]);
    expect(world.handle.journal.followers).toBe(0);
    expect(world.clock.pending).toEqual([]);
  });
});

describe('streaming chat: headers and heartbeats', () => {
  it('waits for the status of the servers before the first heartbeat', async () => {
    world.handle.agents = [WITH_SERVER];
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    run.emit({ type: 'session_info', model: 'scripted/echo' });
    await client.until(({ text }) => text.includes('\r\n\r\n'));
    await world.clock.settle();
    expect(client.body).toBe('');
    run.emit({ type: 'mcp_status', servers: [] });
    await client.until(({ body }) => body.includes(': heartbeat\n'));
    expect(client.unchunked).toBe(': heartbeat\n');
  });

  it('sends headers and heartbeats after two seconds of setup', async () => {
    world.handle.agents = [WITH_SERVER];
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    await world.clock.advance(1_999);
    expect(client.text).toBe('');
    await world.clock.advance(1);
    await client.until(({ body }) => body.includes(': heartbeat\n'));
    run.emit({ type: 'session_info', model: 'scripted/echo' });
    run.text('a');
    await client.until(({ body }) => body.includes('"content":"a"'));
    expect(client.unchunked).toBe(`: heartbeat\n${chunk('"role":"assistant","content":"a"')}`);
  });

  it('beats on while the run is silent', async () => {
    const client = await world.chat(STREAM);
    (await world.nextRun()).emit({ type: 'session_info', model: 'scripted/echo' });
    await client.until(({ body }) => body.includes(': heartbeat\n'));
    await world.clock.advance(15_000);
    await client.until(({ unchunked }) => unchunked === ': heartbeat\n: heartbeat\n');
  });
});

describe('streaming chat: ends before the headers', () => {
  it.each([
    { end: 'provider', status: 502, code: 'provider_error' },
    { end: 'shutdown', status: 503, code: 'shutdown' },
    { end: 'deadline', status: 504, code: 'deadline_setup' },
    { end: 'cancel', status: 409, code: 'run_cancelled' },
  ])('answers $status when the $end ends the setup', async ({ end, status, code }) => {
    const answer = post(world.port, PATH, STREAM);
    const run = await world.nextRun();
    if (end === 'provider') run.fail('provider_error');
    if (end === 'shutdown') run.cancelled('shutdown');
    if (end === 'deadline') run.cancelled('deadline', { which: 'setup', after_ms: 30_000 });
    if (end === 'cancel') run.cancelled('external');
    const { status: got, headers, text } = await answer;
    expect([got, headers['content-type']]).toEqual([status, 'application/json; charset=utf-8']);
    expect(JSON.parse(text)).toMatchObject({ error: { code } });
    expect(headers['x-run-id']).toBe(run.runId);
    expect(headers['x-should-retry']).toBe(end === 'shutdown' ? undefined : 'false');
    expect(world.clock.pending).toEqual([]);
  });

  it('refuses a request before anything starts when all places are taken', async () => {
    const full = await chatWorld({ config: { sseStreamsMax: 1 } });
    const first = await full.chat(STREAM);
    (await full.nextRun()).text('a');
    await first.until(({ body }) => body.includes('"content":"a"'));
    const { status, headers } = await post(full.port, PATH, STREAM);
    expect([status, headers['retry-after'] !== undefined]).toEqual([503, true]);
    expect(full.handle.runs.size).toBe(1);
    await full.close();
  });

  it('ends the run when the last place is taken during its setup', async () => {
    const full = await chatWorld({ config: { sseStreamsMax: 1 } });
    const first = await full.chat(STREAM);
    const run = await full.nextRun();
    const second = post(full.port, PATH, STREAM);
    const late = await full.nextRun();
    run.text('a');
    await first.until(({ body }) => body.includes('"content":"a"'));
    late.text('b');
    expect((await second).status).toBe(503);
    expect(late.end).toMatchObject({ type: 'cancelled', reason: 'unclaimed' });
    await full.close();
  });

  it('answers a malformed request with 400 and starts nothing', async () => {
    const { status, text } = await post(world.port, PATH, { ...STREAM, messages: [] });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { message: 'No messages provided' } });
    expect(world.handle.runs.size).toBe(0);
  });

  it('takes POST alone', async () => {
    const { status, headers } = await ask({ port: world.port, path: PATH });
    expect([status, headers['allow']]).toEqual([405, 'POST']);
  });
});

describe('streaming chat: ends without an answer', () => {
  it('is an error frame and [DONE]', async () => {
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    run.text('par');
    run.cancelled('deadline', { which: 'total', after_ms: 900_000 });
    await client.until(({ text }) => text.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toBe(
      ': heartbeat\n' +
        chunk('"role":"assistant","content":"par"') +
        'event: error\ndata: {"error":{"message":"The run used up its time (after 900 s).",' +
        `"type":"deadline_exceeded","code":"deadline_total"}}\n\n${DONE}`,
    );
  });

  it('says that entries are gone, and does not count that as a departure', async () => {
    const released: string[] = [];
    world.handle.onRelease = (runId) => released.push(runId);
    world.handle.onStart = (run) => {
      run.text('a', 'b');
      world.handle.journal.trim(run.sessionId, 2);
    };
    const { status, text } = await post(world.port, PATH, STREAM);
    expect(status).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'store_unavailable' } });
    expect(released).toEqual([]);
  });

  it('goes on behind a store that failed, from where it was', async () => {
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    run.text('a');
    await client.until(({ body }) => body.includes('"content":"a"'));
    world.handle.journal.fail(new Error('disk'));
    run.text('b');
    run.finish();
    await world.clock.advance(1_000);
    await client.until(({ text }) => text.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toBe(
      `: heartbeat\n${chunk('"role":"assistant","content":"a"')}${chunk('"content":"b"')}` +
        `${final()}${DONE}`,
    );
  });

  it('ends at once with its run when the store did not take the end', async () => {
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    run.text('a');
    await client.until(({ body }) => body.includes('"content":"a"'));
    run.lose();
    await client.until(({ text }) => text.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toContain('"code":"store_unavailable"');
    expect(client.unchunked.endsWith(DONE)).toBe(true);
    expect(run.lossListeners.size).toBe(0);
  });
});

describe('streaming chat: the caller leaves', () => {
  it.each(['before the headers', 'within the answer'])('%s, and the claim goes', async (when) => {
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    if (when === 'within the answer') {
      run.text('a');
      await client.until(({ body }) => body.includes('"content":"a"'));
    }
    client.socket.destroy();
    expect(await world.nextRelease()).toEqual({
      runId: run.runId,
      observerId: run.command.claim?.observerId,
      because: 'released',
    });
    expect(run.end).toMatchObject({ reason: 'unclaimed' });
    expect(world.handle.journal.followers).toBe(0);
    await world.clock.settle();
    expect(world.clock.pending).toEqual([]);
    expect(world.pool.live).toBe(0);
  });

  it('while others claim the run, and the run goes on without a reader', async () => {
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    run.claims.add('somebody else');
    client.socket.destroy();
    await world.nextRelease();
    await world.clock.settle();
    expect(run.end).toBeUndefined();
    expect(world.clock.pending).toEqual([]);
    expect(world.handle.journal.followers).toBe(0);
  });

  it('before the start is durable, and the claim goes when it is', async () => {
    let start = () => {};
    const durable = new Promise<void>((resolve) => {
      start = resolve;
    });
    let began = () => {};
    const asked = new Promise<void>((resolve) => {
      began = resolve;
    });
    const original = world.handle.start.bind(world.handle);
    world.handle.start = async (command) => {
      began();
      await durable;
      return original(command);
    };
    const client = await world.chat(STREAM);
    await asked;
    client.socket.destroy();
    await client.ended;
    await world.clock.settle();
    start();
    const { runId } = await world.nextRelease();
    expect(world.handle.runs.get(runId)?.end).toMatchObject({ reason: 'unclaimed' });
  });
});

describe('streaming chat: a slow caller', () => {
  it('pauses the reader and loses nothing, however late the end of the run is read', async () => {
    const patient = await chatWorld({ config: { sseStallMs: 600_000 } });
    const client = await patient.chat(STREAM);
    client.socket.pause();
    const run = await patient.nextRun();
    run.emit({ type: 'session_info', model: 'scripted/echo' });
    patient.handle.journal.batchMax = 4;
    const big = 'x'.repeat(100_000);
    for (let i = 0; i < 80; i++) run.text(`${i}${big}`);
    run.finish();
    await patient.clock.advance(60_000);
    expect(patient.handle.journal.followers).toBe(1);
    client.socket.resume();
    await client.until(({ text }) => text.endsWith('0\r\n\r\n'));
    const numbers = [...client.unchunked.matchAll(/"content":"(\d+)x/g)].map((match) => match[1]);
    expect(numbers).toEqual(Array.from({ length: 80 }, (_, i) => String(i)));
    await patient.close();
  });

  it('is cut when it takes nothing, its claim expires, and the log says why', async () => {
    const strict = await chatWorld({ config: { sseStallMs: 30_000 } });
    const client = await strict.chat(STREAM);
    client.socket.pause();
    const run = await strict.nextRun();
    for (let i = 0; i < 24; i++) run.text('x'.repeat(1_000_000));
    while (run.end === undefined) {
      for (let turn = 0; turn < 50; turn++) await strict.clock.settle();
      await strict.clock.advance(7_500);
    }
    expect(await strict.nextRelease()).toMatchObject({ runId: run.runId, because: 'expired' });
    const warnings = strict.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ fields }) => fields)).toEqual([
      { run_id: run.runId, because: 'stalled' },
    ]);
    await strict.close();
  });
});

describe('chat: custom events', () => {
  it("follow the request, whatever the server's setting", async () => {
    const custom = await chatWorld({ config: { customEvents: true } });
    const client = await custom.chat(STREAM, ['X-Aura-Custom-Events: false']);
    const run = await custom.nextRun();
    run.emit({ type: 'session_info', model: 'scripted/echo' });
    run.finish();
    await client.until(({ text }) => text.endsWith('0\r\n\r\n'));
    expect(client.unchunked).not.toContain('aura.');
    await custom.close();
  });

  it('are refused in other words', async () => {
    const headers = { 'Content-Type': 'application/json', 'X-Aura-Custom-Events': 'on' };
    const body = JSON.stringify(HI);
    const request = { port: world.port, method: 'POST', path: PATH, headers, body };
    expect((await ask(request)).status).toBe(400);
  });
});
