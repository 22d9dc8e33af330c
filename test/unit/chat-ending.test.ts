import { describe, expect, it } from 'vitest';
import { endingOf, type Ending } from '../../src/http/chat/ending.ts';
import { truncate } from '../../src/http/chat/truncate.ts';
import type { JournalEvent } from '../../src/journal/events.ts';
import {
  cancelled,
  CHAT_USAGE,
  failed,
  finished,
  parked,
  PROJECTION,
  text,
} from '../support/chat-journal.ts';

const ending = (event: JournalEvent): Ending | undefined => endingOf(event, PROJECTION);

describe('ending of a run', () => {
  it.each([
    { event: cancelled('deadline', { which: 'total' }), status: 504, code: 'deadline_total' },
    { event: cancelled('deadline', { which: 'setup' }), status: 504, code: 'deadline_setup' },
    { event: cancelled('external'), status: 409, code: 'run_cancelled' },
    { event: cancelled('unclaimed'), status: 409, code: 'run_cancelled' },
    { event: cancelled('superseded'), status: 409, code: 'run_superseded' },
  ])('is $status $code, not to be retried', ({ event, status, code }) => {
    const end = ending(event);
    if (end?.kind !== 'failure') throw new Error('It is no failure.');
    expect(end.error).toMatchObject({ status, code, headers: { 'x-should-retry': 'false' } });
    expect(end.sentence).toBeUndefined();
  });

  it.each([
    { ms: 2_001, after: '2 s' },
    { ms: 2_549, after: '2.5 s' },
    { ms: 900_012, after: '900 s' },
    { ms: 3, after: '0.003 s' },
  ])('tells a deadline of $ms ms as $after', ({ ms, after }) => {
    const end = ending(cancelled('deadline', { which: 'total', after_ms: ms }));
    if (end?.kind !== 'failure') throw new Error('It is no failure.');
    expect(end.error.message).toContain(`(after ${after})`);
  });

  it.each([
    { event: cancelled('shutdown'), status: 503, code: 'shutdown' },
    { event: cancelled('lease_lost'), status: 503, code: 'lease_lost' },
    { event: failed('store_unavailable'), status: 503, code: 'store_unavailable' },
    {
      event: failed('provider_rate_limited', 'x', true),
      status: 429,
      code: 'provider_rate_limited',
    },
  ])('is $status $code with a time to wait', ({ event, status, code }) => {
    const end = ending(event);
    if (end?.kind !== 'failure') throw new Error('It is no failure.');
    expect(end.error).toMatchObject({ status, code });
    expect(Number(end.error.headers['Retry-After'])).toBeGreaterThan(0);
    expect(end.error.headers).not.toHaveProperty('x-should-retry');
  });

  it.each([
    { event: failed('provider_error'), status: 502, code: 'provider_error' },
    { event: failed('turn_limit'), status: 502, code: 'turn_limit' },
    { event: failed('context_length_exceeded'), status: 400, code: 'context_length_exceeded' },
    { event: failed('internal_error'), status: 500, code: 'internal_error' },
  ])('is $status $code with words for the reader', ({ event, status, code }) => {
    const end = ending(event);
    if (end?.kind !== 'failure') throw new Error('It is no failure.');
    expect(end.error).toMatchObject({ status, code });
    expect(end.sentence).not.toBe('');
    expect(end.sentence).toBeDefined();
  });

  it.each([
    { ms: 12_000, secs: '12' },
    { ms: 12_001, secs: '13' },
    { ms: 0, secs: '1' },
    { ms: 1e300, secs: '86400' },
    { ms: undefined, secs: '5' },
  ])('asks for $secs s when the provider asked for $ms ms', ({ ms, secs }) => {
    const event = failed('provider_rate_limited', 'x', true);
    const error = { ...event.error, ...(ms !== undefined && { retry_after_ms: ms }) };
    const end = ending({ ...event, error });
    expect(end?.kind === 'failure' && end.error.headers).toEqual({ 'Retry-After': secs });
  });

  it('keeps what went wrong inside the server and at the provider to itself', () => {
    for (const code of ['internal_error', 'provider_error', 'something_new']) {
      expect(JSON.stringify(ending(failed(code, 'key sk-123')))).not.toContain('sk-123');
    }
  });

  it('advises another try only when that may help', () => {
    const advice = (retryable: boolean) => {
      const end = ending(failed('provider_error', 'x', retryable));
      return end?.kind === 'failure' ? [end.sentence, end.error.headers] : [];
    };
    expect(advice(true)).toEqual([expect.stringContaining('Try again.'), {}]);
    expect(advice(false)).toEqual([
      expect.not.stringContaining('Try again.'),
      { 'x-should-retry': 'false' },
    ]);
  });

  it('passes on what an operator said', () => {
    const end = ending(cancelled('external', { message: 'Too costly.' }));
    expect(end?.kind === 'failure' && end.error.message).toContain('Too costly.');
  });

  it('is none for an entry that does not end the run', () => {
    expect(ending(text('a'))).toBeUndefined();
  });

  it('is an answer when the caller is asked to run a tool', () => {
    expect(ending(cancelled('client_tool'))).toMatchObject({ finishReason: 'tool_calls' });
    expect(ending(finished())).toMatchObject({ kind: 'answer', finishReason: 'stop' });
  });

  it.each([
    { said: undefined, tokensMax: undefined, reason: 'stop' },
    { said: 'stop', tokensMax: 6, reason: 'stop' },
    // The model asked for nothing that the caller has to answer.
    { said: 'tool_calls', tokensMax: undefined, reason: 'stop' },
    { said: 'length', tokensMax: undefined, reason: 'length' },
    { said: 'length', tokensMax: 6, reason: 'length' },
    { said: 'content_filter', tokensMax: undefined, reason: 'content_filter' },
    { said: 'content_filter', tokensMax: 5, reason: 'length' },
    { said: 'stop', tokensMax: 5, reason: 'length' },
  ] as const)('is $reason when the model said $said under a limit of $tokensMax', (given) => {
    const event = finished(CHAT_USAGE, given.said);
    const end = endingOf(event, { ...PROJECTION, tokensMax: given.tokensMax });
    expect(end).toEqual({ kind: 'answer', finishReason: given.reason, usage: event });
  });

  it.each(['unclaimed', 'external', 'shutdown', 'owner_lost'] as const)(
    'is no answer when the run was parked (%s), and says that it can be resumed',
    (reason) => {
      const end = ending(parked(reason));
      if (end?.kind !== 'failure') throw new Error('It is no failure.');
      const { status, code, headers } = end.error;
      expect([status, code, headers]).toEqual([409, 'run_parked', { 'x-should-retry': 'false' }]);
      expect(end.sentence).toMatch(/^The run was parked .*can be resumed/);
    },
  );
});

describe('truncation', () => {
  it.each([
    ['short', 0, 'short'],
    ['short', 5, 'short'],
    ['shorter', 5, 'short... [truncated]'],
    ['aä', 2, 'a... [truncated]'],
    ['ää', 4, 'ää'],
    ['a😀', 4, 'a... [truncated]'],
    ['a😀b', 5, 'a😀... [truncated]'],
  ])('cuts %j after %d bytes to %j', (value, bytesMax, cut) => {
    expect(truncate(value, bytesMax)).toBe(cut);
  });
});
