import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createOpenAiProvider } from '../../src/providers/openai.ts';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { delta, type UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import {
  failureOf,
  Heard,
  KEY,
  never,
  openAiWorld,
  raw,
  request,
  stepsOf,
} from '../support/openai-world.ts';

const start = openAiWorld();

describe('openai provider: an answer that fails', () => {
  it.each([
    ['a clean end before any content', [delta({ role: 'assistant', content: '' })], true],
    ['a clean end after text', [delta({ content: 'x' })], false],
    ['a cut before anything', [{ kind: 'cut' }], true],
    ['a cut after text', [delta({ content: 'x' }), { kind: 'cut' }], false],
    [
      'a cut inside a frame',
      [delta({ content: 'x' }), raw('data: {"choi'), { kind: 'cut' }],
      false,
    ],
    ['an end inside a frame', [delta({ content: 'x' }), raw('data: {"choi')], false],
    [
      'a cut inside a tool call',
      [delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'a' } }] }), { kind: 'cut' }],
      false,
    ],
  ] as [string, UpstreamStep[], boolean][])(
    'rejects %s as cut short, retryable %s',
    async (_what, steps, retryable) => {
      const { provider } = await start(stepsOf(...steps));
      const heard = new Heard();
      const { failure } = await failureOf(provider.stream(request, heard, never));
      expect(failure).toMatchObject({ code: 'provider_error', retryable });
      expect(failure.message).toContain('the answer was cut short');
      expect(heard.calls).toEqual([]);
      expect(heard.reasons).toEqual([]);
    },
  );

  it.each([
    ['an error frame', raw('data: {"error":{"message":"boom","type":"server_error"}}\n\n')],
    ['a named error event', raw('event: error\ndata: {"message":"boom"}\n\n')],
    ['an error frame without its end', raw('data: {"error":{"message":"boom"}}')],
  ])('rejects %s and closes the connection', async (_what, step) => {
    const { upstream: up, provider } = await start(stepsOf(delta({ content: 'x' }), step));
    const { failure } = await failureOf(provider.stream(request, new Heard(), never));
    expect(failure).toMatchObject({ code: 'provider_error', retryable: false });
    expect(failure.message).not.toContain('boom');
    expect(failure.message).not.toContain('cut short');
    expect(up.requests).toHaveLength(1);
  });

  it.each([
    ['a frame that is no JSON', raw('data: {oops}\n\n')],
    ['a frame that is no object', raw('data: [1]\n\n')],
    ['a frame beyond every bound', raw(`data: ${'x'.repeat(9 * 1_048_576)}`)],
  ])('rejects %s as not worth another try, and closes the connection', async (_what, step) => {
    const { upstream: up, provider } = await start(stepsOf(step, { kind: 'stall' }));
    const { failure } = await failureOf(provider.stream(request, new Heard(), never));
    expect(failure).toMatchObject({ code: 'provider_error', retryable: false });
    expect(failure.message).toContain('could not be read');
    await up.requests[0]?.closed;
  });

  it.each([
    [
      'JSON with an error',
      { body: { error: { message: 'no', type: 'invalid_request_error' } } },
      'did not accept',
    ],
    ['JSON instead of a stream', { body: { choices: [] } }, 'could not be read'],
    [
      'an encoding',
      { steps: [raw('x')], headers: { 'content-encoding': 'gzip' } },
      'could not be read',
    ],
  ] as [string, UpstreamAnswer, string][])(
    'rejects %s with status 200',
    async (_what, answer, words) => {
      const { provider } = await start(() => answer);
      const { failure } = await failureOf(provider.stream(request, new Heard(), never));
      expect(failure).toMatchObject({ code: 'provider_error', retryable: false });
      expect(failure.message).toContain(words);
    },
  );

  it('maps an HTTP error once and keeps the connection', async () => {
    const { upstream: up, provider } = await start(() => ({
      status: 429,
      headers: { 'retry-after': '3' },
      body: { error: { message: 'slow down', type: 'requests', code: 'rate_limit_exceeded' } },
    }));
    for (const _ of [0, 1]) {
      const { failure } = await failureOf(provider.stream(request, new Heard(), never));
      expect(failure).toMatchObject({
        code: 'provider_rate_limited',
        retryable: true,
        status: 429,
        retryAfterMs: 3_000,
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(up.requests.map(({ connection }) => connection)).toEqual([0, 0]);
  });

  it('maps an error whose body never ends or is cut', async () => {
    const { provider } = await start(({ index }) => ({
      status: 500,
      steps: [
        raw(index === 0 ? 'x'.repeat(100_000) : 'boom'),
        { kind: index === 0 ? 'stall' : 'cut' },
      ],
    }));
    for (const _ of [0, 1]) {
      const { failure } = await failureOf(provider.stream(request, new Heard(), never));
      expect(failure).toMatchObject({ code: 'provider_error', retryable: true, status: 500 });
    }
  });

  it.each([true, false])(
    'keeps the key out of what it says, debugErrors %s',
    async (debugErrors) => {
      const { provider } = await start(
        () => ({ status: 400, body: { error: { message: `bad key ${KEY}` } } }),
        { debugErrors },
      );
      const error = await failureOf(provider.stream(request, new Heard(), never));
      expect(error.message.includes('bad key [redacted]')).toBe(debugErrors);
      expect(`${error.stack} ${String(error.cause)}`).not.toContain(KEY);
    },
  );

  it('rejects a connection that is refused as retryable', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    const port = typeof address === 'object' ? address?.port : 0;
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const provider = createOpenAiProvider({ apiKey: KEY, model: 'gpt-4o', baseUrl });
    const { failure } = await failureOf(provider.stream(request, new Heard(), never));
    expect(failure).toMatchObject({ code: 'provider_error', retryable: true });
    expect(failure.message).toContain('could not be reached');
  });

  it('rejects a connection that dies before the head of the response as retryable', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.destroy()));
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const provider = createOpenAiProvider({
      apiKey: KEY,
      model: 'gpt-4o',
      baseUrl: `http://127.0.0.1:${port}/v1`,
    });
    const { failure } = await failureOf(provider.stream(request, new Heard(), never));
    expect(failure).toMatchObject({ code: 'provider_error', retryable: true });
    await new Promise((resolve) => server.close(resolve));
  });

  it('passes on what the sink throws, and closes the connection', async () => {
    const { upstream: up, provider } = await start(
      stepsOf(delta({ content: 'x' }), { kind: 'stall' }),
    );
    const heard = new Heard();
    const bug = new Error('a bug of the sink');
    heard.onText = () => {
      throw bug;
    };
    await expect(provider.stream(request, heard, never)).rejects.toBe(bug);
    await up.requests[0]?.closed;
  });
});
