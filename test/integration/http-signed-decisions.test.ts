import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpConfig, SigningConfig } from '../../src/http/config.ts';
import { decisionContext, signedHeaders } from '../../src/hitl/webhook/signing.ts';
import { type AuthWorld, authWorld, bearer, errorOf } from '../support/auth-kit.ts';
import type { FakeHandle } from '../support/fake-handle.ts';
import { RawConnection } from '../support/raw-client.ts';

/**
 * Hazard: a decision that nobody entitled has made. With a secret every decision is signed, or comes
 * with a key that may decide; what is wrong with a signature is told to nobody.
 */

const ID = '01890000-0000-7000-8000-00000000000a';
const NOW = 1_700_000_000_000;
const PRIMARY = 'p'.repeat(32);
const SECONDARY = 's'.repeat(32);
const SIGNING: SigningConfig = { secret: PRIMARY, secondary: SECONDARY, toleranceMs: 300_000 };
const UNIFORM = {
  message: 'invalid or missing webhook signature',
  type: 'unauthorized',
  code: 'unauthorized',
};

const opened: AuthWorld[] = [];
afterEach(() => Promise.all(opened.splice(0).map((made) => made.close())));

async function world(config: Partial<HttpConfig> = {}, open = true): Promise<AuthWorld> {
  const made = await authWorld({ open, config: { webhookSigning: SIGNING, ...config } });
  opened.push(made);
  for (const handle of [made.handle, ...made.handle.views.values()]) handle.pending.add(ID);
  return made;
}

interface Sent {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly segment?: string;
}

const YES = '{"approved":true}';

interface Signature {
  readonly secret?: string;
  readonly nowMs?: number;
  readonly segment?: string;
  readonly body?: string | Buffer;
}

const signature = (change: Signature = {}): Record<string, string> => {
  const { secret = PRIMARY, nowMs = NOW, segment = ID, body = YES } = change;
  return { ...signedHeaders({ secret, nowMs, context: decisionContext(segment), body }) };
};

const JSON_TYPE = { 'Content-Type': 'application/json' };

async function sent(made: AuthWorld, { body = YES, headers = {}, segment = ID }: Sent) {
  const asked = { method: 'POST', path: `/v1/approvals/${segment}`, body };
  const answer = await made.ask({ ...asked, headers: { ...JSON_TYPE, ...headers } });
  return { status: answer.status, error: answer.text === '' ? undefined : errorOf(answer) };
}

const commandsOf = ({ decisions }: FakeHandle) => decisions.map(({ decision }) => decision);

