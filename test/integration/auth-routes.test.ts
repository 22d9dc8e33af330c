import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuthScope } from '../../src/auth.ts';
import { ROUTE_SCOPES } from '../../src/http/routes/scopes.ts';
import { type AuthWorld, authWorld, bearer, errorOf } from '../support/auth-kit.ts';
import { startCommand } from '../support/fake-handle.ts';

/**
 * Hazard: a route that nobody thought of when the keys were made. Each one is asked over a socket
 * without a key, with wrong ones and with right ones; a route that is missing here fails the suite.
 */

const ID = '01890000-0000-7000-8000-00000000000a';

type Need = Exclude<AuthScope, 'admin'> | 'any key' | 'nothing';

const TABLE: readonly (readonly [route: keyof typeof ROUTE_SCOPES, target: string, Need])[] = [
  ['GET /health', '/health', 'nothing'],
  ['GET /aura/info', '/aura/info', 'any key'],
  ['GET /v1/models', '/v1/models', 'chat'],
  ['GET /v1/models/:id', '/v1/models/demo', 'chat'],
  ['POST /v1/chat/completions', '/v1/chat/completions', 'chat'],
  ['POST /v1/runs', '/v1/runs', 'runs:control'],
  ['GET /v1/runs', '/v1/runs', 'runs:read'],
  ['GET /v1/runs/:id', `/v1/runs/${ID}`, 'runs:read'],
  ['GET /v1/runs/:id/events', `/v1/runs/${ID}/events`, 'runs:read'],
  ['GET /v1/runs/:id/events', `/v1/runs/${ID}/events?claim=false`, 'runs:read'],
  ['GET /v1/runs/:id/explain', `/v1/runs/${ID}/explain`, 'runs:read'],
  ['GET /v1/runs/:id/chart', `/v1/runs/${ID}/chart`, 'runs:read'],
  ['POST /v1/runs/:id/cancel', `/v1/runs/${ID}/cancel`, 'runs:control'],
  ['POST /v1/runs/:id/park', `/v1/runs/${ID}/park`, 'runs:control'],
  ['POST /v1/runs/:id/resume', `/v1/runs/${ID}/resume`, 'runs:control'],
  ['GET /v1/sessions', '/v1/sessions', 'runs:read'],
  ['GET /v1/sessions/:id', '/v1/sessions/cs_1', 'runs:read'],
  ['GET /v1/sessions/:id/events', '/v1/sessions/cs_1/events', 'runs:read'],
  ['GET /v1/approvals', '/v1/approvals', 'runs:read'],
  ['GET /v1/approvals/events', '/v1/approvals/events?state=x', 'runs:read'],
  ['GET /v1/approvals/:decision_id', `/v1/approvals/${ID}`, 'runs:read'],
  ['POST /v1/approvals/:decision_id', `/v1/approvals/${ID}`, 'approvals:decide'],
];

const SCOPES: readonly Exclude<AuthScope, 'admin'>[] = [
  'chat',
  'runs:read',
  'runs:control',
  'approvals:decide',
];

const chat = (ctx: { body: unknown }) => {
  ctx.body = { answered: true };
};

let world: AuthWorld;
let open: AuthWorld;

beforeAll(async () => {
  [world, open] = await Promise.all([authWorld({ chat }), authWorld({ chat, open: true })]);
});

afterAll(() => Promise.all([world.close(), open.close()]));

/** Sends the table's request; the status and, of a refusal, the code. */
async function sent(
  { ask }: AuthWorld,
  [route, path]: (typeof TABLE)[number],
  headers: Record<string, string> = {},
) {
  const method = route.slice(0, route.indexOf(' '));
  const { status, text } = await ask({ method, path, headers });
  const code = status >= 400 ? errorOf({ status, text, headers: {} })['code'] : undefined;
  return { status, code, text };
}

it('has every route there is', () => {
  expect(new Set(TABLE.map(([route]) => route))).toEqual(new Set(Object.keys(ROUTE_SCOPES)));
});

describe.each(TABLE.map((row) => [`${row[0].split(' ')[0]} ${row[1]}`, row] as const))(
  '%s',
  (_name, row) => {
    const need = row[2];

    it(
      need === 'nothing' ? 'needs no key' : 'is 401 without a key and with a wrong one',
      async () => {
        const none = await sent(world, row);
        if (need === 'nothing') return expect(none).toEqual(await sent(open, row));
        const wrong = await sent(world, row, { Authorization: 'Bearer rw-nobody-0123456789' });
        expect([none.status, none.code]).toEqual([401, 'unauthorized']);
        expect(wrong).toEqual(none);
      },
    );

    it(`is served for ${need === 'nothing' || need === 'any key' ? 'any key' : need}`, async () => {
      const served = await sent(open, row);
      expect([401, 403, 500]).not.toContain(served.status);
      const right = need === 'nothing' || need === 'any key' ? SCOPES : [need];
      for (const scope of [...right, 'admin']) {
        const answer = await sent(world, row, bearer(`acme-${scope}`));
        expect([scope, answer.status]).toEqual([scope, served.status]);
      }
    });

    it.runIf(need !== 'nothing' && need !== 'any key')('is 403 for other scopes', async () => {
      for (const scope of SCOPES.filter((other) => other !== need)) {
        const { status, code, text } = await sent(world, row, bearer(`acme-${scope}`));
        expect([scope, status, code]).toEqual([scope, 403, 'forbidden']);
        expect(text).toContain(`\\"${need}\\"`);
      }
    });
  },
);

