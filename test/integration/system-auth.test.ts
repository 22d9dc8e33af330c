import { describe, expect, it } from 'vitest';
import { ROUTE_SCOPES } from '../../src/http/routes/scopes.ts';
import {
  type Api,
  ask,
  ASKS_FIRST,
  askedOf,
  begin,
  calls,
  control,
  decide,
  ECHO,
  ended,
  envelopes,
  eventsOf,
  gated,
  heard,
  pagesOf,
  post,
  recordOf,
  refusal,
  says,
} from '../support/api-kit.ts';
import { linesOf, type SentMessage } from '../support/api-pairing.ts';
import { as, authToml, bearer, SCOPES } from '../support/api-tenants.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** Hazard: one tenant that learns of another, by any route, id, list, stream, key or limit. */

const start = systemWorlds();
const AUTH = { mcp: ['web'] as const, toml: authToml() + ASKS_FIRST };

/** Every way to name something of another's, with the scope that it needs. */
const FOREIGN: readonly {
  readonly route: keyof typeof ROUTE_SCOPES;
  readonly path: (of: Held) => string;
  readonly body?: object;
}[] = [
  { route: 'GET /v1/runs/:id', path: ({ runId }) => `/v1/runs/${runId}` },
  { route: 'GET /v1/runs/:id/events', path: ({ runId }) => `/v1/runs/${runId}/events` },
  { route: 'GET /v1/runs/:id/events', path: ({ runId }) => `/v1/runs/${runId}/events?claim=true` },
  { route: 'GET /v1/runs/:id/events', path: ({ runId }) => `/v1/runs/${runId}/events?after=999` },
  { route: 'GET /v1/runs/:id/explain', path: ({ runId }) => `/v1/runs/${runId}/explain` },
  { route: 'GET /v1/runs/:id/chart', path: ({ runId }) => `/v1/runs/${runId}/chart` },
  { route: 'POST /v1/runs/:id/cancel', path: ({ runId }) => `/v1/runs/${runId}/cancel` },
  { route: 'POST /v1/runs/:id/cancel', path: ({ runId }) => `/v1/runs/${runId}/cancel?wait=true` },
  { route: 'POST /v1/runs/:id/park', path: ({ runId }) => `/v1/runs/${runId}/park` },
  { route: 'POST /v1/runs/:id/resume', path: ({ runId }) => `/v1/runs/${runId}/resume` },
  { route: 'GET /v1/sessions/:id', path: ({ sessionId }) => `/v1/sessions/${sessionId}` },
  {
    route: 'GET /v1/sessions/:id/events',
    path: ({ sessionId }) => `/v1/sessions/${sessionId}/events`,
  },
  { route: 'GET /v1/approvals/:decision_id', path: ({ id }) => `/v1/approvals/${id}` },
  {
    route: 'POST /v1/approvals/:decision_id',
    path: ({ id }) => `/v1/approvals/${id}`,
    body: { approved: true },
  },
];

interface Held {
  readonly runId: string;
  readonly sessionId: string;
  readonly id: string;
}

/** A run of a tenant that waits for a person, in a session of its own. */
async function asking(world: SystemWorld, api: Api, sessionId: string): Promise<Held> {
  world.answer(calls(ECHO));
  const { run_id: runId } = await begin(api, { session_id: sessionId });
  return { runId, sessionId, id: await askedOf(eventsOf(api, runId)) };
}

async function cancel(api: Api, { runId }: Held): Promise<void> {
  await post(api, `/v1/runs/${runId}/cancel?wait=true`).answered;
  await ended(api, runId);
}

it('the table of foreign ids has every route that takes one', async () => {
  await start(); // What a test leaves is counted from here.
  const named = Object.keys(ROUTE_SCOPES).filter((route) => /:(id|decision_id)/.test(route));
  const tried = new Set<string>([...FOREIGN.map(({ route }) => route), 'GET /v1/models/:id']);
  expect(new Set(named)).toEqual(tried);
});

const methodOf = (route: string): string => route.slice(0, route.indexOf(' '));

