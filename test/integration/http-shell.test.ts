import { gzipSync } from 'node:zlib';
import { Router } from '@koa/router';
import type Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { RunNotFoundError } from '../../src/errors.ts';
import { startCommand } from '../support/fake-handle.ts';
import { type HttpWorld, type HttpWorldOptions, httpWorld } from '../support/http-world.ts';
import { type Answer, ask, post, RawConnection } from '../support/raw-client.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };
const CHAT = '/v1/chat/completions';

const opened: HttpWorld[] = [];

async function world(options: HttpWorldOptions = {}): Promise<HttpWorld> {
  const made = await httpWorld(options);
  opened.push(made);
  return made;
}

/** A chat route that gives the parsed body back. */
const echo: Koa.Middleware = (ctx) => {
  ctx.body = { got: ctx.request.body };
};

const errorOf = ({ text }: Answer) => JSON.parse(text).error as Record<string, unknown>;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('paths and methods', () => {
  it.each(['/', '/nothing', '/health/', '/HEALTH', '/v1', '/v1/runs/', '/v1/runs/x/nothing'])(
    '%s is 404 in JSON',
    async (path) => {
      const { port } = await world();
      const answer = await ask({ port, path });
      expect([answer.status, errorOf(answer)['code']]).toEqual([404, 'not_found']);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
    },
  );

  it.each([
    ['POST', '/health', 'GET, HEAD'],
    ['GET', CHAT, 'POST'],
    ['DELETE', '/v1/runs/x', 'GET, HEAD'],
    ['PUT', '/v1/runs', 'GET, HEAD, POST'],
    ['POST', '/v1/sessions', 'GET, HEAD'],
    ['GET', '/v1/runs/x/cancel', 'POST'],
    ['PUT', '/v1/approvals/x', 'GET, HEAD, POST'],
  ])('%s %s is 405 and says what is allowed', async (method, path, allow) => {
    const { port } = await world();
    const answer = await ask({ port, method, path });
    expect([answer.status, answer.headers['allow']]).toEqual([405, allow]);
    expect(errorOf(answer)).toMatchObject({
      type: 'method_not_allowed',
      code: 'method_not_allowed',
    });
  });

  it.each(['/health', '/aura/info', '/v1/models', '/v1/models/demo'])(
    'HEAD %s is as GET without the body',
    async (path) => {
      const { port } = await world();
      const head = await ask({ port, method: 'HEAD', path });
      const get = await ask({ port, path });
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers['content-length']).toBe(String(Buffer.byteLength(get.text)));
      expect(head.headers['content-type']).toBe(get.headers['content-type']);
    },
  );

  it('lets routers of other rooms serve what is not served here, with their own 405', async () => {
    const more = new Router();
    more.get('/metrics', (ctx) => {
      ctx.body = 'up 1';
    });
    const { port } = await world({ more: [more] });
    expect((await ask({ port, path: '/metrics' })).text).toBe('up 1');
    const refused = await ask({ port, method: 'POST', path: '/metrics' });
    expect([refused.status, refused.headers['allow']]).toEqual([405, 'GET, HEAD']);
  });
});

