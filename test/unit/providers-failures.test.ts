import { describe, expect, it } from 'vitest';
import type { Failure } from '../../machines/vocabulary.ts';
import { FailureMapper } from '../../src/providers/failures.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const KEY = 'gsk_very-secret-key';

function mapper({ debugErrors = false } = {}): FailureMapper {
  return new FailureMapper({
    provider: 'openai',
    model: 'gpt-x',
    secrets: [KEY, 'hunter2'],
    debugErrors,
    now: () => NOW,
  });
}

function http(status: number, message = 'no', headers: Record<string, string> = {}): Failure {
  const body = JSON.stringify({ error: { message } });
  return mapper().http({ status, headers, body }).failure;
}

describe('failures of a provider: HTTP statuses', () => {
  it.each([
    [400, 'provider_error', false],
    [401, 'provider_error', false],
    [403, 'provider_error', false],
    [404, 'provider_error', false],
    [422, 'provider_error', false],
    [307, 'provider_error', false],
    [429, 'provider_rate_limited', true],
    [500, 'provider_error', true],
    [503, 'provider_error', true],
    [529, 'provider_error', true],
  ])('maps %i to %s, retryable %s', (status, code, retryable) => {
    const failure = http(status);
    expect(failure).toMatchObject({ code, retryable, status });
    expect(failure.message).toContain('openai/gpt-x');
  });

  it.each([
    [{ 'retry-after-ms': '1500.4' }, 1501],
    [{ 'retry-after': '2' }, 2_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, 0],
    [{ 'retry-after-ms': '10', 'retry-after': '99' }, 10],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-3' }, undefined],
  ])('reads %o as %s ms', (headers: Record<string, string>, ms) => {
    expect(http(429, 'no', headers).retryAfterMs).toBe(ms);
    expect(http(503, 'no', headers).retryAfterMs).toBe(ms);
  });

  it('does not retry an account that is out of quota', () => {
    const body = JSON.stringify({ error: { message: 'pay', code: 'insufficient_quota' } });
    const { failure } = mapper().http({ status: 429, headers: { 'retry-after': '1' }, body });
    expect(failure).toMatchObject({ code: 'provider_rate_limited', retryable: false });
    expect(failure.retryAfterMs).toBeUndefined();
  });

  it.each([
    'context_length_exceeded',
    "This model's Maximum Context Length is 8192 tokens",
    'the maximum number of tokens was passed',
    'Token limit reached',
    'tokens exceeded',
    'your messages resulted in 9001 tokens',
    'the context window is exceeded',
  ])('takes "%s" for an overflow of the context', (message) => {
    for (const status of [400, 413, 500]) {
      expect(http(status, message)).toMatchObject({
        code: 'context_length_exceeded',
        retryable: false,
      });
    }
    expect(http(429, message).code).toBe('provider_rate_limited');
  });

  it('knows an overflow by its code alone', () => {
    const body = JSON.stringify({ error: { message: 'no', code: 'context_length_exceeded' } });
    const { failure } = mapper().http({ status: 400, headers: {}, body });
    expect(failure.code).toBe('context_length_exceeded');
  });

  it('understands bodies of other shapes', () => {
    for (const body of [
      '',
      'plain words',
      '<html>',
      '{"error":"text"}',
      '{"detail":"x"}',
      '[1]',
      'null',
    ]) {
      expect(mapper().http({ status: 500, headers: {}, body }).failure.retryable).toBe(true);
    }
    const body = '{"object":"error","message":"maximum context length is 5"}';
    const { failure } = mapper().http({ status: 400, headers: {}, body });
    expect(failure.code).toBe('context_length_exceeded');
  });
});

describe('failures of a provider: errors inside the stream', () => {
  it.each([
    [{ message: 'x', type: 'server_error' }, 'provider_error', true],
    [{ message: 'x', code: 502 }, 'provider_error', true],
    [{ message: 'x', code: '429' }, 'provider_rate_limited', true],
    [{ message: 'x', type: 'rate_limit_error' }, 'provider_rate_limited', true],
    [{ message: 'x', code: 'insufficient_quota' }, 'provider_rate_limited', false],
    [{ message: 'x', type: 'invalid_request_error' }, 'provider_error', false],
    [{ message: 'x', code: 'context_length_exceeded' }, 'context_length_exceeded', false],
    [{ message: 'maximum context length', type: 'server_error' }, 'context_length_exceeded', false],
    ['just words', 'provider_error', true],
    [true, 'provider_error', true],
  ])('maps %o to %s, retryable %s before content', (payload, code, retryable) => {
    expect(mapper().frame(payload, { hasContent: false }).failure).toMatchObject({
      code,
      retryable,
    });
    expect(mapper().frame(payload, { hasContent: true }).failure.retryable).toBe(false);
  });
});

describe('failures of a provider: what they say', () => {
  const leaky = JSON.stringify({
    error: {
      message: `Key ${KEY} at https://me:hunter2@host/ with Bearer abc.def and sk-other-1234 ${'long '.repeat(200)}`,
    },
  });

  it("keeps the upstream's words out of the message by default", () => {
    const { failure } = mapper().http({ status: 401, headers: {}, body: leaky });
    expect(failure.message).toBe(
      'The model openai/gpt-x did not accept the credentials of this agent.',
    );
  });

  it('repeats them with debugErrors, cut to 500 characters', () => {
    const { failure } = mapper({ debugErrors: true }).http({
      status: 400,
      headers: {},
      body: leaky,
    });
    expect(failure.message).toMatch(/^400 Key /);
    expect(failure.message).toHaveLength(501);
    expect(failure.message.endsWith('…')).toBe(true);
  });

  it.each([true, false])('never tells a secret, debugErrors %s', (debugErrors) => {
    const error = mapper({ debugErrors }).http({ status: 400, headers: {}, body: leaky });
    const told = [error.message, JSON.stringify(error.failure), String(error.cause)].join();
    for (const secret of [KEY, 'hunter2', 'abc.def', 'sk-other'])
      expect(told).not.toContain(secret);
  });

  it('does not cut a character in two', () => {
    const body = JSON.stringify({ error: { message: `${'x'.repeat(495)}😀😀😀` } });
    const { failure } = mapper({ debugErrors: true }).http({ status: 400, headers: {}, body });
    expect(Buffer.from(failure.message).toString()).toBe(failure.message);
  });

  it('names the code of a connection error that has no message', () => {
    const cause = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' });
    const { failure } = mapper({ debugErrors: true }).unreachable(cause);
    expect(failure).toMatchObject({ message: 'ECONNREFUSED', retryable: true });
  });
});
