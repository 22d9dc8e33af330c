import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import {
  ask,
  begin,
  ended,
  gated,
  post,
  refusal,
  says,
  STALLED,
  story,
} from '../support/api-kit.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** `POST /v1/runs`: a run that outlives whoever started it. */

const start = systemWorlds();
const messagesOf = async (world: SystemWorld, index: number) =>
  (await world.upstream.request(index)).body['messages'] as { role: string; content: string }[];

describe('POST /v1/runs', () => {
  it('answers 202 with run_id, session_id, seq and liveness when the started entry is durable', async () => {
    const world = await start();
    world.answer(says('Done.'));
    const asked = ask(world);
    const answer = await asked.json();
    expect(await asked.status()).toBe(202);
    expect(answer).toEqual({
      run_id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7/),
      session_id: 's',
      seq: 1,
      state: 'running',
      liveness: { policy: 'continue', grace_ms: 0 },
    });
    expect(await asked.header('location')).toBe(`/v1/runs/${String(answer['run_id'])}`);
    expect(await asked.header('x-run-id')).toBe(answer['run_id']);
    expect(await asked.header('x-chat-session-id')).toBe('s');
    const [first] = await world.server.handle.journal.read('s', 1, 1);
    expect(first).toMatchObject({ seq: 1, runId: answer['run_id'], type: 'started' });
    expect(await ended(world, String(answer['run_id']))).toMatchObject({ state: 'finished' });
  });

  it('runs on with nobody to read it, and never loses a claim that it never had', async () => {
    const world = await start();
    world.answer(says('Done.'));
    const { run_id: runId } = await begin(world);
    const types = (await story(world, runId)).map(({ type }) => type);
    expect(types).toEqual(['started', 'session_info', 'text_delta', 'finished']);
  });

  it('takes the session from the body before the header, and makes one where neither names it', async () => {
    const world = await start();
    world.answer(says('a'), says('b'), says('c'));
    const headers = { 'X-Chat-Session-Id': 'h' };
    const named = await begin(world, {}, headers);
    const byHeader = await begin(world, { session_id: null }, headers);
    const fresh = await begin(world, { session_id: null });
    expect([named, byHeader].map(({ session_id: id }) => id)).toEqual(['s', 'h']);
    expect(fresh.session_id).not.toBe('');
    for (const { run_id: runId } of [named, byHeader, fresh]) await ended(world, runId);
    expect(fresh.session_id).not.toMatch(/^[sh]$/);
  });

  it('takes messages as the whole conversation (decision 25)', async () => {
    const world = await start();
    world.answer(says('First.'), says('Second.'));
    await ended(world, (await begin(world)).run_id);
    const messages = [
      { role: 'user', content: 'Elsewhere' },
      { role: 'assistant', content: 'Was said.' },
      { role: 'user', content: 'Then?' },
    ];
    const { run_id: runId } = await begin(world, { prompt: null, messages });
    await ended(world, runId);
    expect(await messagesOf(world, 1)).toEqual([
      { role: 'system', content: 'Be brief.' },
      ...messages,
    ]);
    expect((await story(world, runId))[0]).toMatchObject({ type: 'started', prompt: 'Then?' });
  });

  it('takes a prompt as the next word in the kept conversation (decision 25)', async () => {
    const world = await start();
    world.answer(says('First.'), says('Second.'), says('Third.'));
    for (const prompt of ['One', 'Two', 'Three']) {
      await ended(world, (await begin(world, { prompt })).run_id);
    }
    expect(await messagesOf(world, 2)).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'First.' },
      { role: 'user', content: 'Two' },
      { role: 'assistant', content: 'Second.' },
      { role: 'user', content: 'Three' },
    ]);
  });

  it('goes on with what a chat said in the session (decision 25)', async () => {
    const world = await start();
    world.answer(says('Hi.'), says('Still here.'));
    await world.chat({}, { 'X-Chat-Session-Id': 's' }).all();
    await ended(world, (await begin(world)).run_id);
    expect((await messagesOf(world, 1)).map(({ content }) => content)).toEqual([
      'Be brief.',
      'Hello',
      'Hi.',
      'Go',
    ]);
  });

  it('chooses the liveness by the start (liveness, row 1)', async () => {
    const world = await start();
    world.answer(says('a'), says('b'));
    const park = await begin(world, { liveness: { policy: 'park', grace_ms: 1_500 } });
    expect(park.liveness).toEqual({ policy: 'park', grace_ms: 1_500 });
    expect((await story(world, park.run_id))[0]).toMatchObject({ liveness: park.liveness });
    const half = await begin(world, { liveness: { grace_ms: 7 } });
    expect(half.liveness).toEqual({ policy: 'continue', grace_ms: 7 });
    await ended(world, half.run_id);
  });

  it('takes the default of its seam from the configuration (liveness, row 1)', async () => {
    const toml = '[runtime.liveness]\nheadless = { policy = "park", grace_secs = 2.5 }';
    const world = await start({ toml });
    world.answer(says('a'), says('b'));
    const { run_id: runId, liveness } = await begin(world);
    expect(liveness).toEqual({ policy: 'park', grace_ms: 2_500 });
    await ended(world, runId);
    await world.chat({}, { 'X-Chat-Session-Id': 'c' }).all();
    const [started] = await world.journal('c');
    expect(started).toMatchObject({ liveness: { policy: 'cancel', grace_ms: 0 } });
  });

  it('accepts park of a built-in agent, which can checkpoint (decision 33)', async () => {
    const world = await start();
    world.answer(says('a'));
    const { run_id: runId } = await begin(world, { liveness: { policy: 'park' } });
    expect(await ended(world, runId)).toMatchObject({ state: 'finished', verbs: ['attach'] });
  });

  it('ends by its own timeout_ms', async () => {
    const world = await start();
    world.answer(STALLED);
    const { run_id: runId } = await begin(world, { timeout_ms: 300 });
    expect((await story(world, runId))[0]).toMatchObject({ type: 'started', timeout_ms: 300 });
    expect(await ended(world, runId)).toMatchObject({
      state: 'cancelled',
      end: { by: 'deadline', reason: 'deadline', which: 'total' },
    });
  });

  it.each([
    { why: 'neither prompt nor messages', body: { prompt: null }, param: 'prompt' },
    { why: 'both', body: { messages: [{ role: 'user', content: 'x' }] }, param: 'messages' },
    { why: 'no messages', body: { prompt: null, messages: [] }, param: 'messages' },
    { why: 'a blank prompt', body: { prompt: ' ' }, param: 'prompt' },
    { why: 'a policy nobody knows', body: { liveness: { policy: 'x' } }, param: 'liveness.policy' },
    { why: 'a negative grace', body: { liveness: { grace_ms: -1 } }, param: 'liveness.grace_ms' },
    { why: 'a fraction of a time', body: { timeout_ms: 0.5 }, param: 'timeout_ms' },
    { why: 'a strategy nobody knows', body: { on_busy: 'wait' }, param: 'on_busy' },
    { why: 'a session id with a line break', body: { session_id: 'a\nb' }, param: 'session_id' },
    { why: 'a key nobody knows', body: { promt: 'x' }, param: 'promt' },
  ])('refuses $why and names the field', async ({ body, param }) => {
    const world = await start();
    expect(await refusal(ask(world, body))).toEqual([400, 'invalid_request_error', param]);
    expect((await world.ask('/v1/runs').json())['data']).toEqual([]);
  });

  it('is 404 for an agent nobody knows', async () => {
    const world = await start();
    expect((await refusal(ask(world, { agent: 'other' })))[0]).toBe(404);
  });

  it('is 415 for a body that is not JSON (decision 39)', async () => {
    const world = await start();
    const headers = { 'Content-Type': 'text/plain' };
    const asked = post(world, '/v1/runs', { prompt: 'Go' }, headers);
    expect(await refusal(asked)).toEqual([415, 'unsupported_media_type']);
  });

  it('is 403 for a foreign Origin and 421 for a foreign Host (decision 39)', async () => {
    const world = await start();
    const origin = ask(world, {}, { Origin: 'https://evil.example' });
    expect(await origin.status()).toBe(403);
    expect(await ask(world, {}, { Host: 'evil.example' }).status()).toBe(421);
    expect((await world.ask('/v1/runs').json())['data']).toEqual([]);
  });

  it('is 503 while draining, with Retry-After', async () => {
    const world = await start();
    const { answer, go } = gated('a', reply({ text: ['b'] }));
    world.answer(answer);
    const { run_id: runId } = await begin(world);
    const reader = world.ask(`/v1/runs/${runId}/events`);
    await reader.until(({ body }) => body.includes('"text":"a"'));
    world.server.shutdown('SIGTERM');
    const late = ask(world, { session_id: 'other' });
    expect(await late.status()).toBe(503);
    expect(Number(await late.header('retry-after'))).toBeGreaterThan(0);
    go();
    await reader.all();
    expect(reader.body).toContain('"type":"finished"');
  });
});