describe('bodies', () => {
  it('are parsed for the chat route', async () => {
    const { port } = await world({ chat: echo });
    expect((await post(port, CHAT, { a: 1 })).text).toBe('{"got":{"a":1}}');
  });

  it('may be compressed', async () => {
    const { port } = await world({ chat: echo });
    const headers = { ...JSON_TYPE, 'Content-Encoding': 'gzip' };
    const body = gzipSync('{"a":1}');
    const answer = await ask({ port, method: 'POST', path: CHAT, headers, body });
    expect(answer.text).toBe('{"got":{"a":1}}');
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
  ])('of %s are refused with 415, as any page may send them', async (type) => {
    const { port } = await world({ chat: echo });
    const headers = { 'Content-Type': type };
    const answer = await ask({ port, method: 'POST', path: CHAT, headers, body: '{}' });
    expect([answer.status, errorOf(answer)['code']]).toEqual([415, 'unsupported_media_type']);
  });

  it('without a content type are refused with 415, and no body needs none', async () => {
    const { port } = await world({ chat: echo });
    const untyped = await ask({ port, method: 'POST', path: CHAT, body: '{}' });
    expect(untyped.status).toBe(415);
    const none = await ask({ port, method: 'POST', path: CHAT });
    expect([none.status, none.text]).toEqual([200, '{"got":{}}']);
  });

  it.each(['application/json; charset=utf-8', 'application/vnd.x+json'])(
    'of %s are JSON',
    async (type) => {
      const { port } = await world({ chat: echo });
      const headers = { 'Content-Type': type };
      const answer = await ask({ port, method: 'POST', path: CHAT, headers, body: '{"a":1}' });
      expect(answer.text).toBe('{"got":{"a":1}}');
    },
  );

  it.each([
    ['declared', { 'Content-Length': '2097153' }],
    ['chunked', { 'Transfer-Encoding': 'chunked' }],
  ])('over 2 MiB are refused with 413 (%s)', async (_how, framing) => {
    const { port } = await world({ chat: echo });
    const headers = { ...JSON_TYPE, ...framing };
    const body = `"${'x'.repeat(2_097_151)}"`;
    const answer = await ask({ port, method: 'POST', path: CHAT, headers, body });
    expect([answer.status, errorOf(answer)['code']]).toEqual([413, 'payload_too_large']);
    expect(String(errorOf(answer)['message'])).toContain('2097152');
  });

  it('that grow over the limit when they are unpacked are refused too', async () => {
    const { port } = await world({ chat: echo });
    const headers = { ...JSON_TYPE, 'Content-Encoding': 'gzip' };
    const body = gzipSync(`{"a":"${'x'.repeat(3_000_000)}"}`);
    expect((await ask({ port, method: 'POST', path: CHAT, headers, body })).status).toBe(413);
  });

  it('of exactly the limit are taken', async () => {
    const { port } = await world({ chat: echo });
    const body = `{"a":"${'x'.repeat(2_097_152 - 8)}"}`;
    const answer = await ask({ port, method: 'POST', path: CHAT, headers: JSON_TYPE, body });
    expect([Buffer.byteLength(body), answer.status]).toEqual([2_097_152, 200]);
  });

  it.each([
    ['{"a":', 'The body is not valid JSON; check its syntax.'],
    ['hello', 'The body is not valid JSON; check its syntax.'],
    [' ', 'The body is not valid JSON; check its syntax.'],
    ['"hello"', 'The body must be a JSON object, not a string.'],
    ['""', 'The body must be a JSON object, not a string.'],
    ['12', 'The body must be a JSON object, not a number.'],
    ['true', 'The body must be a JSON object, not true or false.'],
    ['null', 'The body must be a JSON object, not null.'],
    ['[{}]', 'The body must be a JSON object, not an array.'],
    [
      '{"a":[{"__proto__":{"hello":1}}]}',
      'The body has a key named "__proto__", which is not taken; leave it out.',
    ],
  ])('%s is refused with 400 in words that tell why and do not repeat it', async (body, why) => {
    const { port } = await world({ chat: echo });
    const answer = await ask({ port, method: 'POST', path: CHAT, headers: JSON_TYPE, body });
    expect([answer.status, errorOf(answer)['type']]).toEqual([400, 'invalid_request_error']);
    expect(errorOf(answer)['message']).toBe(why);
  });

  it('in an unknown or broken encoding are refused, not taken for a fault of the server', async () => {
    const { port } = await world({ chat: echo });
    const send = (encoding: string, body: string | Buffer) => {
      const headers = { ...JSON_TYPE, 'Content-Encoding': encoding };
      return ask({ port, method: 'POST', path: CHAT, headers, body });
    };
    expect((await send('zip', '{}')).status).toBe(415);
    const cut = gzipSync('{"a":1}').subarray(0, 15);
    for (const broken of ['{}', cut]) {
      const answer = await send('gzip', broken);
      expect([answer.status, errorOf(answer)['message']]).toEqual([
        400,
        'The body cannot be unpacked; send it in gzip or without encoding.',
      ]);
    }
  });

  it('are not kept as text while the response goes on', async () => {
    let raw: string | undefined;
    const { port } = await world({
      chat: (ctx) => {
        raw = ctx.request.rawBody;
        ctx.body = {};
      },
    });
    await post(port, CHAT, { a: 1 });
    expect(raw).toBe('');
  });
});