describe('what another tenant has', () => {
  it.each(['live', 'parked', 'ended'] as const)(
    'is 404 on every route, and unharmed, while it is %s',
    async (state) => {
      const world = await start(AUTH);
      const [acme, globex] = [as(world, 'acme'), as(world, 'globex')];
      const held = await asking(world, acme, 'secret-session');
      if (state === 'parked') {
        await control(acme, held.runId, 'park').answered;
        await ended(acme, held.runId);
      }
      if (state === 'ended') await cancel(acme, held);
      const before = await recordOf(acme, held.runId);
      for (const { route, path, body } of FOREIGN) {
        const asked = globex.ask(path(held), {
          method: methodOf(route),
          ...(body !== undefined && { body }),
        });
        const answer = await refusal(asked);
        expect([path(held), ...answer]).toEqual([path(held), 404, 'not_found']);
        expect(asked.body).not.toContain('"run_id"');
      }
      const { observers: _o, deadlines: _d, ...after } = await recordOf(acme, held.runId);
      expect(before).toMatchObject(after);
      if (state === 'live') await cancel(acme, held);
    },
  );

  it('answers as one that nobody has', async () => {
    const world = await start(AUTH);
    const [acme, globex] = [as(world, 'acme'), as(world, 'globex')];
    const held = await asking(world, acme, 'secret-session');
    const nobody: Held = {
      runId: '01890000-0000-7000-8000-000000000000',
      sessionId: 'no-session',
      id: '01890000-0000-7000-8000-000000000001',
    };
    for (const { route, path, body } of FOREIGN) {
      const asked = { method: methodOf(route), ...(body !== undefined && { body }) };
      const [foreign, unknown] = [globex.ask(path(held), asked), globex.ask(path(nobody), asked)];
      await Promise.all([foreign.json(), unknown.json()]);
      const neutral = (text: string, of: Held) =>
        text.replaceAll(of.runId, '').replaceAll(of.sessionId, '').replaceAll(of.id, '');
      expect(neutral(foreign.body, held)).toBe(neutral(unknown.body, nobody));
    }
    await cancel(acme, held);
  });

  it('is in no list, by no filter', async () => {
    const world = await start(AUTH);
    const [acme, globex] = [as(world, 'acme'), as(world, 'globex')];
    const held = await asking(world, acme, 's');
    const paths = [
      '/v1/runs',
      '/v1/runs?state=waiting',
      '/v1/runs?session_id=s',
      '/v1/runs?agent=agent',
      '/v1/sessions',
      '/v1/approvals',
      '/v1/approvals?state=pending',
    ];
    for (const path of paths) {
      expect((await acme.ask(path).json())['data']).toHaveLength(1);
      expect(await globex.ask(path).json()).toEqual({ object: 'list', data: [], next: null });
    }
    await cancel(acme, held);
  });

  it('does not shine through the pages of a list', async () => {
    const world = await start(AUTH);
    const [acme, globex] = [as(world, 'acme'), as(world, 'globex')];
    const own: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      for (const api of [acme, globex]) {
        world.answer(says('a'));
        const { run_id: runId } = await begin(api, { session_id: `s${n}` });
        await ended(api, runId);
        if (api === globex) own.unshift(runId);
      }
    }
    for (const list of ['runs', 'sessions']) {
      const pages = await pagesOf<{ run_id?: string; last_run?: string }>(globex, `/v1/${list}`, 1);
      const seen = pages.map(({ run_id: id, last_run: last }) => id ?? last);
      expect(seen).toEqual(own);
    }
  });
});

describe('a session id that two tenants use', () => {
  it('is two sessions, each with its own numbers, conversation, stream and busy runs', async () => {
    const world = await start(AUTH);
    const [acme, globex] = [as(world, 'acme'), as(world, 'globex')];
    const { answer, go } = gated('acme says');
    world.answer(answer, says('globex says'));
    const first = await begin(acme, { prompt: 'of acme' });
    await heard(eventsOf(acme, first.run_id), ({ type }) => type === 'text_delta');
    const other = await begin(globex, { prompt: 'of globex' });
    expect(other).toMatchObject({ seq: 1, session_id: 's' });
    await ended(globex, other.run_id);
    go();
    await ended(acme, first.run_id);
    const stream = globex.ask('/v1/sessions/s/events');
    await heard(stream, ({ type }) => type === 'finished');
    expect(stream.body).not.toContain('acme');
    expect(new Set(envelopes(stream).map(({ session_id: id }) => id))).toEqual(new Set(['s']));
    await stream.leave();
    world.answer(says('b'));
    await ended(globex, (await begin(globex, { prompt: 'Next' })).run_id);
    const { messages } = (await world.upstream.request(2)).body;
    expect(linesOf(messages as readonly SentMessage[])).toEqual([
      'user: of globex',
      'assistant: globex says',
      'user: Next',
    ]);
  });

  it('and an Idempotency-Key that two tenants use is two keys', async () => {
    const world = await start(AUTH);
    world.answer(says('a'), says('b'));
    const ids = [];
    for (const name of ['acme', 'globex']) {
      const { run_id: runId } = await begin(as(world, name), {}, { 'Idempotency-Key': 'k' });
      await ended(as(world, name), runId);
      ids.push(runId);
    }
    expect(new Set(ids).size).toBe(2);
  });
});

