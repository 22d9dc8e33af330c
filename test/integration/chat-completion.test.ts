import { once } from 'node:events';
import http from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chatWorld, HI, type ChatWorld } from '../support/chat-world.ts';
import { AGENT } from '../support/fake-handle.ts';
import { toolComplete, toolRequested } from '../support/chat-journal.ts';
import { post } from '../support/raw-client.ts';

const PATH = '/v1/chat/completions';

let world: ChatWorld;

beforeEach(async () => {
  world = await chatWorld();
});

afterEach(() => world.close());

describe('chat without a stream: an answer', () => {
  it('is one object with text, usage and session', async () => {
    const answer = post(world.port, PATH, { ...HI, metadata: { chat_session_id: 'my ü' } });
    const run = await world.nextRun();
    run.text('Hel', 'lo');
    run.finish();
    const { status, headers, text } = await answer;
    expect(status).toBe(200);
    expect(text).toBe(
      '{"id":"chatcmpl-00000000-0000-4000-8000-000000000001","object":"chat.completion",' +
        '"created":1700000000,"model":"scripted/echo","choices":[{"index":0,"message":' +
        '{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":' +
        '{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12},' +
        '"metadata":{"chat_session_id":"my ü"}}',
    );
    expect(headers['x-run-id']).toBe(run.runId);
    expect(headers['x-chat-session-id']).toBe('my %C3%BC');
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(run.command.streaming).toBe(false);
    expect(world.clock.pending).toEqual([]);
    expect(world.handle.journal.followers).toBe(0);
  });

  it('sets text after a tool apart and shows no tool of the server', async () => {
    const answer = post(world.port, PATH, HI);
    const run = await world.nextRun();
    for (const event of [toolRequested(), toolComplete()]) run.emit(event);
    run.text('a');
    for (const event of [toolRequested(), toolComplete()]) run.emit(event);
    run.text('b');
    run.finish();
    const { choices } = JSON.parse((await answer).text) as { choices: unknown[] };
    expect(choices).toEqual([
      { index: 0, message: { role: 'assistant', content: 'a\n\nb' }, finish_reason: 'stop' },
    ]);
  });

  it("ends for its length at the request's limit", async () => {
    const answer = post(world.port, PATH, { ...HI, max_tokens: 5 });
    (await world.nextRun()).finish();
    expect((await answer).text).toContain('"finish_reason":"length"');
  });

  it('hands the caller its own tool calls', async () => {
    world.handle.agents = [{ ...AGENT, allowsClientTools: true }];
    const tools = [{ type: 'function', function: { name: 'list_files' } }];
    const answer = post(world.port, PATH, { ...HI, tools });
    const run = await world.nextRun();
    run.emit(toolRequested('call_0'));
    run.emit(toolRequested('call_1', { client: true }));
    run.emit(toolComplete('call_0'));
    run.cancelled('client_tool');
    const { status, text } = await answer;
    expect(status).toBe(200);
    expect(text).toContain(
      '"content":"","tool_calls":[{"id":"call_1","type":"function","function":' +
        '{"name":"list_files","arguments":"{\\"path\\":\\"/tmp\\"}"}}]},' +
        '"finish_reason":"tool_calls"',
    );
  });
});

describe('chat without a stream: no answer', () => {
  it('has the status of the end, also after text', async () => {
    const answer = post(world.port, PATH, HI);
    const run = await world.nextRun();
    run.text('partial');
    run.cancelled('deadline', { which: 'total' });
    const { status, headers, text } = await answer;
    expect(status).toBe(504);
    expect(headers['x-should-retry']).toBe('false');
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'deadline_total' } });
  });

  it('tells the caller when to come back', async () => {
    const answer = post(world.port, PATH, HI);
    (await world.nextRun()).fail('provider_rate_limited', 'slow down', true);
    const { status, headers } = await answer;
    expect([status, Number(headers['retry-after']) > 0]).toEqual([429, true]);
  });

  it('ends the run when the caller leaves', async () => {
    const client = await world.chat(HI);
    const run = await world.nextRun();
    client.socket.destroy();
    await world.nextRelease();
    expect(run.end).toMatchObject({ reason: 'unclaimed' });
    await world.clock.settle();
    expect(world.clock.pending).toEqual([]);
    expect(world.handle.journal.followers).toBe(0);
  });

  it('lets go of a run that others still claim when the caller leaves', async () => {
    const client = await world.chat(HI);
    const run = await world.nextRun();
    run.claims.add('somebody else');
    client.socket.destroy();
    await world.nextRelease();
    await world.clock.settle();
    expect(run.end).toBeUndefined();
    expect(world.clock.pending).toEqual([]);
    expect(world.handle.journal.followers).toBe(0);
  });

  it('is 503 when entries are gone', async () => {
    world.handle.onStart = (run) => {
      run.text('a', 'b');
      world.handle.journal.trim(run.sessionId, 2);
    };
    const { status, text } = await post(world.port, PATH, HI);
    expect([status, text.includes('store_unavailable')]).toEqual([503, true]);
  });
});

describe('chat without a stream: long work', () => {
  const begin = async () => {
    const body = JSON.stringify(HI);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const options = { host: '127.0.0.1', port: world.port, path: PATH, method: 'POST', headers };
    const request = http.request(options);
    request.end(body);
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
    const run = await world.nextRun();
    await world.clock.advance(59_999);
    let hasHeaders = false;
    void answered.then(() => {
      hasHeaders = true;
    });
    await world.clock.settle();
    expect(hasHeaders).toBe(false);
    await world.clock.advance(1);
    const [response] = await answered;
    response.setEncoding('utf8');
    return { run, response };
  };
  const restOf = async (response: http.IncomingMessage): Promise<string> => {
    let text = '';
    for await (const part of response) text += String(part);
    return text;
  };

  it('sends headers after a minute and a space every 15 s until the answer', async () => {
    const { run, response } = await begin();
    expect(response.statusCode).toBe(200);
    expect(response.headers['x-run-id']).toBe(run.runId);
    await world.clock.advance(30_000);
    run.text('late');
    run.finish();
    const text = await restOf(response);
    expect(text.slice(0, 3)).toBe('  {');
    expect(JSON.parse(text)).toMatchObject({ choices: [{ message: { content: 'late' } }] });
    expect(world.clock.pending).toEqual([]);
  });

  it('puts an error into the body once the status is out', async () => {
    const { run, response } = await begin();
    run.cancelled('deadline', { which: 'total' });
    expect(JSON.parse(await restOf(response))).toMatchObject({ error: { code: 'deadline_total' } });
  });

  it('ends the run when the caller leaves', async () => {
    const { run, response } = await begin();
    response.destroy();
    await world.nextRelease();
    expect(run.end).toMatchObject({ reason: 'unclaimed' });
    await world.clock.settle();
    expect(world.clock.pending).toEqual([]);
  });
});
