import { afterEach, describe, expect, it } from 'vitest';
import { chatWorld, HI } from '../support/chat-world.ts';
import { type HttpWorld, httpWorld } from '../support/http-world.ts';
import { type Answer, ask, post, RawConnection } from '../support/raw-client.ts';

/** Each bound on what one request may bring: what is just within is served, what is over is told. */

const CHAT = '/v1/chat/completions';

const opened: HttpWorld[] = [];

async function opening<World extends HttpWorld>(making: Promise<World>): Promise<World> {
  const made = await making;
  opened.push(made);
  return made;
}

const errorOf = ({ text }: Pick<Answer, 'text'>) =>
  JSON.parse(text).error as Record<string, unknown>;

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('the URL', () => {
  it('has up to 8,192 characters; a longer one is 414', async () => {
    const { port } = await opening(httpWorld());
    const path = '/health?'.padEnd(8_192, 'x');
    expect((await ask({ port, path })).status).toBe(200);
    const answer = await ask({ port, path: `${path}x` });
    expect([answer.status, errorOf(answer)['code']]).toEqual([414, 'uri_too_long']);
    expect(errorOf(answer)['message']).toContain('8192 characters');
  });
});

describe('the headers', () => {
  /** `Host` and `Connection` are there by themselves. */
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count - 2 }, (_, index) => [`X-${index}`, '1']));

  it('are up to 200; more are 431', async () => {
    const { port } = await opening(httpWorld());
    expect((await ask({ port, path: '/health', headers: named(200) })).status).toBe(200);
    const answer = await ask({ port, path: '/health', headers: named(201) });
    expect([answer.status, errorOf(answer)['code']]).toEqual([431, 'headers_too_large']);
    expect(errorOf(answer)['message']).toContain('more than 200 headers');
  });

  it('cannot hide one behind so many that the parser drops it', async () => {
    const { port } = await opening(httpWorld());
    const client = await RawConnection.open(port);
    client.get(
      '/health',
      Array.from({ length: 2_100 }, () => 'a:b'),
    );
    await client.until(({ text }) => text.includes('}}'));
    expect(client.headers).toMatch(/^HTTP\/1\.1 431 /);
    client.socket.destroy();
  });

  it('have up to 16 KiB with the URL; more are 431', async () => {
    const { port } = await opening(httpWorld());
    const headers = { 'X-Large': 'x'.repeat(15_000) };
    expect((await ask({ port, path: '/health', headers })).status).toBe(200);
    const client = await RawConnection.open(port);
    client.get('/health', [`X-Large: ${'x'.repeat(16_384)}`]);
    await client.ended;
    expect(client.headers).toMatch(/^HTTP\/1\.1 431 /);
    expect(errorOf({ text: client.body })).toMatchObject({ code: 'headers_too_large' });
  });
});

describe('the body', () => {
  it('has up to the configured size; a larger one is 413 and says the size', async () => {
    const chat = (ctx: { body: unknown }) => {
      ctx.body = {};
    };
    const { port } = await opening(httpWorld({ config: { bodyBytesMax: 100 }, chat }));
    expect((await post(port, CHAT, 'x'.repeat(98))).status).toBe(400);
    const large = await post(port, CHAT, { text: 'x'.repeat(100) });
    expect([large.status, errorOf(large)['code']]).toEqual([413, 'payload_too_large']);
    expect(errorOf(large)['message']).toContain('100 bytes');
  });
});

describe('a session id', () => {
  const LONG = 'é'.repeat(128);

  it.each([
    ['metadata.chat_session_id', { metadata: { chat_session_id: `${LONG}x` } }, {}],
    ['X-Chat-Session-Id', {}, { 'X-Chat-Session-Id': 'x'.repeat(257) }],
    ['X-OpenWebUI-Chat-Id', {}, { 'X-OpenWebUI-Chat-Id': 'x'.repeat(257) }],
  ])('in %s has up to 256 bytes; a longer one is 400', async (param, more, headers) => {
    const { port } = await opening(chatWorld());
    const answer = await ask({
      port,
      method: 'POST',
      path: CHAT,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ ...HI, ...more }),
    });
    expect([answer.status, errorOf(answer)['param']]).toEqual([400, param]);
    expect(errorOf(answer)['message']).toContain('256 bytes');
  });

  it('of exactly 256 bytes is taken', async () => {
    const { port, nextRun } = await opening(chatWorld());
    const started = nextRun();
    const answer = post(port, CHAT, { ...HI, metadata: { chat_session_id: LONG } });
    const run = await started;
    expect(run.sessionId).toBe(LONG);
    run.finish();
    expect((await answer).status).toBe(200);
  });
});