describe('a key', () => {
  it('that is missing or wrong is 401, and one without the scope 403 (decision 48)', async () => {
    const world = await start(AUTH);
    const acme = as(world, 'acme');
    const held = await asking(world, acme, 's');
    const own = (route: string): { path: string; body?: object } => {
      const found = FOREIGN.find((each) => each.route === route);
      return found === undefined
        ? { path: route.slice(route.indexOf(' ') + 1).replace(':id', 'agent') }
        : { path: found.path(held), ...(found.body && { body: found.body }) };
    };
    for (const [route, scope] of Object.entries(ROUTE_SCOPES)) {
      if (route === 'GET /health') continue;
      const { path, body } = own(route);
      const method = methodOf(route);
      const asked = { method, ...(body && { body }) };
      for (const headers of [{}, { Authorization: 'Bearer rw-nobody-0123456789abcdef' }]) {
        const answer = await refusal(world.ask(path, { ...asked, headers }));
        expect([route, ...answer]).toEqual([route, 401, 'unauthorized']);
      }
      for (const other of SCOPES.filter((each) => scope !== 'none' && each !== scope)) {
        const answer = await refusal(as(world, `acme-${other}`).ask(path, asked));
        expect([route, other, ...answer.slice(0, 2)]).toEqual([route, other, 403, 'forbidden']);
      }
    }
    const claim = eventsOf(as(world, 'acme-runs:read'), held.runId, '?claim=true');
    expect((await refusal(claim)).slice(0, 2)).toEqual([403, 'forbidden']);
    expect(await recordOf(acme, held.runId)).toMatchObject({ state: 'waiting', claims: [] });
    await cancel(acme, held);
  });

  it('with its scope does its own work from end to end', async () => {
    const world = await start(AUTH);
    world.answer(calls(ECHO), says('Then.'));
    const { run_id: runId } = await begin(as(world, 'acme-runs:control'));
    const reads = as(world, 'acme-runs:read');
    const id = await askedOf(eventsOf(reads, runId));
    const decides = as(world, 'acme-approvals:decide');
    expect(await decide(decides, id, { approved: true }).status()).toBe(204);
    expect(await ended(reads, runId)).toMatchObject({ state: 'finished' });
    world.answer(says('Hi'));
    const chat = world.chat({}, { 'X-Chat-Session-Id': 'c', ...bearer('acme-chat') });
    await chat.all();
    expect(chat.text).toBe('Hi');
    expect(await recordOf(reads, await chat.runId())).toMatchObject({ session_id: 'c' });
    expect((await refusal(reads.ask('/v1/models'))).slice(0, 2)).toEqual([403, 'forbidden']);
  });
});

describe('the limits of a tenant', () => {
  const limited = (limits: string) => ({ mcp: ['web'] as const, toml: authToml(limits) });

  it('on live runs are 429 with Retry-After, and free again when one has ended', async () => {
    const world = await start(limited('live_runs = 2'));
    const [acme, globex] = [as(world, 'acme'), as(world, 'globex')];
    const gates = [gated('a'), gated('b')];
    for (const [at, { answer }] of gates.entries()) {
      world.answer(answer);
      await begin(acme, { session_id: `s${at}` });
      await world.upstream.request(at);
    }
    const over = ask(acme, { session_id: 's2' });
    expect((await refusal(over))[0]).toBe(429);
    expect(Number(await over.header('retry-after'))).toBeGreaterThan(0);
    const chat = world.chat({}, bearer('acme'));
    expect(await chat.status()).toBe(429);
    world.answer(says('other'));
    await ended(globex, (await begin(globex)).run_id);
    const { data } = await acme.ask('/v1/runs').json();
    expect(data).toHaveLength(2);
    for (const { go } of gates) go();
    for (const { run_id: id } of data as { run_id: string }[]) await ended(acme, id);
    world.answer(says('again'));
    await ended(acme, (await begin(acme, { session_id: 's2' })).run_id);
  });

  it('on requests are 429 with Retry-After, and another tenant’s are its own', async () => {
    const world = await start(limited('requests_per_minute = 5'));
    const [acme, globex] = [as(world, 'acme'), as(world, 'globex')];
    const statuses = [];
    for (let n = 0; n < 7; n += 1) statuses.push(await acme.ask('/v1/runs').status());
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(statuses.at(-1)).toBe(429);
    const over = acme.ask('/v1/runs');
    expect(await refusal(over)).toEqual([429, 'rate_limited']);
    expect(Number(await over.header('retry-after'))).toBeGreaterThan(0);
    expect(await globex.ask('/v1/runs').status()).toBe(200);
  });

  it('on stored bytes are 429 with Retry-After, and what is stored can still be read', async () => {
    const world = await start(limited('stored_bytes = 500'));
    const [acme, globex] = [as(world, 'acme'), as(world, 'globex')];
    world.answer(says('word '.repeat(200)), says('other'));
    const { run_id: runId } = await begin(acme);
    await ended(acme, runId);
    const over = ask(acme);
    expect((await refusal(over))[0]).toBe(429);
    expect(Number(await over.header('retry-after'))).toBeGreaterThan(0);
    expect(await eventsOf(acme, runId).status()).toBe(200);
    await ended(globex, (await begin(globex)).run_id);
  });
});