describe('a decision, with a secret and without keys', () => {
  it.each([
    ['primary', PRIMARY],
    ['secondary', SECONDARY],
  ])('is taken when the %s key has signed it, and on record under that', async (key, secret) => {
    const made = await world();
    expect(await sent(made, { headers: signature({ secret }) })).toEqual({ status: 204 });
    expect(made.handle.decisions).toEqual([
      { decisionId: ID, decision: { approved: true, by: `signature:${key}`, signed: true } },
    ]);
  });

  it('is taken within the tolerance, either way, and signed for its path as it was sent', async () => {
    const made = await world();
    const upper = ID.toUpperCase();
    for (const nowMs of [NOW - 300_000, NOW + 300_000]) {
      const headers = signature({ nowMs, segment: upper });
      expect((await sent(made, { headers, segment: upper })).status).toBe(204);
    }
  });

  const good = signature();
  it.each<[string, Sent]>([
    ['no signature', {}],
    ['no timestamp', { headers: { 'X-Aura-Signature-256': good['x-aura-signature-256'] ?? '' } }],
    ['a timestamp alone', { headers: { 'X-Aura-Timestamp': good['x-aura-timestamp'] ?? '' } }],
    ['another secret', { headers: signature({ secret: 'x'.repeat(32) }) }],
    ['another body', { headers: good, body: '{"approved":false}' }],
    ['a body with a space more', { headers: good, body: '{"approved": true}' }],
    ['no body', { headers: good, body: '' }],
    ['another approval', { headers: signature({ segment: ID.replace('a', 'b') }) }],
    ['the id in another spelling', { headers: good, segment: ID.toUpperCase() }],
    ['the id decoded', { headers: good, segment: `%30${ID.slice(1)}` }],
    ['a segment with a dot', { headers: good, segment: `${ID}.` }],
    ['a signature that is too old', { headers: signature({ nowMs: NOW - 301_000 }) }],
    ['one of the future', { headers: signature({ nowMs: NOW + 301_000 }) }],
    [
      'upper-case digits',
      {
        headers: {
          ...good,
          'x-aura-signature-256': (good['x-aura-signature-256'] ?? '').toUpperCase(),
        },
      },
    ],
    [
      'a timestamp with a zero in front',
      {
        headers: { ...good, 'x-aura-timestamp': `0${good['x-aura-timestamp']}` },
      },
    ],
    [
      'a wrong type of body',
      { headers: { ...signature({ secret: 'x' }), 'Content-Type': 'text/plain' } },
    ],
    ['no JSON', { body: '{', headers: signature({ secret: 'x', body: '{' }) }],
    ['no UUID', { segment: '17', headers: good }],
    [
      'a body that is too long',
      {
        body: `{"approved":true,"reason":"${'x'.repeat(3_000)}"}`,
        headers: signature({ body: `{"approved":true,"reason":"${'x'.repeat(3_000)}"}` }),
      },
    ],
    ['a key of ours', { headers: bearer('acme-admin') }],
  ])('is the same 401 for %s', async (_what, request) => {
    const made = await world({ bodyBytesMax: 2_000 });
    expect(await sent(made, request)).toEqual({ status: 401, error: UNIFORM });
    expect(made.handle.decisions).toEqual([]);
    expect(made.logged()).not.toContain(PRIMARY);
  });

  it('is that 401 for a body that never ends, and takes no more of it', async () => {
    const made = await world({ bodyBytesMax: 2_000 });
    const client = await RawConnection.open(made.port);
    const head = Object.entries({ ...JSON_TYPE, ...good, 'Transfer-Encoding': 'chunked' });
    const lines = head.map(([name, value]) => `${name}: ${value}`);
    client.write(
      [`POST /v1/approvals/${ID} HTTP/1.1`, 'Host: localhost', ...lines, '', ''].join('\r\n'),
    );
    for (let n = 0; n < 4; n++) client.write(`400\r\n${'x'.repeat(1_024)}\r\n`);
    await client.until(({ text }) => text.endsWith('}'));
    expect(client.headers).toMatch(/^HTTP\/1\.1 401 /);
    expect(JSON.parse(client.body).error).toEqual(UNIFORM);
    client.socket.destroy();
  });

  it('says what is wrong with the body once the signature is right', async () => {
    const made = await world();
    const cases: [Sent, number, string | undefined][] = [
      [{ body: '{' }, 400, undefined],
      [{ body: '[]' }, 400, undefined],
      [{ body: '{"approved":1}' }, 400, 'approved'],
      [{ body: '{"approved":true,"x":1}' }, 400, 'x'],
      [{ body: '{"approved":true,"arguments":{"__proto__":{}}}' }, 400, undefined],
      [{ body: YES, headers: { 'Content-Type': 'text/plain' } }, 415, undefined],
      [{ body: YES, segment: '17' }, 400, 'decision_id'],
      [{ body: `${'['.repeat(50_000)}${']'.repeat(50_000)}` }, 400, undefined],
    ];
    for (const [request, status, param] of cases) {
      const { body = YES, segment = ID } = request;
      const headers = { ...signature({ body, segment }), ...request.headers };
      const answer = await sent(made, { ...request, headers });
      expect([body, answer.status, answer.error?.['param']]).toEqual([body, status, param]);
    }
    expect(made.handle.decisions).toEqual([]);
  });

  it('is verified as it was sent, and refused when it has to be unpacked', async () => {
    const made = await world();
    const body = gzipSync(YES);
    const headers = { ...JSON_TYPE, 'Content-Encoding': 'gzip', ...signature({ body }) };
    const asked = { method: 'POST', path: `/v1/approvals/${ID}`, headers, body };
    expect((await made.ask(asked)).status).toBe(415);
  });

  it('waits for "100 Continue" like any other', async () => {
    const made = await world();
    const client = await RawConnection.open(made.port);
    const head = { ...JSON_TYPE, ...good, 'Content-Length': String(YES.length) };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
    const top = [`POST /v1/approvals/${ID} HTTP/1.1`, 'Host: localhost', 'Expect: 100-continue'];
    client.write([...top, ...lines, '', ''].join('\r\n'));
    await client.until(({ text }) => text.includes('100 Continue'));
    client.write(YES);
    await client.until(({ text }) => text.includes('204 No Content'));
  });

  it('is served while the server is gated, by the same rules', async () => {
    const made = await world();
    made.handle.phase = 'gated';
    expect((await sent(made, {})).status).toBe(401);
    expect((await sent(made, { headers: good })).status).toBe(204);
  });

  it('leaves every other route as it is', async () => {
    const made = await world();
    for (const path of ['/health', '/v1/runs', '/v1/approvals', `/v1/approvals/${ID}`]) {
      expect([path, (await made.ask({ path })).status]).not.toContain(401);
    }
    const cancel = { method: 'POST', path: '/v1/runs/x/cancel', headers: good };
    expect((await made.ask(cancel)).status).toBe(404);
  });
});