describe('errors', () => {
  it('that are unexpected show nothing and are logged without their fields', async () => {
    const { port, lines } = await world({
      chat: () => {
        throw Object.assign(new Error('boom'), { authorization: 'Bearer sk-secret' });
      },
    });
    const answer = await post(port, CHAT, {});
    expect([answer.status, errorOf(answer)['code']]).toEqual([500, 'internal_error']);
    expect(answer.text).not.toContain('boom');
    const errors = lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors)).toContain('boom');
    expect(JSON.stringify(errors)).not.toContain('sk-secret');
  });

  it('of the supervisor keep their words, and no error is logged for them', async () => {
    const { port, lines } = await world({
      chat: () => {
        throw new RunNotFoundError('r1');
      },
    });
    const answer = await post(port, CHAT, {});
    expect([answer.status, errorOf(answer)['message']]).toEqual([404, 'No run "r1".']);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('after the response has begun cut it, so that it does not look complete', async () => {
    const { port } = await world({
      chat: (ctx) => {
        ctx.res.write('half');
        throw new Error('boom');
      },
    });
    await expect(post(port, CHAT, {})).rejects.toThrow();
  });

  it('of the protocol are JSON too', async () => {
    const { port } = await world();
    const client = await RawConnection.open(port);
    client.write('NONSENSE\r\n\r\n');
    await client.ended;
    expect(client.headers).toMatch(/^HTTP\/1\.1 400 Bad Request/);
    expect(JSON.parse(client.body).error.type).toBe('invalid_request_error');
    const large = await RawConnection.open(port);
    large.get('/health', [`X-Large: ${'x'.repeat(20_000)}`]);
    await large.ended;
    expect(large.headers).toMatch(/^HTTP\/1\.1 431 /);
    expect(JSON.parse(large.body).error.code).toBe('headers_too_large');
  });

  it('of a peer that leaves inside its body are no errors of the server', async () => {
    const { port, lines, handle } = await world({ chat: echo });
    const client = await RawConnection.open(port);
    const head = [`POST ${CHAT} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json'];
    const rest = ['Content-Length: 100', 'Expect: 100-continue', '', '{"a":'];
    client.write([...head, ...rest].join('\r\n'));
    await client.until(({ text }) => text.includes('100 Continue'));
    client.socket.resetAndDestroy();
    while (!lines.some(({ message }) => message === 'request')) await nextTurn();
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect(handle.tracked).toBe(0);
  });
});

describe('a shutdown', () => {
  it.each([
    ['GET', '/health'],
    ['GET', '/v1/models'],
    ['GET', '/nothing'],
    ['GET', '/v1/runs/x'],
    ['GET', '/v1/approvals/x'],
    ['POST', CHAT],
    ['POST', '/v1/runs/x/events'],
  ])('answers %s %s with the body that clients know', async (method, path) => {
    const { port, handle } = await world();
    handle.phase = 'gated';
    const answer = await ask({ port, method, path });
    expect(answer.status).toBe(503);
    expect(answer.text).toBe(
      '{"error":{"message":"Server is shutting down","type":"service_unavailable"}}',
    );
    expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    expect(handle.tracked).toBe(0);
  });

  it('lets approvals and cancels through, and open streams go on', async () => {
    const { port, handle } = await world();
    const { runId } = await handle.start(startCommand());
    const client = await RawConnection.open(port);
    client.get(`/v1/runs/${runId}/events`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    const decisionId = '01890000-0000-7000-8000-00000000000a';
    handle.pending.add(decisionId);
    handle.phase = 'gated';
    const decided = await post(port, `/v1/approvals/${decisionId}`, { approved: true });
    const cancelled = await ask({ port, method: 'POST', path: `/v1/runs/${runId}/cancel` });
    expect([decided.status, cancelled.status]).toEqual([204, 202]);
    await client.until(({ body }) => body.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toContain('"cancelled"');
  });

  it('waits for requests that are under way, until their last byte or their peer is gone', async () => {
    const { promise: release, resolve } = Promise.withResolvers<void>();
    const chat: Koa.Middleware = async (ctx) => {
      await release;
      ctx.body = {};
    };
    const { port, handle } = await world({ chat });
    const waiting = post(port, CHAT, {});
    const leaving = await RawConnection.open(port);
    leaving.write(`POST ${CHAT} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    while (handle.tracked < 2) await nextTurn();
    leaving.socket.destroy();
    while (handle.tracked > 1) await nextTurn();
    resolve();
    await waiting;
    while (handle.tracked > 0) await nextTurn();
  });
});

describe('the request log', () => {
  it('has one line a response, without query and headers', async () => {
    const { port, lines } = await world();
    const headers = { Authorization: 'Bearer sk-secret' };
    await ask({ port, path: '/health?token=sk-secret', headers });
    while (lines.length === 0) await nextTurn();
    expect(lines).toEqual([
      {
        level: 'debug',
        message: 'request',
        fields: { method: 'GET', path: '/health', status: 200, duration_ms: 0, complete: true },
      },
    ]);
  });
});
