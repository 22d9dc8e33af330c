import { Router } from '@koa/router';
import type Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { setCaller } from '../../src/http/caller.ts';
import { createChatRoutes } from '../../src/http/chat/routes.ts';
import { createRoutes } from '../../src/http/routes/router.ts';
import { randomIds } from '../../src/ids.ts';
import { AGENT } from '../support/fake-handle.ts';
import type { FakeTenantHandle } from '../support/fake-tenant.ts';
import { HTTP_CONFIG } from '../support/http-world.ts';
import { json, runsWorlds, seqs } from '../support/runs-world.ts';

/**
 * Every route looks ids up as the caller's tenant may see them: a foreign one is 404 on every verb.
 * Routes are served here under a prefix for each of two tenants, so that no key is needed.
 */

const worlds = runsWorlds();
const ID = '01890000-0000-7000-8000-00000000000a';

async function world() {
  const tenants = new Router();
  const made = await worlds({ more: [tenants], chat: () => {} });
  const { handle, clock, log, pool } = made;
  const deps = { handle, clock, log, pool, ids: randomIds, config: HTTP_CONFIG };
  const routes = createRoutes({ ...deps, chat: createChatRoutes(deps) }).middleware();
  const views = ['a', 'b'].map((tenant) =>
    handle.forTenant({ tenant, liveRunsMax: 0, storedBytesMax: 0 }),
  );
  for (const [index, tenant] of ['a', 'b'].entries()) {
    const caller = { handle: views[index] ?? handle, tenant, keyName: 'k' };
    const as: Koa.Middleware = async (ctx, next) => {
      setCaller(ctx, caller);
      ctx.path = ctx.path.slice(2);
      await routes(ctx as never, next);
    };
    tenants.all(`/${tenant}/{*rest}`, as as never);
  }
  return { ...made, views };
}

describe('a run, a session or an approval of another tenant', () => {
  it.each([
    ['GET', '/v1/runs/{run}'],
    ['GET', '/v1/runs/{run}/events'],
    ['GET', '/v1/runs/{run}/events?claim=true'],
    ['GET', '/v1/runs/{run}/explain'],
    ['GET', '/v1/runs/{run}/chart'],
    ['GET', '/v1/runs/{run}/chart?at=1'],
    ['POST', '/v1/runs/{run}/cancel'],
    ['POST', '/v1/runs/{run}/cancel?wait=true'],
    ['POST', '/v1/runs/{run}/park'],
    ['POST', '/v1/runs/{run}/resume'],
    ['GET', '/v1/sessions/cs_1'],
    ['GET', '/v1/sessions/cs_1/events'],
    ['POST', `/v1/approvals/${ID}`],
  ])('is 404 for %s %s, and nothing is done to it', async (method, path) => {
    const made = await world();
    const run = await made.run({ tenant: 'a' });
    made.handle.pending.add(ID);
    made.handle.approvals = [{ decision_id: ID, run_id: run.runId } as never];
    const at = `/b${path.replace('{run}', run.runId)}`;
    const answer = await (method === 'GET' ? made.get(at) : made.post(at, decisionFor(path)));
    expect(answer.status).toBe(404);
    expect([run.live, run.state, run.claims.size, run.observers]).toEqual([true, 'running', 0, 0]);
    expect(made.handle.decisions).toEqual([]);
    const own = `/a${path.replace('{run}', run.runId)}`;
    if (method === 'GET' && !path.includes('/events')) {
      expect((await made.get(own)).status).toBe(200);
    }
  });

  const decisionFor = (path: string): object =>
    path.includes('approvals') ? { approved: true } : {};

  it.each(['/v1/runs', '/v1/sessions', '/v1/approvals'])('is in no list of %s', async (path) => {
    const made = await world();
    const run = await made.run({ tenant: 'a' });
    made.handle.approvals = [{ decision_id: ID, run_id: run.runId } as never];
    const rows = async (tenant: string) => json(await made.get(`/${tenant}${path}`))['data'];
    expect(await rows('a')).toHaveLength(1);
    expect(await rows('b')).toEqual([]);
  });

  it('has a session of its own under the same id, with its own numbers', async () => {
    const made = await world();
    const mine = await made.run({ tenant: 'a' });
    const theirs = await made.run({ tenant: 'b' });
    mine.text('mine');
    theirs.text('theirs');
    mine.finish();
    const { text } = await made.get(`/a/v1/runs/${mine.runId}/events`);
    expect(seqs(text)).toEqual([1, 2, 3]);
    expect(text).not.toContain('theirs');
    expect(json(await made.get('/a/v1/sessions/cs_1'))).toMatchObject({ last_seq: 3, runs: 1 });
  });

  it('starts its runs and its chats for itself', async () => {
    const made = await world();
    made.handle.onStart = (run) => run.finish();
    await made.post('/b/v1/runs', { prompt: 'hi' });
    const chat = { messages: [{ role: 'user', content: 'hi' }] };
    await made.post('/a/v1/chat/completions', chat);
    const tenants = [...made.handle.runs.values()].map(({ command }) => command.tenant);
    expect(tenants).toEqual(['b', 'a']);
  });

  it('sees its own agents, and their tools through its own view', async () => {
    const made = await world();
    const view = made.views[0] as FakeTenantHandle | undefined;
    if (view === undefined) throw new Error('invariant: the first tenant has a view');
    view.ownAgents = [{ ...AGENT, id: 'own' }];
    const models = json(await made.get('/a/v1/models'))['data'];
    expect(models).toMatchObject([{ id: 'own' }]);
    expect((await made.get('/a/v1/models/own')).status).toBe(200);
    expect((await made.get('/b/v1/models/own')).status).toBe(404);
    const info = json(await made.get('/a/aura/info?detail=tools'));
    expect([info['agents'], view.toolsAsked]).toMatchObject([[{ id: 'own' }], 1]);
  });
});