describe('a decision, with a secret and with keys', () => {
  const decide = bearer('acme-approvals:decide');

  it('needs no signature from a key that may decide', async () => {
    const made = await world({}, false);
    expect((await sent(made, { headers: decide })).status).toBe(204);
    expect(commandsOf(made.handle.view('acme'))).toEqual([
      { approved: true, by: 'key:acme-approvals:decide' },
    ]);
    expect(made.handle.decisions).toEqual([]);
  });

  it('is signed, too, where a key that may decide comes with a signature', async () => {
    const made = await world({}, false);
    expect((await sent(made, { headers: { ...decide, ...signature() } })).status).toBe(204);
    expect(commandsOf(made.handle.view('acme'))).toEqual([
      { approved: true, by: 'key:acme-approvals:decide', signed: true },
    ]);
  });

  it.each([
    ['without a key', {}],
    ['beside a key that nobody has', { Authorization: 'Bearer somebody-elses' }],
    ['beside a key that may not decide', bearer('acme-runs:read')],
  ])('needs no key when it is signed: %s', async (_what, headers) => {
    const made = await world({}, false);
    expect((await sent(made, { headers: { ...headers, ...signature() } })).status).toBe(204);
    expect(commandsOf(made.handle)).toEqual([
      { approved: true, by: 'signature:primary', signed: true },
    ]);
    expect(made.handle.view('acme').decisions).toEqual([]);
  });

  it.each([
    ['neither', {}, 401],
    ['a wrong key', { Authorization: 'Bearer somebody-elses' }, 401],
    ['a key that may not decide', bearer('acme-runs:read'), 403],
    ['a wrong signature', signature({ secret: 'x' }), 401],
    ['a wrong signature beside a right key', { ...decide, ...signature({ secret: 'x' }) }, 401],
    ['half a signature beside a right key', { ...decide, 'X-Aura-Timestamp': '1700000000' }, 401],
  ])('is refused with %s', async (_what, headers, status) => {
    const made = await world({}, false);
    expect((await sent(made, { headers })).status).toBe(status);
    const all = [made.handle, ...made.handle.views.values()];
    expect(all.flatMap(({ decisions }) => decisions)).toEqual([]);
  });

  it('opens no other route by a signature', async () => {
    const made = await world({}, false);
    for (const [method, path] of [
      ['GET', '/v1/approvals'],
      ['GET', `/v1/approvals/${ID}`],
      ['GET', '/v1/approvals/events'],
      ['POST', `/v1/runs/${ID}/cancel`],
      ['PUT', `/v1/approvals/${ID}`],
      ['POST', `/v1/approvals/${ID}/`],
    ] as const) {
      const { status } = await made.ask({ method, path, headers: signature() });
      expect([path, status]).toEqual([path, 401]);
    }
  });
});

describe('a decision, without a secret', () => {
  it('passes over what looks like a signature', async () => {
    const made = await authWorld({ open: true });
    opened.push(made);
    made.handle.pending.add(ID);
    expect((await sent(made, { headers: signature({ secret: 'x' }) })).status).toBe(204);
    expect(commandsOf(made.handle)).toEqual([{ approved: true }]);
  });
});