describe.each(['claim=true', 'after=1&cl%61im=true'])('reading a run under ?%s', (query) => {
  const row = ['GET /v1/runs/:id/events', `/v1/runs/${ID}/events?${query}`, 'runs:read'] as const;

  it('needs both to read it and to hold it', async () => {
    const served = await sent(open, row);
    expect((await sent(world, row, bearer('acme-reader-controller'))).status).toBe(served.status);
    for (const scope of SCOPES) {
      const { status } = await sent(world, row, bearer(`acme-${scope}`));
      expect([scope, status]).toEqual([scope, 403]);
    }
  });
});

describe('HEAD', () => {
  it('needs what GET needs', async () => {
    const head = (name: string) =>
      world.ask({ method: 'HEAD', path: '/v1/models', headers: bearer(name) });
    expect((await head('acme-chat')).status).toBe(200);
    expect((await head('acme-runs:read')).status).toBe(403);
  });
});

describe('a path that is not served', () => {
  it.each([
    ['GET', '/nothing', 404],
    ['GET', '/v1/runs/', 404],
    ['GET', '/V1/RUNS', 404],
    ['GET', '/v1/%72uns', 404],
    ['DELETE', `/v1/runs/${ID}`, 405],
    ['POST', '/health', 405],
    ['OPTIONS', '/v1/runs', 405],
  ])('%s %s is 401 without a key, and %i with any', async (method, path, status) => {
    expect((await world.ask({ method, path })).status).toBe(401);
    const headers = bearer('acme-chat');
    expect((await world.ask({ method, path, headers })).status).toBe(status);
  });
});

describe('what another tenant has', () => {
  it.each([
    ['GET', ''],
    ['GET', '/events'],
    ['GET', '/events?claim=true'],
    ['GET', '/explain'],
    ['GET', '/chart'],
    ['POST', '/cancel'],
    ['POST', '/park'],
    ['POST', '/resume'],
  ])('is not found by %s /v1/runs/{id}%s, nor what has no tenant', async (method, rest) => {
    const theirs = await world.handle.view('acme').start(startCommand());
    const nobodys = await world.handle.start({ ...startCommand(), sessionId: 'cs_open' });
    expect(world.handle.view('acme').runs.has(theirs.runId)).toBe(true);
    for (const { runId } of [theirs, nobodys]) {
      const path = `/v1/runs/${runId}${rest}`;
      const answer = await world.ask({ method, path, headers: bearer('globex-admin') });
      expect([answer.status, errorOf(answer)['code']]).toEqual([404, 'not_found']);
    }
  });

  it.each([
    '/v1/runs',
    '/v1/runs?session_id=cs_1',
    '/v1/sessions',
    '/v1/approvals',
    '/v1/approvals?state=pending',
  ])('is not in the list %s', async (path) => {
    await world.handle.view('acme').start(startCommand());
    await world.handle.start(startCommand());
    const { status, text } = await world.ask({ path, headers: bearer('globex-admin') });
    expect([status, JSON.parse(text).data]).toEqual([200, []]);
  });

  it.each(['', '/events'])('is not found by GET /v1/sessions/{id}%s', async (rest) => {
    const sessionId = 'cs_theirs';
    await world.handle.view('acme').start(startCommand({ sessionId }));
    await world.handle.start(startCommand({ sessionId }));
    const path = `/v1/sessions/${sessionId}${rest}`;
    const answer = await world.ask({ path, headers: bearer('globex-admin') });
    expect([answer.status, errorOf(answer)['code']]).toEqual([404, 'not_found']);
  });

  it('is found by those whose it is', async () => {
    const { runId } = await world.handle.view('acme').start(startCommand());
    const path = `/v1/runs/${runId}`;
    const answer = await world.ask({ path, headers: bearer('acme-runs:read') });
    expect([answer.status, JSON.parse(answer.text).run_id]).toEqual([200, runId]);
    const list = await world.ask({ path: '/v1/runs', headers: bearer('acme-runs:read') });
    expect(list.text).toContain(runId);
  });

  it('cannot be decided', async () => {
    world.handle.view('acme').pending.add(ID);
    const decide = (name: string) =>
      world.ask({
        method: 'POST',
        path: `/v1/approvals/${ID}`,
        headers: { 'Content-Type': 'application/json', ...bearer(name) },
        body: '{"approved":true}',
      });
    expect((await decide('globex-admin')).status).toBe(404);
    expect((await decide('acme-approvals:decide')).status).toBe(204);
  });
});
