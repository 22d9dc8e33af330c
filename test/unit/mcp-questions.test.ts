import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, vi } from 'vitest';
import type { Elicitation, ElicitationAnswer, ToolContext } from '../../src/tool.ts';
import { performCall } from '../../src/mcp/call.ts';
import { MCP_LIMITS } from '../../src/mcp/limits.ts';
import { Questions } from '../../src/mcp/questions.ts';
import { TappedTransport } from '../../src/mcp/tap.ts';
import { deferred } from '../../src/mcp/wait.ts';
import { turn, VirtualClock } from './mcp-kit.ts';

type Message = Record<string, unknown> & { params?: Record<string, unknown> };

const SCHEMA = { type: 'object', properties: { reason: { type: 'string' } } };
const DAY_MS = 24 * 3_600_000;

/** A client whose server is the test. `carrier` is what the transport knows of the next message. */
async function connect() {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const heard: Message[] = [];
  const say = async (message: Message) => {
    await far.send({ jsonrpc: '2.0', ...message } as unknown as JSONRPCMessage);
    await turn();
  };
  far.onmessage = (raw) => {
    const message = raw as unknown as Message;
    heard.push(message);
    const { id, method } = message;
    const serverInfo = { name: 'test', version: '1' };
    const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
    if (method === 'initialize') void say({ id, result });
    if (method === 'ping') void say({ id, result: {} });
  };
  await far.start();
  let carrier: number | undefined;
  const tap = new TappedTransport(near, () => carrier);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(tap);
  const clock = new VirtualClock();
  const warnings: [object, string][] = [];
  const questions = new Questions({
    server: 'web',
    clock,
    log: {
      debug: () => {},
      info: () => {},
      warn: (fields, message) => void warnings.push([fields, message]),
    },
    limits: MCP_LIMITS,
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    send: (message) => tap.send(message),
    refresh: (id) => tap.refresh(id),
  });
  tap.onquestion = (request, by) => questions.receive(request, by);
  tap.onwithdrawal = (id) => questions.withdraw(id);
  tap.onlateanswer = (id) => questions.askers.answeredLate(id);

  /** A call under way, and what its person is asked. */
  const call = async (elicit?: ToolContext['elicit']) => {
    const stop = new AbortController();
    const asked: Elicitation[] = [];
    const said = deferred<ElicitationAnswer>();
    const context: ToolContext = {
      runId: 'r',
      sessionId: 's',
      toolCallId: 'c',
      signal: stop.signal,
      started: () => {},
      progress: () => {},
      elicit: (question, options) => {
        asked.push(question);
        return elicit?.(question, options) ?? said.promise;
      },
    };
    const describeError = (error: unknown) => (error as Error).message;
    const deps = { client, tap, clock, limits: MCP_LIMITS, questions, describe: describeError };
    const done = performCall({ toolName: 'work', args: {}, context }, deps);
    done.catch(() => {});
    await turn();
    const { id } = heard.findLast(({ method }) => method === 'tools/call') as { id: unknown };
    return { id: id as number, asked, done, answer: said.resolve, stop: () => stop.abort('stop') };
  };
  const finish = (id: number) => say({ id, result: { content: [{ type: 'text', text: 'ok' }] } });
  const ask = (id: number | string, more: Record<string, unknown> = {}, by?: number) => {
    carrier = by;
    const params = { message: 'Why?', requestedSchema: SCHEMA, ...more };
    return say({ id, method: 'elicitation/create', params });
  };
  const replies = (id: number | string) =>
    heard.filter((message) => message['id'] === id && !('method' in message));
  return { call, finish, ask, say, replies, clock, warnings, tap, far, client };
}

const cancelled = (id: number | string) => [{ jsonrpc: '2.0', id, result: { action: 'cancel' } }];

