import type Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import type { AuthConfig } from '../../src/auth.ts';
import { requestHeaders } from '../../src/http/params.ts';
import {
  AUTH,
  type AuthWorld,
  type AuthWorldOptions,
  authKey,
  authWorld,
  bearer,
  errorOf,
  secretOf,
} from '../support/auth-kit.ts';

const CHAT = '/v1/chat/completions';
const MODELS = '/v1/models';

const opened: AuthWorld[] = [];

async function world(options: AuthWorldOptions = {}): Promise<AuthWorld> {
  const made = await authWorld(options);
  opened.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('a key', () => {
  it.each([
    ['a bearer token', bearer('acme-chat')],
    ['a bearer token in other case', { authorization: `bearer  ${secretOf('acme-chat')} ` }],
    ['X-Api-Key', { 'X-Api-Key': secretOf('acme-chat') }],
    [
      'X-Api-Key beside a token for somebody else',
      { 'X-Api-Key': secretOf('acme-chat'), Authorization: 'Bearer for-an-mcp-server' },
    ],
  ])('is taken as %s', async (_how, headers) => {
    const { ask } = await world();
    expect((await ask({ path: MODELS, headers })).status).toBe(200);
  });

  it.each([
    ['nothing', {}],
    ['an empty token', { Authorization: 'Bearer ' }],
    ['basic credentials', { Authorization: `Basic ${btoa(`x:${secretOf('acme-chat')}`)}` }],
    ['a key without its scheme', { Authorization: secretOf('acme-chat') }],
    ['two keys in one', { Authorization: `Bearer ${secretOf('acme-chat')} x` }],
    ['a part of a key', { Authorization: `Bearer ${secretOf('acme-chat').slice(0, -1)}` }],
    ['the hash of a key', { 'X-Api-Key': AUTH.keys[0]?.hash ?? '' }],
    ['an empty X-Api-Key', { 'X-Api-Key': '' }],
    ['a cookie', { Cookie: `key=${secretOf('acme-chat')}` }],
  ])('is not %s: 401, in the same words for all', async (_what, headers) => {
    const { ask } = await world();
    const answer = await ask({ path: MODELS, headers });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(errorOf(answer)).toEqual({
      message: 'This needs a valid API key; send it as "Authorization: Bearer KEY".',
      type: 'unauthorized',
      code: 'unauthorized',
    });
  });

  it('is never taken from the URL', async () => {
    const { ask } = await world();
    for (const name of ['key', 'api_key', 'access_token', 'token', 'authorization']) {
      const path = `${MODELS}?${name}=${secretOf('acme-chat')}`;
      expect((await ask({ path })).status).toBe(401);
    }
  });

  it('is asked for before the body is looked at', async () => {
    const { ask } = await world();
    const body = 'x'.repeat(10);
    const headers = { 'Content-Type': 'text/plain' };
    expect((await ask({ method: 'POST', path: CHAT, headers, body })).status).toBe(401);
  });

  it('opens its tenant, whose view is made once with its limits', async () => {
    const { handle, ask } = await world();
    for (const name of ['acme-chat', 'acme-admin', 'globex-chat', 'acme-chat']) {
      await ask({ path: MODELS, headers: bearer(name) });
    }
    expect(handle.limits).toEqual([
      { tenant: 'acme', liveRunsMax: 3, storedBytesMax: 1_000 },
      { tenant: 'globex', liveRunsMax: 3, storedBytesMax: 1_000 },
    ]);
  });

  it('may be of the tenant without a name', async () => {
    const auth: AuthConfig = { ...AUTH, keys: [authKey('legacy', '', ['runs:read'])] };
    const { handle, ask } = await world({ config: { auth } });
    expect((await ask({ path: '/v1/runs/x', headers: bearer('legacy') })).status).toBe(404);
    expect((await ask({ path: '/v1/runs/x' })).status).toBe(401);
    expect(handle.limits.map(({ tenant }) => tenant)).toEqual(['']);
  });

  it('names itself in the log, and does not show', async () => {
    const { ask, logged } = await world();
    await ask({ path: MODELS, headers: bearer('acme-chat') });
    await ask({ path: MODELS, headers: { 'X-Api-Key': 'rw-wrong-0123456789' } });
    expect(logged()).toContain('"key_name":"acme-chat","tenant":"acme"');
    expect(logged()).not.toMatch(/rw-|0123456789|[\da-f]{64}/);
  });

  it('that has no hash keeps the server from starting, and is not shown', async () => {
    const auth = { ...AUTH, keys: [{ ...authKey('ops', '', ['admin']), hash: 'rw-raw-key' }] };
    const failed = expect(world({ config: { auth } })).rejects;
    await failed.toMatchObject({ code: 'invalid_config', message: expect.stringMatching(/"ops"/) });
  });
});

describe('what a key starts', () => {
  it.each([
    [CHAT, 'acme-chat', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/v1/runs', 'acme-runs:control', { prompt: 'hi' }],
  ])("at %s is its tenant's", async (path, name, fields) => {
    const { handle, ask } = await world();
    const acme = handle.view('acme');
    acme.onStart = (run) => run.finish();
    const headers = { 'Content-Type': 'application/json', ...bearer(name) };
    const answer = await ask({ method: 'POST', path, headers, body: JSON.stringify(fields) });
    expect([200, 202]).toContain(answer.status);
    expect([acme.runs.size, handle.runs.size, handle.view('globex').runs.size]).toEqual([1, 0, 0]);
    const [run] = acme.runs.values();
    expect(JSON.stringify(run?.command)).not.toContain(secretOf(name));
  });
});

describe('behind the door', () => {
  const seen: Koa.Middleware = (ctx) => {
    const { authorization, 'x-api-key': key } = requestHeaders(ctx);
    ctx.body = { authorization, key };
  };
  const JSON_TYPE = { 'Content-Type': 'application/json' };

  it.each([
    ['a bearer token', bearer('acme-chat'), {}],
    ['X-Api-Key', { 'X-Api-Key': secretOf('acme-chat') }, {}],
    ['both', { ...bearer('acme-chat'), 'X-Api-Key': secretOf('globex-chat') }, {}],
    [
      'one of them',
      { 'X-Api-Key': secretOf('acme-chat'), Authorization: 'Bearer theirs' },
      { authorization: 'Bearer theirs' },
    ],
    ['the other', { ...bearer('acme-chat'), 'X-Api-Key': 'theirs' }, { key: 'theirs' }],
    [
      'the key twice, once without its scheme',
      { 'X-Api-Key': secretOf('acme-chat'), Authorization: secretOf('acme-chat') },
      {},
    ],
  ])('the key that came as %s is gone, and nothing else', async (_how, headers, left) => {
    const { ask } = await world({ chat: seen });
    const asked = { method: 'POST', path: CHAT, body: '{}' };
    const answer = await ask({ ...asked, headers: { ...JSON_TYPE, ...headers } });
    expect(JSON.parse(answer.text)).toEqual(left);
  });

  it('an open server leaves the headers alone, which its agents may pass on', async () => {
    const { ask } = await world({ chat: seen, open: true });
    const headers = { ...JSON_TYPE, ...bearer('acme-chat') };
    const answer = await ask({ method: 'POST', path: CHAT, headers, body: '{}' });
    expect(JSON.parse(answer.text)).toEqual({
      authorization: bearer('acme-chat')['Authorization'],
    });
  });
});

describe('pages of browsers', () => {
  const origin = 'https://chat.example';
  const config = { allowedOrigins: [origin] };

  it('need no key for a preflight, and can read why they are refused', async () => {
    const { ask } = await world({ config });
    const preflight = await ask({
      method: 'OPTIONS',
      path: '/v1/runs',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-headers']).toMatch(/\bAuthorization\b/);
    const refused = await ask({ path: MODELS, headers: { Origin: origin } });
    expect(refused.status).toBe(401);
    expect(refused.headers['access-control-allow-origin']).toBe(origin);
    expect(refused.headers['access-control-expose-headers']).toContain('WWW-Authenticate');
  });

  it('elsewhere are refused whatever key they have', async () => {
    const { ask } = await world({ config });
    const headers = { ...bearer('acme-admin'), Origin: 'https://evil.example' };
    expect((await ask({ path: MODELS, headers })).status).toBe(403);
  });
});

describe('the requests of a tenant', () => {
  const auth: AuthConfig = { ...AUTH, tenants: { ...AUTH.tenants, requestsPerMinuteMax: 3 } };
  const config = { auth };

  it('are counted over all its keys, and refused with the time to wait', async () => {
    const { ask, clock } = await world({ config });
    const models = (name: string) => ask({ path: MODELS, headers: bearer(name) });
    await models('acme-chat');
    await clock.advance(10_000);
    // What its scopes forbid counts as well.
    expect((await models('acme-runs:read')).status).toBe(403);
    await models('acme-chat');
    const refused = await models('acme-admin');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '51']);
    expect(errorOf(refused)).toEqual({
      message: 'The 3 requests a minute of this tenant are used up; try again in 51 s.',
      type: 'rate_limited',
      code: 'rate_limited',
    });
    await clock.advance(51_000);
    expect((await models('acme-chat')).status).toBe(200);
  });

  it('are not those of another, nor of nobody', async () => {
    const { ask } = await world({ config });
    const models = (headers: Record<string, string>) => ask({ path: MODELS, headers });
    for (const _ of '1234') await models(bearer('acme-chat'));
    expect((await models(bearer('acme-chat'))).status).toBe(429);
    expect((await models(bearer('globex-chat'))).status).toBe(200);
    for (const _ of '1234') expect((await models({})).status).toBe(401);
    for (const _ of '1234') expect((await ask({ path: '/health' })).status).toBe(200);
    expect((await models(bearer('globex-chat'))).status).toBe(200);
  });

  it('that are refused begin nothing', async () => {
    let served = 0;
    const chat: Koa.Middleware = (ctx) => {
      served += 1;
      ctx.body = {};
    };
    const { ask } = await world({ config, chat });
    const headers = { 'Content-Type': 'application/json', ...bearer('acme-chat') };
    for (const _ of '12345') await ask({ method: 'POST', path: CHAT, headers, body: '{}' });
    expect(served).toBe(3);
  });
});