describe('Idempotency-Key', () => {
  const KEY = { 'Idempotency-Key': 'k-1' };

  it('finds the first start’s run, live or ended, and starts nothing', async () => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer);
    const first = await begin(world, {}, KEY);
    const again = ask(world, {}, KEY);
    expect(await again.json()).toMatchObject({ run_id: first.run_id, seq: first.seq });
    expect(await again.header('idempotency-replayed')).toBe('true');
    go();
    await ended(world, first.run_id);
    expect((await begin(world, {}, KEY)).run_id).toBe(first.run_id);
    expect(world.upstream.requests).toHaveLength(1);
  });

  it('of many starts at once begins one run', async () => {
    const world = await start();
    world.answer(says('a'));
    const starts = await Promise.all(Array.from({ length: 8 }, () => begin(world, {}, KEY)));
    expect(new Set(starts.map(({ run_id: id }) => id)).size).toBe(1);
    await ended(world, starts[0]?.run_id ?? '');
    expect(world.upstream.requests).toHaveLength(1);
  });

  it('with another body is refused', async () => {
    const world = await start();
    world.answer(says('a'));
    const { run_id: runId } = await begin(world, {}, KEY);
    const other = ask(world, { prompt: 'Other' }, KEY);
    expect(await refusal(other)).toEqual([409, expect.any(String), 'Idempotency-Key']);
    expect(await other.header('x-should-retry')).toBe('false');
    await ended(world, runId);
  });

  it('is known to the next process on the same store', async () => {
    const world = await start();
    world.answer(says('a'));
    const { run_id: runId } = await begin(world, {}, KEY);
    await ended(world, runId);
    world.server.shutdown('SIGTERM');
    await world.server.stopped;
    const next = await start({ dataDir: world.dataDir });
    expect((await begin(next, {}, KEY)).run_id).toBe(runId);
    expect(next.upstream.requests).toEqual([]);
  });

  it('of a start that was refused is free again', async () => {
    const world = await start();
    world.answer(says('a'));
    expect((await refusal(ask(world, { agent: 'other' }, KEY)))[0]).toBe(404);
    const { run_id: runId } = await begin(world, {}, KEY);
    await ended(world, runId);
  });
});
