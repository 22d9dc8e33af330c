import { getEventListeners } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, vi } from 'vitest';
import type { ToolContext, ToolProgress } from '../../src/tool.ts';
import { describeProgress, performCall } from '../../src/mcp/call.ts';
import { NotExecutedError } from '../../src/mcp/failures.ts';
import { MCP_LIMITS } from '../../src/mcp/limits.ts';
import { Questions } from '../../src/mcp/questions.ts';
import { TappedTransport } from '../../src/mcp/tap.ts';
import { turn, VirtualClock } from './mcp-kit.ts';

type Message = Record<string, unknown> & { params?: Record<string, unknown> };

/** A client whose server is the test: it sees each message and answers when it likes. */
async function connect({ answersPing = true, limits = {} } = {}) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const heard: Message[] = [];
  const reply = (message: Message) =>
    far.send({ jsonrpc: '2.0', ...message } as unknown as JSONRPCMessage);
  far.onmessage = (raw) => {
    const message = raw as unknown as Message;
    heard.push(message);
    if (message['method'] === 'initialize') {
      const serverInfo = { name: 'test', version: '1' };
      const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
      void reply({ id: message['id'], result });
    }
    if (message['method'] === 'ping' && answersPing) void reply({ id: message['id'], result: {} });
  };
  await far.start();
  const stuck = new Set<string>();
  const wire = stickable(near, stuck);
  const tap = new TappedTransport(wire);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(tap);
  const clock = new VirtualClock();
  const nothing = () => {};
  const questions = new Questions({
    server: 'test',
    clock,
    log: { debug: nothing, info: nothing, warn: nothing },
    limits: MCP_LIMITS,
    redact: (text) => text,
    send: (message) => tap.send(message),
    refresh: (id) => tap.refresh(id),
  });
  const stop = new AbortController();
  const told = { started: [] as unknown[], progress: [] as ToolProgress[], sent: [] as unknown[] };
  const context: ToolContext = {
    runId: 'r',
    sessionId: 's',
    toolCallId: 'c',
    signal: stop.signal,
    started: (info) => void told.started.push(info.progressToken),
    progress: (progress) => void told.progress.push(progress),
    cancelSent: (sent) => void told.sent.push(sent),
  };
  const call = (toolName = 'work') =>
    performCall(
      { toolName, args: { a: 1 }, context },
      {
        client,
        tap,
        clock,
        limits: { ...MCP_LIMITS, ...limits },
        questions,
        describe: (error) => (error as Error).message,
      },
    );
  const request = () => heard.find(({ method }) => method === 'tools/call') as Message;
  const cancellations = () => heard.filter(({ method }) => method === 'notifications/cancelled');
  const progress = (params: Record<string, unknown>) =>
    reply({
      method: 'notifications/progress',
      params: { progressToken: request()['id'], ...params },
    });
  const answer = (said: string) =>
    reply({ id: request()['id'], result: { content: [{ type: 'text', text: said }] } });
  return {
    tap,
    client,
    clock,
    stop,
    told,
    call,
    heard,
    request,
    cancellations,
    progress,
    answer,
    stuck,
    far,
  };
}

/** A transport whose messages of the named methods are never written. */
function stickable(inner: Transport, stuck: ReadonlySet<string>): Transport {
  const send = inner.send.bind(inner);
  inner.send = (message, options) =>
    'method' in message && stuck.has(message.method)
      ? new Promise<void>(() => {})
      : send(message, options);
  return inner;
}

/** Watches a promise without taking part in it. */
function settlement(promise: Promise<unknown>) {
  const seen: { how: 'pending' | 'resolved' | 'rejected' } = { how: 'pending' };
  promise.then(
    () => (seen.how = 'resolved'),
    () => (seen.how = 'rejected'),
  );
  return seen;
}

