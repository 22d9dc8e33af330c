import { describe, expect, it, vi } from 'vitest';
import { delta, finish, reply, type UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import { Heard, KEY, never, openAiWorld, raw, request, stepsOf } from '../support/openai-world.ts';

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const start = openAiWorld();

describe('openai provider: a whole answer', () => {
  it('gives text, reasoning, tool calls, finish and usage, and resolves', async () => {
    const { provider } = await start(() => ({
      steps: reply({
        reasoning: ['let ', 'me'],
        text: ['Hél', 'lo "w', 'orld"\n', '語😀'],
        toolCalls: [
          { id: 'c1', name: 'add', arguments: { a: 1, b: 2 } },
          { id: 'c2', name: 'count', arguments: '{"to":5}' },
        ],
        usage,
      }),
    }));
    const heard = new Heard();
    await provider.stream(request, heard, never);
    expect(heard.reasonings.join('')).toBe('let me');
    expect(heard.content).toBe('Héllo "world"\n語😀');
    expect(heard.calls).toEqual([
      { id: 'c1', name: 'add', argumentsText: '{"a":1,"b":2}' },
      { id: 'c2', name: 'count', argumentsText: '{"to":5}' },
    ]);
    expect(heard.reasons).toEqual(['tool_calls']);
    expect(heard.usages).toEqual([{ promptTokens: 3, completionTokens: 4, totalTokens: 7 }]);
    expect(heard.order.slice(-4)).toEqual(['toolCall', 'toolCall', 'finish', 'usage']);
    expect(heard.activities).toBeGreaterThan(0);
  });

  it('sends a valid request with the key', async () => {
    const { upstream: up, provider } = await start(() => ({ steps: reply({ text: ['x'] }) }), {
      temperature: 0.1,
    });
    await provider.stream(
      {
        messages: [
          { role: 'system', content: 's' },
          { role: 'user', content: 'add' },
          {
            role: 'assistant',
            content: '',
            toolCalls: [{ id: 'c', name: 'add', argumentsText: 'oops' }],
          },
          { role: 'tool', toolCallId: 'c', content: 'no' },
        ],
        tools: [{ name: 'add', parameters: { type: 'object' } }],
      },
      new Heard(),
      never,
    );
    const [received] = up.requests;
    expect(received?.body).toMatchObject({ temperature: 0.1, stream: true, model: 'gpt-4o' });
    expect(received?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(received?.headers['content-type']).toBe('application/json');
  });

  it("does not tell another upstream of the environment's OpenAI account", async () => {
    vi.stubEnv('OPENAI_ORG_ID', 'org-x');
    vi.stubEnv('OPENAI_PROJECT_ID', 'proj-x');
    const { upstream: up, provider } = await start(() => ({ steps: reply({ text: ['x'] }) }));
    vi.unstubAllEnvs();
    await provider.stream(request, new Heard(), never);
    expect(JSON.stringify(up.requests[0]?.headers)).not.toMatch(/org-x|proj-x/);
  });

  it('sends every request with the same head and its own body', async () => {
    const { upstream: up, provider } = await start(() => ({ steps: reply({ text: ['x'] }) }));
    for (const content of ['hello', 'a longer question, with ünïcode']) {
      const messages = [{ role: 'user', content }] as const;
      await provider.stream({ messages, tools: [] }, new Heard(), never);
    }
    const [first, second] = up.requests;
    const length = expect.any(String);
    expect(second?.headers).toEqual({ ...first?.headers, 'content-length': length });
    expect(first?.body).toMatchObject({ messages: [{ content: 'hello' }] });
    expect(second?.body).toMatchObject({
      messages: [{ content: 'a longer question, with ünïcode' }],
    });
  });

  it('keeps the connection for the next request', async () => {
    const { upstream: up, provider } = await start(() => ({ steps: reply({ text: ['x'] }) }));
    for (const index of [0, 1, 2]) {
      await provider.stream(request, new Heard(), never);
      await up.requests[index]?.answered;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(new Set(up.requests.map(({ connection }) => connection)).size).toBe(1);
  });

  it.each([
    ['a finish reason and no [DONE]', [delta({ content: 'x' }), finish('stop')]],
    ['[DONE] and no finish reason', [delta({ content: 'x' }), { kind: 'done' }]],
    ['a finish reason and a cut', [delta({ content: 'x' }), finish('stop'), { kind: 'cut' }]],
    ['[DONE] without its line end', [delta({ content: 'x' }), finish('stop'), raw('data: [DONE]')]],
  ] as [string, UpstreamStep[]][])('resolves with %s', async (_what, steps) => {
    const { provider } = await start(stepsOf(...steps));
    const heard = new Heard();
    await provider.stream(request, heard, never);
    expect(heard.order).toEqual(['text', 'finish']);
    expect(heard.reasons).toEqual(['stop']);
  });

  it('resolves at [DONE] though the response stays open, and closes it after a moment', async () => {
    const clock = createVirtualClock();
    const { upstream: up, provider } = await start(
      stepsOf(delta({ content: 'x' }), finish('stop'), raw('data: [DONE]\n\n'), { kind: 'stall' }),
      { clock },
    );
    await provider.stream(request, new Heard(), never);
    expect(clock.pending).toHaveLength(1);
    await clock.advance(1_000);
    await up.requests[0]?.closed;
    expect(await up.requests[0]?.answered).toBe('broken');
  });

  it('forgets that moment when the response ends in it', async () => {
    const clock = createVirtualClock();
    const gate = Promise.withResolvers<void>();
    const { upstream: up, provider } = await start(
      stepsOf(finish('stop'), raw('data: [DONE]\n\n'), { kind: 'gate', open: gate.promise }),
      { clock },
    );
    await provider.stream(request, new Heard(), never);
    expect(clock.pending).toHaveLength(1);
    gate.resolve();
    expect(await up.requests[0]?.answered).toBe('whole');
    await clock.settle();
    expect(clock.pending).toEqual([]);
  });

  it('waits a moment for usage behind the finish reason, however it drips in', async () => {
    const clock = createVirtualClock();
    const gate = Promise.withResolvers<void>();
    const late = { choices: [{ index: 0, delta: { content: 'y' } }], usage };
    const { upstream: up, provider } = await start(
      stepsOf(
        delta({ content: 'x' }),
        finish('length'),
        { kind: 'gate', open: gate.promise },
        { kind: 'chunk', chunk: late },
        { kind: 'stall' },
      ),
      { clock },
    );
    const heard = new Heard();
    const done = provider.stream(request, heard, never);
    while (heard.reasons.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1_999);
    gate.resolve();
    await heard.reaches('xy');
    expect(clock.pending).toHaveLength(1);
    await clock.advance(1);
    await done;
    expect(heard.order).toEqual(['text', 'finish', 'text', 'usage']);
    expect(heard.reasons).toEqual(['length']);
    expect(await up.requests[0]?.answered).toBe('broken');
    await clock.settle();
    expect(clock.pending).toEqual([]);
  });

  /** An upstream that sends its usage when `go` is called, and a request that read all before. */
  async function finishedWithoutUsage(room?: Promise<void>) {
    const clock = createVirtualClock();
    const { promise: open, resolve: go } = Promise.withResolvers<void>();
    const { upstream: up, provider } = await start(
      stepsOf(
        delta({ content: 'x' }),
        finish('stop'),
        { kind: 'gate', open },
        { kind: 'usage', usage },
        { kind: 'done' },
      ),
      { clock },
    );
    const heard = new Heard();
    heard.room = room;
    const done = provider.stream(request, heard, never);
    while (heard.reasons.length === 0) await new Promise((resolve) => setImmediate(resolve));
    return { clock, up, heard, done, go };
  }

  it('forgets that moment when the rest comes in it', async () => {
    const { clock, up, heard, done, go } = await finishedWithoutUsage();
    expect(clock.pending).toHaveLength(1);
    go();
    await done;
    expect(heard.order).toEqual(['text', 'finish', 'usage']);
    expect(await up.requests[0]?.answered).toBe('whole');
    await clock.settle();
    expect(clock.pending).toEqual([]);
  });

  it('does not count the time in which it does not read', async () => {
    const room = Promise.withResolvers<void>();
    const { clock, heard, done, go } = await finishedWithoutUsage(room.promise);
    await clock.advance(10_000);
    heard.room = undefined;
    go();
    room.resolve();
    await done;
    expect(heard.order).toEqual(['text', 'finish', 'usage']);
  });

  it('ignores what comes after [DONE]', async () => {
    const late =
      'data: [DONE]\n\ndata: {"choices":[{"delta":{"content":"late"}}]}\n\ndata: oops\n\n';
    const { provider } = await start(stepsOf(delta({ content: 'x' }), finish('stop'), raw(late)));
    const heard = new Heard();
    await provider.stream(request, heard, never);
    expect(heard.order).toEqual(['text', 'finish']);
  });

  it('finishes with tool_calls where an upstream says stop after calling tools', async () => {
    const toolCalls = [{ id: 'c', name: 'add', arguments: {} }];
    const { provider } = await start(() => ({ steps: reply({ toolCalls, finishReason: 'stop' }) }));
    const heard = new Heard();
    await provider.stream(request, heard, never);
    expect(heard.reasons).toEqual(['tool_calls']);
  });

  it.each([
    ['CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
    ['CR', (text: string) => text.replaceAll('\n', '\r')],
    ['comments between', (text: string) => text.replaceAll('data:', ': hb\n\ndata:')],
    ['a BOM', (text: string) => `\ufeff${text}`],
    ['events without data', (text: string) => `data:\n\n${text}`],
  ])('reads a stream with %s', async (_what, change) => {
    const chunk = (content: string): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
    const text = `${chunk('é')}${chunk('語')}${chunk('😀')}data: [DONE]\n\n`;
    const { provider } = await start(stepsOf(raw(change(text))));
    const heard = new Heard();
    await provider.stream(request, heard, never);
    expect(heard.content).toBe('é語😀');
  });

  it('reads a character that the network cut in two', async () => {
    const bytes = Buffer.from('data: {"choices":[{"delta":{"content":"😀"}}]}\n\ndata: [DONE]\n\n');
    const at = bytes.indexOf(0xf0) + 2;
    const gate = Promise.withResolvers<void>();
    const { upstream: up, provider } = await start(
      stepsOf(
        raw(bytes.subarray(0, at)),
        { kind: 'gate', open: gate.promise },
        raw(bytes.subarray(at)),
      ),
    );
    const heard = new Heard();
    const done = provider.stream(request, heard, never);
    await up.request(0);
    await new Promise((resolve) => setImmediate(resolve));
    gate.resolve();
    await done;
    expect(heard.content).toBe('😀');
  });

  it('gives a running usage once, and the last one', async () => {
    const counted = (n: number): UpstreamStep => ({
      kind: 'chunk',
      chunk: {
        choices: [{ index: 0, delta: { content: 'x' } }],
        usage: { prompt_tokens: 1, completion_tokens: n, total_tokens: 1 + n },
      },
    });
    const { provider } = await start(stepsOf(counted(1), counted(2), finish('length')));
    const heard = new Heard();
    await provider.stream(request, heard, never);
    expect(heard.usages).toEqual([{ promptTokens: 1, completionTokens: 2, totalTokens: 3 }]);
    expect(heard.reasons).toEqual(['length']);
  });
});
