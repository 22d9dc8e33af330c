import { describe, expect, it } from 'vitest';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { delta, reply, type UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** Trouble on the way to the model, and that the server is as good as before afterwards. */

const start = systemWorlds();
const GOOD: UpstreamAnswer = { steps: reply({ text: ['Fine'] }) };
const half = (...steps: UpstreamStep[]): UpstreamAnswer => ({
  steps: [delta({ content: 'Half' }), ...steps],
});
const refusal = (status: number, headers = {}): UpstreamAnswer => ({
  status,
  headers,
  body: { error: { message: 'Not now.', type: 'server_error', code: null } },
});

/** One good answer, on whatever connection there is. */
async function expectFine(world: SystemWorld): Promise<void> {
  world.answer(GOOD);
  const chat = world.chat();
  await chat.all();
  expect(chat.text).toBe('Fine');
  expect(chat.finishReasons).toEqual(['stop']);
}

describe('trouble before the first chunk', () => {
  it.each([
    { what: 'a 429 with Retry-After', first: refusal(429, { 'retry-after-ms': '20' }) },
    { what: 'a 500', first: refusal(500, { 'retry-after-ms': '1' }) },
    { what: 'a cut connection', first: { steps: [{ kind: 'cut' }] } as UpstreamAnswer },
  ])('of $what is tried again and nobody notices', async ({ first }) => {
    const world = await start();
    world.answer(first, GOOD);
    const chat = world.chat();
    await chat.all();
    expect(chat.text).toBe('Fine');
    expect(chat.error).toBeUndefined();
    expect(world.upstream.requests).toHaveLength(2);
    await expectFine(world);
  });

  it('waits as long as a Retry-After says', async () => {
    const world = await start();
    world.answer(refusal(429, { 'retry-after': '1' }), GOOD);
    const asked = performance.now();
    await world.chat().all();
    // The upstream's word is a lower bound, whatever else the machine does.
    expect(performance.now() - asked).toBeGreaterThanOrEqual(1_000);
  });

  it('ends the run after three attempts', async () => {
    const world = await start();
    world.answer(...[1, 2, 3].map(() => refusal(503, { 'retry-after-ms': '1' })));
    const chat = world.chat();
    await chat.all();
    expect(chat.error).toMatchObject({ code: 'provider_error' });
    expect(world.upstream.requests).toHaveLength(3);
    await expectFine(world);
  });

  it('is not tried again once the caller has left', async () => {
    const world = await start();
    world.answer(refusal(503, { 'retry-after': '20' }));
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    const { answered } = await world.upstream.request(0);
    await answered;
    await chat.leave();
    expect(await world.ended('s')).toMatchObject({
      state: 'cancelled',
      end: { reason: 'unclaimed' },
    });
    expect(world.upstream.requests).toHaveLength(1);
    await expectFine(world);
  });
});

describe('trouble inside the stream', () => {
  it.each([
    { what: 'a cut', answer: half({ kind: 'cut' }), code: 'provider_error' },
    {
      what: 'an error frame',
      answer: half({ kind: 'raw', bytes: 'data: {"error":{"message":"Broken."}}\n\n' }),
      code: 'provider_error',
    },
    {
      what: 'a frame that is no JSON',
      answer: half({ kind: 'raw', bytes: 'data: {"choices":[{\n\n' }),
      code: 'provider_error',
    },
    {
      what: 'an overflow told in the stream',
      answer: half({
        kind: 'raw',
        bytes: 'data: {"error":{"message":"maximum context length is 8 tokens"}}\n\n',
      }),
      code: 'context_length_exceeded',
    },
  ])('of $what ends with $code, keeps the text and hurts nobody else', async ({ answer, code }) => {
    const world = await start();
    world.answer(answer);
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await chat.all();
    expect(chat.text.startsWith('Half')).toBe(true);
    expect(chat.error).toMatchObject({ code });
    expect(await world.ended('s')).toMatchObject({ state: 'failed', end: { error: { code } } });
    expect(world.upstream.requests).toHaveLength(1);
    await expectFine(world);
  });

  it('of a stall ends with the inactivity deadline and closes the request', async () => {
    const world = await start({ flags: { 'stream-inactivity-timeout-secs': '0.5' } });
    world.answer(half({ kind: 'stall' }));
    const chat = world.chat();
    await chat.all();
    expect(chat.error).toMatchObject({ code: 'deadline_inactivity' });
    expect(await (await world.upstream.request(0)).answered).toBe('broken');
    await expectFine(world);
  });
});
