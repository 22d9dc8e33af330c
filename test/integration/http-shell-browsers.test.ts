import type Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { type HttpWorld, type HttpWorldOptions, httpWorld } from '../support/http-world.ts';
import { type Answer, ask } from '../support/raw-client.ts';

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

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('web pages elsewhere', () => {
  it.each(['https://evil.example', 'http://127.0.0.1:1', 'null', 'garbage'])(
    'at the origin %s are refused with 403',
    async (origin) => {
      const { port } = await world({ chat: echo });
      const headers = { ...JSON_TYPE, Origin: origin };
      const answer = await ask({ port, method: 'POST', path: CHAT, headers, body: '{}' });
      expect([answer.status, errorOf(answer)['code']]).toEqual([403, 'forbidden']);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(errorOf(answer)['message']).toContain('--allowed-origins');
    },
  );

  it('are told apart from the pages of the server itself, by http and by https', async () => {
    const { port } = await world({ chat: echo });
    for (const origin of [`http://127.0.0.1:${port}`, `https://127.0.0.1:${port}`]) {
      const headers = { ...JSON_TYPE, Origin: origin };
      const answer = await ask({ port, method: 'POST', path: CHAT, headers, body: '{}' });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([
        200,
        undefined,
      ]);
    }
  });

  it('may call when their origin is allowed, preflight included', async () => {
    const origin = 'https://chat.example';
    const { port } = await world({ chat: echo, config: { allowedOrigins: [origin] } });
    const headers = { ...JSON_TYPE, Origin: origin };
    const answer = await ask({ port, method: 'POST', path: CHAT, headers, body: '{}' });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, origin]);
    expect(answer.headers['vary']).toContain('Origin');
    const preflight = await ask({
      port,
      method: 'OPTIONS',
      path: CHAT,
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type, x-stainless-os',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Api-Key, ' +
        'X-Chat-Session-Id, X-OpenWebUI-Chat-Id, x-stainless-os',
      'access-control-max-age': '600',
      vary: 'Origin, Access-Control-Request-Headers',
    });
    expect(preflight.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('can read the headers that are sent to them, errors included', async () => {
    const origin = 'https://chat.example';
    const { port } = await world({ config: { allowedOrigins: [origin] } });
    for (const path of ['/health', '/nothing']) {
      const { headers } = await ask({ port, path, headers: { Origin: origin } });
      expect(headers['access-control-allow-origin']).toBe(origin);
      expect(headers['access-control-expose-headers']).toBe(
        'Idempotency-Replayed, Retry-After, WWW-Authenticate, X-Chat-Session-Id, X-Run-Id, ' +
          'X-Should-Retry',
      );
    }
  });

  it('are never told that all headers are allowed', async () => {
    const origin = 'https://chat.example';
    const { port } = await world({ config: { allowedOrigins: [origin] } });
    const headers = {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': '*, a b, x-ok, AUTHORIZATION',
    };
    const { headers: got } = await ask({ port, method: 'OPTIONS', path: CHAT, headers });
    expect(got['access-control-allow-headers']).toMatch(/X-OpenWebUI-Chat-Id, x-ok$/);
  });

  it('learn while the server shuts down that it does, and may still ask to decide', async () => {
    const origin = 'https://chat.example';
    const { port, handle } = await world({ config: { allowedOrigins: [origin] } });
    handle.shutdown();
    const refused = await ask({ port, path: '/v1/models', headers: { Origin: origin } });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([503, origin]);
    const headers = { Origin: origin, 'Access-Control-Request-Method': 'POST' };
    const path = '/v1/approvals/01890000-0000-7000-8000-00000000000a';
    expect((await ask({ port, method: 'OPTIONS', path, headers })).status).toBe(204);
  });

  it('get no preflight when their origin is not allowed', async () => {
    const { port } = await world();
    const headers = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' };
    const answer = await ask({ port, method: 'OPTIONS', path: CHAT, headers });
    expect(answer.status).toBe(403);
  });

  it.each([
    'evil.example',
    'evil.example:8080',
    '10.0.0.1',
    'localhost.evil.example',
    '[::2]',
    '[::ffff:10.0.0.1]',
    'evil.example.',
    '127.0.0.1.evil.example',
    'a b',
  ])('that know this server as %s are refused with 421', async (host) => {
    const { port } = await world();
    const answer = await ask({ port, path: '/health', headers: { Host: host } });
    expect([answer.status, errorOf(answer)['code']]).toEqual([421, 'misdirected_request']);
  });

  it.each([
    'localhost',
    'LOCALHOST:1',
    '127.0.0.1:8080',
    '127.8.8.8',
    '[::1]:8080',
    'app.localhost',
    'localhost.',
    'LocalHost.:8080',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]:8080',
  ])('are not meant by the host %s', async (host) => {
    const { port } = await world();
    expect((await ask({ port, path: '/health', headers: { Host: host } })).status).toBe(200);
  });

  it('may reach it under the host of an allowed origin, as a proxy passes it on', async () => {
    const { port } = await world({ config: { allowedOrigins: ['https://chat.example'] } });
    for (const Host of ['chat.example', 'Chat.Example.:443']) {
      expect((await ask({ port, path: '/health', headers: { Host } })).status).toBe(200);
    }
  });

  it.each(['localhost', '127.0.0.1', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1'])(
    'are checked by host when the server listens on %s',
    async (host) => {
      const { port } = await world({ config: { host } });
      const headers = { Host: 'evil.example' };
      expect((await ask({ port, path: '/health', headers })).status).toBe(421);
    },
  );

  it('are checked by origin alone when the server listens on every address', async () => {
    const { port } = await world({ config: { host: '0.0.0.0' } });
    const named = await ask({ port, path: '/health', headers: { Host: 'agents.example' } });
    const foreign = { Host: 'agents.example', Origin: 'https://evil.example' };
    const refused = await ask({ port, path: '/health', headers: foreign });
    expect([named.status, refused.status]).toEqual([200, 403]);
  });
});
