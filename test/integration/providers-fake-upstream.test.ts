import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/fake-upstream.ts';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const messages = [{ role: 'user', content: 'hello' } as const];

let upstream: FakeUpstream | undefined;

afterEach(async () => {
  await upstream?.close();
  upstream = undefined;
});

const clientOf = (baseURL: string, apiKey = 'right'): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0, logLevel: 'off' });

describe('fake upstream: read by the openai package', () => {
  it('streams text, tool calls, finish and, where it is asked for, usage', async () => {
    const toolCalls = [{ id: 'c1', name: 'add', arguments: { a: 1 } }];
    upstream = await startFakeUpstream({
      respond: () => ({ steps: reply({ text: ['he', 'llo'], toolCalls, usage }) }),
    });
    const client = clientOf(upstream.url);
    const stream = client.chat.completions.stream({
      model: 'm',
      messages,
      stream_options: { include_usage: true },
    });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: 'hello',
        tool_calls: [{ id: 'c1', function: { name: 'add', arguments: '{"a":1}' } }],
      },
    });
    expect(completion.usage).toEqual(usage);
    const plain = client.chat.completions.stream({ model: 'm', messages });
    expect((await plain.finalChatCompletion()).usage).toBeUndefined();
    expect(await upstream.requests[0]?.answered).toBe('whole');
  });

  it('refuses a wrong key with 401 and an unanswered tool call with 400', async () => {
    upstream = await startFakeUpstream({ respond: () => ({ steps: [] }), apiKey: 'right' });
    const wrong = clientOf(upstream.url, 'wrong');
    await expect(
      wrong.chat.completions.create({ model: 'm', messages, stream: true }),
    ).rejects.toThrow(OpenAI.AuthenticationError);
    const open: OpenAI.ChatCompletionMessageParam = {
      role: 'assistant',
      tool_calls: [{ id: 'c9', type: 'function', function: { name: 'add', arguments: '{}' } }],
    };
    const client = clientOf(upstream.url);
    await expect(
      client.chat.completions.create({ model: 'm', messages: [...messages, open], stream: true }),
    ).rejects.toThrow('c9');
    expect(upstream.faults).toHaveLength(1);
    expect(upstream.requests).toEqual([]);
  });

  it('gives the status, the headers and the body it is told to give', async () => {
    upstream = await startFakeUpstream({
      respond: () => ({
        status: 429,
        headers: { 'x-a': 'b' },
        body: { error: { message: 'slow' } },
      }),
    });
    const call = clientOf(upstream.url).chat.completions.create({
      model: 'm',
      messages,
      stream: true,
    });
    const error: unknown = await call.catch((reason: unknown) => reason);
    if (!(error instanceof OpenAI.RateLimitError)) throw error;
    expect(error.headers.get('x-a')).toBe('b');
    expect(error.message).toContain('slow');
  });

  it('waits for its delays under its clock', async () => {
    const clock = createVirtualClock();
    upstream = await startFakeUpstream({
      respond: () => ({ steps: reply({ text: ['a', 'b'], everyMs: 20 }) }),
      clock,
    });
    const stream = clientOf(upstream.url).chat.completions.stream({ model: 'm', messages });
    await upstream.request(0);
    // Each delay is armed when the chunk before it is written, a few turns after the request.
    for (let passed = 0; passed < 2; ) {
      if (clock.pending.length > 0) {
        await clock.advance(20);
        passed += 1;
      }
      await clock.settle();
    }
    expect(await stream.finalContent()).toBe('ab');
    expect(clock.now()).toBe(40);
  });

  it('tells when the socket of a request is closed by its client', async () => {
    upstream = await startFakeUpstream({ respond: () => ({ steps: [{ kind: 'stall' }] }) });
    const stop = new AbortController();
    const client = clientOf(upstream.url);
    const call = client.chat.completions.create(
      { model: 'm', messages, stream: true },
      { signal: stop.signal },
    );
    const request = await upstream.request(0);
    await call;
    stop.abort();
    await request.closed;
    expect(await request.answered).toBe('broken');
  });
});
