import { afterEach, describe, expect, it } from 'vitest';
import { DecisionRefusedError, RunStateError } from '../../src/errors.ts';
import type { HttpConfig } from '../../src/http/config.ts';
import { AUTH, type AuthWorld, authWorld, bearer, errorOf, secretOf } from '../support/auth-kit.ts';
import { RawConnection } from '../support/raw-client.ts';

/** `POST /v1/approvals/{id}`: what a decision may bring, and under whose name it is kept. */

const ID = '01890000-0000-7000-8000-00000000000a';

const opened: AuthWorld[] = [];
afterEach(() => Promise.all(opened.splice(0).map((made) => made.close())));

async function world(config: Partial<HttpConfig> = {}): Promise<AuthWorld> {
  const made = await authWorld({ open: true, config });
  opened.push(made);
  for (const handle of [made.handle, ...made.handle.views.values()]) handle.pending.add(ID);
  return made;
}

async function decide(made: AuthWorld, body: unknown, headers: Record<string, string> = {}) {
  const sent = { 'Content-Type': 'application/json', ...headers };
  const path = `/v1/approvals/${ID}`;
  // Bytes: with a text Node would write the headers in the encoding of that.
  return made.ask({ method: 'POST', path, headers: sent, body: Buffer.from(JSON.stringify(body)) });
}

const deep = (levels: number): unknown =>
  JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);

describe('the body of a decision', () => {
  it.each([
    [{ approved: true, grant: 'session' }],
    [{ approved: true, arguments: { path: '/y', deep: [{ a: null }] }, reason: 'Safer.' }],
    [{ approved: true, arguments: {} }],
    [{ approved: true, content: { which: 'first', count: 3 } }],
    [{ approved: false, reason: 'No.' }],
  ])('%j is passed on as it is', async (body) => {
    const made = await world();
    expect((await decide(made, body)).status).toBe(204);
    expect(made.handle.decisions).toEqual([{ decisionId: ID, decision: body }]);
  });

  it('takes null for what is left out', async () => {
    const made = await world();
    const nothing = { reason: null, arguments: null, grant: null, content: null };
    expect((await decide(made, { approved: false, ...nothing })).status).toBe(204);
    expect(made.handle.decisions).toEqual([{ decisionId: ID, decision: { approved: false } }]);
  });

  it.each([
    [{ approved: true, arguments: [] }, 'arguments', 'must be an object, not an array'],
    [{ approved: true, arguments: 'x' }, 'arguments', 'must be an object, not a string'],
    [{ approved: true, arguments: deep(300) }, 'arguments', 'nests deeper than 200 levels'],
    [{ approved: true, content: 1 }, 'content', 'must be an object, not a number'],
    [{ approved: true, content: deep(300) }, 'content', 'nests deeper than 200 levels'],
    [{ approved: true, grant: 'run' }, 'grant', 'must be "session"'],
    [{ approved: true, grant: true }, 'grant', 'must be "session"'],
    [{ approved: false, arguments: {} }, 'arguments', 'goes with an approval'],
    [{ approved: false, grant: 'session' }, 'grant', 'goes with an approval'],
    [{ approved: false, content: {} }, 'content', 'goes with an approval'],
    [{ approved: true, by: 'me' }, 'by', 'Unknown key'],
    [{ approved: true, signed: true }, 'signed', 'Unknown key'],
    [{ approved: true, args: {} }, 'args', 'Unknown key'],
  ])('%j is 400 that names the field', async (body, param, words) => {
    const made = await world();
    const answer = await decide(made, body);
    expect([answer.status, errorOf(answer)['param']]).toEqual([400, param]);
    expect(errorOf(answer)['message']).toContain(words);
    expect(made.handle.decisions).toEqual([]);
  });

  it.each([
    ['edits_not_allowed', 'arguments'],
    ['grants_not_allowed', 'grant'],
    ['content_not_allowed', 'content'],
    ['invalid_content', 'content'],
    ['arguments_forbidden', 'arguments'],
  ])('that is refused with %s is 422 with that code and the field', async (code, field) => {
    const made = await world();
    made.handle.decideError = new DecisionRefusedError(
      code,
      'The approval does not allow it.',
      field,
    );
    const answer = await decide(made, { approved: true });
    expect([answer.status, errorOf(answer)]).toEqual([
      422,
      { message: 'The approval does not allow it.', type: code, code, param: field },
    ]);
  });

  it('is 409 where another process has the run', async () => {
    const made = await world();
    made.handle.decideError = new RunStateError('run_elsewhere', 'Another process has the run.');
    const answer = await decide(made, { approved: true });
    expect([answer.status, errorOf(answer)['code']]).toEqual([409, 'run_elsewhere']);
  });
});