describe('a tool call', () => {
  it('carries its request id as the progress token and tells it when it went out', async () => {
    const server = await connect();
    const done = server.call();
    await turn();
    const { id, params } = server.request();
    expect(params).toEqual({ name: 'work', arguments: { a: 1 }, _meta: { progressToken: id } });
    expect(server.told.started).toEqual([id]);
    await server.answer('ok');
    await expect(done).resolves.toEqual({ text: 'ok', isError: false });
  });

  it('is cut by no timer of its own, however long it takes', async () => {
    const server = await connect();
    // The SDK has timers of its own, on the real clock.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const done = server.call();
      vi.advanceTimersByTime(10 * 24 * 3_600_000);
      await turn();
      await server.answer('late but fine');
      await expect(done).resolves.toMatchObject({ text: 'late but fine' });
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('tells the progress that comes in one breath with the answer', async () => {
    const server = await connect();
    const done = server.call();
    await turn();
    await Promise.all([server.progress({ progress: 1, total: 2 }), server.answer('ok')]);
    await done;
    expect(server.told.progress).toEqual([
      { message: 'Progress: 1/2', percent: 50, progressToken: server.request()['id'] },
    ]);
  });

  it('passes over progress that belongs to no call', async () => {
    const server = await connect();
    const done = server.call();
    await turn();
    await server.progress({ progress: 1, progressToken: 999 });
    await server.progress({ progress: 'much' });
    await server.answer('ok');
    await done;
    expect(server.told.progress).toEqual([]);
  });

  it('is an error result when the server refuses it or the connection closes', async () => {
    const server = await connect();
    const refused = server.call();
    await turn();
    await server.far.send({
      jsonrpc: '2.0',
      id: server.request()['id'] as number,
      error: { code: -32602, message: 'no such tool' },
    });
    await expect(refused).resolves.toMatchObject({
      isError: true,
      text: expect.stringContaining('Tool execution failed: '),
    });
    const cut = server.call();
    await turn();
    await server.far.close();
    await expect(cut).resolves.toMatchObject({ isError: true });
    expect(server.tap.callsLive).toBe(0);
    expect(server.told.started).toHaveLength(2);
  });

  it('is told apart from others when nothing of it was written', async () => {
    const server = await connect();
    await server.far.close();
    await expect(server.call()).rejects.toBeInstanceOf(NotExecutedError);
    expect(server.told.started).toEqual([]);
  });

  it('bounds the words of its progress', async () => {
    const server = await connect({ limits: { progressTextBytesMax: 8 } });
    const done = server.call();
    await turn();
    await server.progress({ progress: 1, message: `${'a'.repeat(100)}zz` });
    await server.answer('ok');
    await done;
    const [told] = server.told.progress;
    expect(told?.message).toBe('aaaaaa\n… 94 bytes omitted …\nzz');
  });

  it('leaves no listener on its signal and no timer', async () => {
    const server = await connect();
    const done = server.call();
    await turn();
    await server.answer('ok');
    await done;
    expect(getEventListeners(server.stop.signal, 'abort')).toEqual([]);
    expect(server.clock.timers).toBe(0);
    expect(server.cancellations()).toEqual([]);
  });
});

describe('a cancelled tool call', () => {
  it('tells the server once and rejects with the reason after the silence', async () => {
    const server = await connect();
    const done = server.call();
    const seen = settlement(done);
    await turn();
    const reason = { kind: 'unclaimed' };
    server.stop.abort(reason);
    await server.clock.advance(MCP_LIMITS.cancelQuietMs - 1);
    const { id } = server.request();
    expect(server.cancellations().map(({ params }) => params)).toEqual([
      { requestId: id, reason: 'client disconnected' },
    ]);
    expect(server.told.sent).toEqual([{ requestId: String(id), confirmed: true }]);
    expect(seen.how).toBe('pending');

    await server.clock.advance(1);
    await expect(done).rejects.toBe(reason);
    expect(server.tap.callsLive).toBe(0);
    expect(server.clock.timers).toBe(0);
    expect(getEventListeners(server.stop.signal, 'abort')).toEqual([]);
  });

  it('counts the silence anew from each progress, which is told to nobody', async () => {
    const server = await connect();
    const seen = settlement(server.call());
    await turn();
    server.stop.abort(new Error('stop'));
    for (let beat = 1; beat <= 5; beat += 1) {
      await server.clock.advance(MCP_LIMITS.cancelQuietMs - 1);
      await server.progress({ progress: beat });
    }
    expect(seen.how).toBe('pending');
    expect(server.told.progress).toEqual([]);
    await server.clock.advance(MCP_LIMITS.cancelQuietMs);
    expect(seen.how).toBe('rejected');
  });

  it('is over at once when the answer comes after all, which is thrown away (INV-23)', async () => {
    const server = await connect();
    const done = server.call();
    await turn();
    server.stop.abort(new Error('stop'));
    await turn();
    await server.answer('too late');
    await expect(done).rejects.toThrow('stop');
    expect(server.clock.timers).toBe(0);
  });

  it('waits for a server that does not even read (H-9), until its connection closes', async () => {
    const server = await connect({ answersPing: false });
    const seen = settlement(server.call());
    await turn();
    server.stop.abort(new Error('stop'));
    await server.clock.advance(3_600_000);
    expect(seen.how).toBe('pending');
    await server.far.close();
    await turn();
    expect(seen.how).toBe('rejected');
  });

  it('says that the cancellation was not sent when writing it takes too long', async () => {
    const server = await connect();
    const seen = settlement(server.call());
    await turn();
    server.stuck.add('notifications/cancelled');
    server.stop.abort(new Error('stop'));
    await server.clock.advance(MCP_LIMITS.cancelWriteMs - 1);
    expect(server.told.sent).toEqual([]);
    await server.clock.advance(1);
    expect(server.told.sent).toEqual([
      { requestId: String(server.request()['id']), confirmed: false },
    ]);
    await server.clock.advance(3_600_000);
    expect(seen.how).toBe('pending');
    await server.answer('late');
    await turn();
    expect(seen.how).toBe('rejected');
  });

  it('is not cancelled when it has been answered', async () => {
    const server = await connect();
    const done = server.call();
    await turn();
    await server.answer('ok');
    await done;
    server.stop.abort(new Error('later'));
    await server.clock.advance(10_000);
    expect(server.cancellations()).toEqual([]);
    expect(server.told.sent).toEqual([]);
  });
});

describe('the progress of a call', () => {
  it.each([
    [
      { progress: 1, total: 3 },
      { message: 'Progress: 1/3', percent: 33 },
    ],
    [
      { progress: 2, total: 3, message: 'two' },
      { message: 'two', percent: 66 },
    ],
    [{ progress: 5 }, { message: 'Progress: 5' }],
    [
      { progress: 0, total: 0 },
      { message: 'Progress: 0/0', percent: 100 },
    ],
    [
      { progress: 9, total: 3 },
      { message: 'Progress: 9/3', percent: 100 },
    ],
    [
      { progress: -1, total: 3 },
      { message: 'Progress: -1/3', percent: 0 },
    ],
  ])('%j is told as %j', (note, told) => {
    expect(describeProgress(note)).toEqual(told);
  });
});
