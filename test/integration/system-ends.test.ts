import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { delta } from '../../src/testing/fake-upstream-steps.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/**
 * An end that is no answer. The stream tells it by an error frame, its twin without a stream by a
 * status; the official client raises both with the same code.
 */

const start = systemWorlds();
const REQUEST = { model: 'agent', messages: [{ role: 'user' as const, content: 'Hello' }] };
const IN_SESSION = { headers: { 'X-Chat-Session-Id': 's' } };
const STALLED: UpstreamAnswer = { steps: [delta({ content: 'Hal' }), { kind: 'stall' }] };
const error = (status: number, message: string, headers = {}): UpstreamAnswer => ({
  status,
  headers,
  body: { error: { message, type: 'invalid_request_error', code: null } },
});

interface End {
  readonly code: string;
  readonly status: number;
  /** What SDKs read before they ask again. */
  readonly headers: Readonly<Record<string, string>>;
  readonly options?: SystemOptions;
  readonly answer: UpstreamAnswer;
  /** Done once the upstream has the request. */
  readonly act?: (world: SystemWorld) => Promise<unknown>;
  readonly record: object;
}

const NO_RETRY = { 'x-should-retry': 'false' };

async function cancel(world: SystemWorld): Promise<void> {
  const { run_id: runId } = await world.entry('s', (event) => event.type === 'started');
  await world.ask(`/v1/runs/${runId}/cancel`, { method: 'POST' }).json();
}

const ENDS: readonly End[] = [
  {
    code: 'provider_error',
    status: 502,
    headers: NO_RETRY,
    answer: error(400, 'I do not like it.'),
    record: { state: 'failed', end: { by: 'provider', error: { code: 'provider_error' } } },
  },
  {
    code: 'provider_rate_limited',
    status: 429,
    headers: { 'retry-after': '60' },
    answer: error(429, 'Slow down.', { 'retry-after': '60' }),
    record: { state: 'failed', end: { error: { code: 'provider_rate_limited' } } },
  },
  {
    code: 'context_length_exceeded',
    status: 400,
    headers: {},
    answer: error(400, "This model's maximum context length is 8 tokens."),
    record: { state: 'failed', end: { error: { code: 'context_length_exceeded' } } },
  },
  {
    code: 'deadline_total',
    status: 504,
    headers: NO_RETRY,
    options: { toml: '[runtime.timeouts]\ntotal_secs = 0.3' },
    answer: STALLED,
    record: { state: 'cancelled', end: { by: 'deadline', reason: 'deadline', which: 'total' } },
  },
  {
    code: 'run_cancelled',
    status: 409,
    headers: NO_RETRY,
    answer: STALLED,
    act: cancel,
    record: { state: 'cancelled', end: { by: 'operator', reason: 'external' } },
  },
];

const SHUTDOWN: End = {
  code: 'shutdown',
  status: 503,
  headers: { 'retry-after': '5' },
  options: { flags: { 'shutdown-timeout-secs': '0' }, drains: true },
  answer: STALLED,
  act: async (world) => world.server.shutdown('SIGTERM'),
  record: {},
};

async function begin(end: End): Promise<SystemWorld> {
  const world = await start(end.options);
  world.answer(end.answer);
  return world;
}

async function read(world: SystemWorld, how: 'iteration' | 'helper'): Promise<string> {
  const { completions } = world.client().chat;
  if (how === 'helper') return (await completions.stream(REQUEST, IN_SESSION).finalContent()) ?? '';
  let text = '';
  for await (const chunk of await completions.create({ ...REQUEST, stream: true }, IN_SESSION)) {
    text += chunk.choices[0]?.delta.content ?? '';
  }
  return text;
}

/** A deadline may come before the upstream has the request, so only an action waits for that. */
async function act(world: SystemWorld, end: End): Promise<void> {
  if (end.act === undefined) return;
  await world.upstream.request(0);
  await end.act(world);
}

/** What the client throws, once the end's own action is through. */
async function thrown(world: SystemWorld, end: End, reading: Promise<unknown>): Promise<unknown> {
  const failure = reading.then(
    () => 'nothing',
    (reason: unknown) => reason,
  );
  await act(world, end);
  return failure;
}

describe.each([...ENDS, SHUTDOWN])('an end with $code', (end) => {
  const { code, status } = end;

  it.each(['iteration', 'helper'] as const)('is raised from a stream by %s', async (how) => {
    const world = await begin(end);
    const failure = await thrown(world, end, read(world, how));
    expect(failure).toBeInstanceOf(OpenAI.APIError);
    expect(failure).toMatchObject({ code });
  });

  it(`is ${status} without a stream`, async () => {
    const world = await begin(end);
    const create = world.client().chat.completions.create(REQUEST, IN_SESSION);
    const failure = await thrown(world, end, create);
    expect(failure).toBeInstanceOf(OpenAI.APIError);
    expect(failure).toMatchObject({ status, code });
    const { headers } = failure as InstanceType<typeof OpenAI.APIError>;
    for (const [name, value] of Object.entries(end.headers)) expect(headers?.get(name)).toBe(value);
  });

  it('ends the bytes of a stream with an error frame and [DONE], and no finish', async () => {
    const world = await begin(end);
    const chat = world.chat({}, IN_SESSION.headers);
    if (end.act !== undefined) await chat.until(({ text }) => text !== '');
    await act(world, end);
    await chat.all();
    expect(chat.frames.slice(-2).map(({ event }) => event)).toEqual(['error', undefined]);
    expect(chat.error).toMatchObject({
      code,
      message: expect.any(String),
      type: expect.any(String),
    });
    expect(chat.finishReasons).toEqual([]);
    expect(chat.body.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(chat.complete).toBe(true);
  });
});

describe.each(ENDS)('the record of an end with $code', (end) => {
  it('says who ended the run and why', async () => {
    const world = await begin(end);
    const chat = world.chat({}, IN_SESSION.headers);
    await act(world, end);
    await chat.all();
    expect(await world.ended('s')).toMatchObject({ ...end.record, claims: [], verbs: ['attach'] });
  });
});
