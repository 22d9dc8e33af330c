import { describe, expect, it } from 'vitest';
import {
  AgentNotFoundError,
  IdempotencyKeyReusedError,
  PolicyUnsupportedError,
  RunNotFoundError,
  RunStateError,
  SessionBusyError,
  ShuttingDownError,
  StoreUnavailableError,
  SupervisorError,
  TenantLimitError,
  TooManyRunsError,
} from '../../src/errors.ts';
import { badRequest, HttpError, toHttpError } from '../../src/http/errors.ts';
import { SsePool } from '../../src/http/sse-pool.ts';
import { JournalClosedError, LeaseLostError, SessionHeldError } from '../../src/journal/errors.ts';

describe('errors as HTTP', () => {
  it.each([
    [new AgentNotFoundError('x'), 404, 'invalid_request_error', 'model_not_found', 'model'],
    [new RunNotFoundError('x'), 404, 'not_found', 'not_found', undefined],
    [new TooManyRunsError(3), 429, 'rate_limited', 'rate_limited', undefined],
    [
      new PolicyUnsupportedError('park'),
      422,
      'policy_unsupported',
      'policy_unsupported',
      'liveness',
    ],
    [new StoreUnavailableError('x'), 503, 'store_unavailable', 'store_unavailable', undefined],
    [new JournalClosedError(), 503, 'store_unavailable', 'store_unavailable', undefined],
    [new SessionHeldError('s', 1), 409, 'session_held', 'session_held', undefined],
    [new LeaseLostError('s'), 409, 'lease_lost', 'lease_lost', undefined],
    [new SessionBusyError('s', 'r'), 409, 'session_busy', 'session_busy', undefined],
    [new RunStateError('not_parked', 'No.'), 409, 'not_parked', 'not_parked', undefined],
    [
      new IdempotencyKeyReusedError(),
      409,
      'idempotency_key_reused',
      'idempotency_key_reused',
      'Idempotency-Key',
    ],
    [new TenantLimitError('Enough.', 1), 429, 'rate_limited', 'rate_limited', undefined],
  ])('answers %s with %i', (error, status, type, code, param) => {
    const { body, status: answered } = toHttpError(error);
    expect(answered).toBe(status);
    expect(body.error).toMatchObject({ type, code, message: error.message });
    expect(body.error.param).toBe(param);
  });

  it('gives the shutdown the body that clients know, without a code, and a Retry-After', () => {
    const error = toHttpError(new ShuttingDownError());
    expect(error.status).toBe(503);
    expect(JSON.stringify(error.body)).toBe(
      '{"error":{"message":"Server is shutting down","type":"service_unavailable"}}',
    );
    expect(error.headers['Retry-After']).toMatch(/^\d+$/);
  });

  it.each([new TooManyRunsError(3), new StoreUnavailableError('x')])(
    'tells clients when to come back after %s',
    (error) => {
      expect(toHttpError(error).headers['Retry-After']).toMatch(/^\d+$/);
    },
  );

  it('names the live run that a session is busy with, and asks not to be asked again', () => {
    const { body, headers } = toHttpError(new SessionBusyError('s', 'r'));
    expect(body.error.run_id).toBe('r');
    expect(headers).toEqual({ 'x-should-retry': 'false', 'X-Run-Id': 'r' });
  });

  it.each([
    [0, '1'],
    [1_000, '1'],
    [1_001, '2'],
    [60_000, '60'],
  ])('rounds the %i ms of a tenant limit up to %s s', (ms, secs) => {
    expect(toHttpError(new TenantLimitError('Enough.', ms)).headers['Retry-After']).toBe(secs);
  });

  it('tells when a session may be free again that another process holds', () => {
    const { headers } = toHttpError(new SessionHeldError('s', 1));
    expect(headers).toEqual({
      'x-should-retry': 'false',
      'Retry-After': expect.stringMatching(/^\d+$/),
    });
  });

  it.each([
    new Error('password=hunter2'),
    'hunter2',
    { message: 'hunter2' },
    new SupervisorError('odd', 'hunter2'),
  ])('shows nothing of an unexpected error (%#)', (thrown) => {
    const error = toHttpError(thrown);
    expect(error.status).toBe(500);
    expect(JSON.stringify(error.body)).not.toContain('hunter2');
  });

  it('passes our own errors through and names the field', () => {
    const error = badRequest('limit is a number.', 'limit');
    expect(toHttpError(error)).toBe(error);
    expect(error.body.error).toEqual({
      message: 'limit is a number.',
      type: 'invalid_request_error',
      code: 'invalid_request_error',
      param: 'limit',
    });
  });
});

describe('pool of streams', () => {
  it('refuses one more than it has places for, and says when to come back', () => {
    const pool = new SsePool({ streamsMax: 1 });
    const release = pool.take();
    expect(pool.full).toBe(true);
    expect(() => pool.take()).toThrow(HttpError);
    release();
    expect(pool.live).toBe(0);
    expect(() => pool.take()).not.toThrow();
  });

  it('takes a place back once, however often it is given back', () => {
    const pool = new SsePool({ streamsMax: 2 });
    const release = pool.take();
    pool.take();
    release();
    release();
    expect(pool.live).toBe(1);
  });
});
