import { describe, expect, it } from 'vitest';
import {
  AgentNotFoundError,
  PolicyUnsupportedError,
  RunNotFoundError,
  ShuttingDownError,
  StoreUnavailableError,
  SupervisorError,
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