describe('a question of an MCP server', () => {
  it('belongs to the call whose stream brought it', async () => {
    const server = await connect();
    const [first, second] = [await server.call(), await server.call()];
    await server.ask(0, {}, second.id);
    expect([first.asked.length, second.asked.length]).toEqual([0, 1]);
    expect(server.warnings).toEqual([]);
  });

  it.each([
    [
      'its related task',
      (id: number) => ({ 'io.modelcontextprotocol/related-task': { taskId: `${id}` } }),
    ],
    ['its related request', (id: number) => ({ relatedRequestId: id })],
  ])('belongs to the call that %s names', async (_by, meta) => {
    const server = await connect();
    const [first, second] = [await server.call(), await server.call()];
    await server.ask('a', { _meta: meta(first.id) });
    expect([first.asked.length, second.asked.length]).toEqual([1, 0]);
  });

  it('belongs to nobody when stream and name differ, or what it names is no call', async () => {
    const server = await connect();
    const [first, second] = [await server.call(), await server.call()];
    await server.ask('a', { _meta: { relatedRequestId: first.id } }, second.id);
    await server.ask('b', { _meta: { relatedRequestId: 999 } });
    await server.ask('c', {}, 999);
    expect([...first.asked, ...second.asked]).toEqual([]);
    for (const id of ['a', 'b', 'c']) expect(server.replies(id)).toEqual(cancelled(id));
  });

  it('is not told apart by its progress token, which is the own one of the server', async () => {
    const server = await connect();
    const [first, second] = [await server.call(), await server.call()];
    await server.ask(0, { _meta: { progressToken: first.id } });
    expect([...first.asked, ...second.asked]).toEqual([]);
    expect(server.replies(0)).toEqual(cancelled(0));
    expect(server.warnings).toHaveLength(1);
  });

  it('that comes while no call is under way is cancelled', async () => {
    const server = await connect();
    await server.ask(0);
    expect(server.replies(0)).toEqual(cancelled(0));
  });

  it('belongs to nobody while a call that was given up may ask, until it answers or time passes', async () => {
    const server = await connect();
    const given = await server.call();
    given.stop();
    await server.clock.advance(MCP_LIMITS.cancelQuietMs);
    const live = await server.call();
    await server.ask('a');
    await server.clock.advance(MCP_LIMITS.strayAskMs - 1);
    await server.ask('b');
    expect(live.asked).toEqual([]);
    await server.clock.advance(1);
    await server.ask('c');
    expect(live.asked).toHaveLength(1);

    const again = await server.call();
    again.stop();
    await server.clock.advance(MCP_LIMITS.cancelQuietMs);
    await server.ask('d');
    expect(live.asked).toHaveLength(1);
    await server.finish(again.id);
    await server.ask('e');
    expect(live.asked).toHaveLength(2);
  });

  it('ends with its call: the reply is "cancel" and the signal of the question aborts', async () => {
    const server = await connect();
    const signals: (AbortSignal | undefined)[] = [];
    const never = (_: Elicitation, options?: { signal?: AbortSignal }) => {
      signals.push(options?.signal);
      return new Promise<ElicitationAnswer>(() => {});
    };
    const answered = await server.call(never);
    await server.ask('a');
    await server.finish(answered.id);
    expect(server.replies('a')).toEqual(cancelled('a'));

    const stopped = await server.call(never);
    await server.ask('b');
    stopped.stop();
    await turn();
    expect(server.replies('b')).toEqual(cancelled('b'));
    await server.ask('c');
    expect(server.replies('c')).toEqual(cancelled('c'));
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true]);
    expect(stopped.asked).toHaveLength(1);
  });

  it.each([0, 7, 'q'])('with the id %j may be taken back and gets no reply then', async (id) => {
    const server = await connect();
    const call = await server.call();
    await server.ask(id);
    await server.say({ method: 'notifications/cancelled', params: { requestId: id } });
    call.answer({ action: 'decline' });
    await turn();
    expect(server.replies(id)).toEqual([]);
    expect(server.clock.timers).toBe(0);
  });

  it('gets one reply, and another one with its id is refused', async () => {
    const server = await connect();
    const call = await server.call();
    await server.ask(3);
    await server.ask(3);
    expect(server.replies(3)).toMatchObject([{ error: { code: -32_600 } }]);
    call.answer({ action: 'accept', content: { reason: 'x' } });
    await turn();
    expect(server.replies(3).slice(1)).toEqual([
      { jsonrpc: '2.0', id: 3, result: { action: 'accept', content: { reason: 'x' } } },
    ]);
  });

  it('is cancelled when it cannot be put', async () => {
    const server = await connect();
    await server.call(() => Promise.reject(new Error('no desk')));
    await server.ask(1);
    expect(server.replies(1)).toEqual(cancelled(1));
    expect(server.warnings).toHaveLength(1);
  });

  it('is cut in the middle when it is too long', async () => {
    const server = await connect();
    const call = await server.call();
    await server.ask(1, { message: 'a'.repeat(MCP_LIMITS.questionTextBytesMax + 9) });
    expect(call.asked[0]?.message).toContain('\n… 9 bytes omitted …\n');
  });

  it('that cannot be asked is told of without secrets, and not without end', async () => {
    const server = await connect();
    await server.call();
    for (let id = 0; id < 50; id += 1) {
      await server.ask(id, { requestedSchema: { ...SCHEMA, hunter2: true } });
    }
    expect(server.replies(49)).toMatchObject([{ error: { code: -32_602 } }]);
    expect(server.warnings).toHaveLength(20);
    expect(JSON.stringify(server.warnings)).not.toContain('hunter2');
  });

  it('may be open for longer than the longest timer without a cut of its call', async () => {
    const server = await connect();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const call = await server.call();
      await server.ask(0);
      for (let day = 0; day < 40; day += 1) {
        await server.clock.advance(DAY_MS);
        vi.advanceTimersByTime(DAY_MS);
      }
      call.answer({ action: 'decline' });
      await turn();
      // What is left of the tool's own work has all of the timer again.
      vi.advanceTimersByTime(20 * DAY_MS);
      await server.finish(call.id);
      await expect(call.done).resolves.toMatchObject({ text: 'ok', isError: false });
      expect([vi.getTimerCount(), server.clock.timers]).toEqual([0, 0]);
    } finally {
      vi.useRealTimers();
    }
  });
});