describe('who decides', () => {
  const config = { deciderHeader: 'x-forwarded-user' };
  const byOf = ({ handle }: AuthWorld) => handle.decisions.map(({ decision }) => decision.by);

  it.each([
    ['ops@example.org', 'ops@example.org'],
    ['  Ann  B.  ', 'Ann  B.'],
    [Buffer.from('zoë 山').toString('latin1'), 'zoë 山'],
    ['zo\u00eb', 'zoë'],
    ['x'.repeat(256), 'x'.repeat(256)],
    ['', undefined],
    ['   ', undefined],
  ])('is the trusted header: %j', async (value, by) => {
    const made = await world(config);
    expect((await decide(made, { approved: true }, { 'X-Forwarded-User': value })).status).toBe(
      204,
    );
    expect(byOf(made)).toEqual([by]);
  });

  it.each([
    ['x'.repeat(257), 'longer than 256 bytes'],
    ['a\tb', 'cannot be printed'],
    [Buffer.from('a\u202eb').toString('latin1'), 'cannot be printed'],
    [Buffer.from('a\u2028b').toString('latin1'), 'cannot be printed'],
    ['a\u0085b', 'cannot be printed'],
  ])('cannot be %j', async (value, words) => {
    const made = await world(config);
    const answer = await decide(made, { approved: true }, { 'X-Forwarded-User': value });
    expect([answer.status, errorOf(answer)['param']]).toEqual([400, 'x-forwarded-user']);
    expect(errorOf(answer)['message']).toContain(words);
    expect(made.handle.decisions).toEqual([]);
  });

  it('cannot be two, of which one came with the request before the proxy', async () => {
    const made = await world(config);
    const client = await RawConnection.open(made.port);
    const body = '{"approved":true}';
    client.write(
      [
        `POST /v1/approvals/${ID} HTTP/1.1`,
        'Host: localhost',
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        'X-Forwarded-User: mallory',
        'X-Forwarded-User: ann',
        '',
        body,
      ].join('\r\n'),
    );
    await client.until(({ text }) => text.endsWith('}}'));
    expect(client.headers).toMatch(/^HTTP\/1\.1 400 /);
    expect(made.handle.decisions).toEqual([]);
  });

  it('is nobody where no header is trusted', async () => {
    const made = await world();
    await decide(made, { approved: true }, { 'X-Forwarded-User': 'mallory' });
    expect(made.handle.decisions).toEqual([{ decisionId: ID, decision: { approved: true } }]);
  });

  it('is the key, and before it the header; a key in the header is neither told nor kept', async () => {
    const made = await world({ ...config, auth: AUTH });
    const acme = made.handle.view('acme');
    const key = bearer('acme-admin');
    const ids = [ID, ID.replace('a', 'b'), ID.replace('a', 'c')];
    const named = [
      {},
      { 'X-Forwarded-User': 'ann' },
      { 'X-Forwarded-User': secretOf('acme-admin') },
    ];
    for (const [n, id] of ids.entries()) {
      acme.pending.add(id);
      const headers = { 'Content-Type': 'application/json', ...key, ...named[n] };
      const path = `/v1/approvals/${id}`;
      await made.ask({ method: 'POST', path, headers, body: '{"approved":true}' });
    }
    const names = acme.decisions.map(({ decision }) => decision.by);
    expect(names).toEqual(['key:acme-admin', 'ann', 'key:acme-admin']);
  });
});
