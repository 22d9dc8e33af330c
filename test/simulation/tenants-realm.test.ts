import { beforeEach, describe, expect, it } from 'vitest';
import type { Page, PageQuery, SupervisorHandle } from '../../src/handle.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { RunWorld } from '../support/run-world.ts';

/**
 * Hazard: whoever has no tenant is a tenant like any other, and not the one that sees all. What is
 * asked for is asked of the tenant's own runs, so that a page is short only when nothing is left.
 */

const NOBODY = '';
const TENANTS = [NOBODY, 'red', 'redder'] as const;
type Tenant = (typeof TENANTS)[number];

/** Who starts a run, and in which of his sessions; those of one tenant lie in a row now and then. */
const STARTS: readonly (readonly [Tenant, string])[] = [
  [NOBODY, 'one'],
  ['red', 'one'],
  ['red', 'two'],
  [NOBODY, 'two'],
  ['redder', 'one'],
  ['red', 'one'],
  ['redder', 'three'],
  [NOBODY, 'one'],
  ['redder', 'one'],
  ['red', 'three'],
  ['red', 'four'],
  ['red', 'five'],
];

const viewOf = (world: RunWorld, tenant: Tenant, storedBytesMax = 0): SupervisorHandle =>
  world.supervisor.forTenant({ tenant, liveRunsMax: 0, storedBytesMax });

async function start(world: RunWorld, view: SupervisorHandle, sessionId: string) {
  const started = view.start({
    agent: 'agent',
    sessionId,
    messages: [{ role: 'user', content: 'Hello' }],
    prompt: 'Hello',
    streaming: true,
    liveness: { policy: 'park', graceMs: 0 },
    onBusy: 'parallel',
    requestHeaders: {},
    claim: { observerId: 'reader' },
  });
  const [{ runId }] = await Promise.all([started, world.clock.settle()]);
  await world.clock.settle();
  return runId;
}

/** Every page up to the end, each by the ids of what is on it. */
async function pagesOf<T>(
  ask: (query: PageQuery) => Promise<Page<T>>,
  limit: number,
  idOf: (item: T) => string,
): Promise<string[][]> {
  const pages: string[][] = [];
  let after: string | undefined;
  do {
    const { data, next } = await ask({ limit, ...(after !== undefined && { after }) });
    pages.push(data.map(idOf));
    after = next ?? undefined;
  } while (after !== undefined && pages.length < 100);
  return pages;
}

/** All pages but the last are full, and together they are `expected`. */
function expectPages(pages: readonly string[][], limit: number, expected: readonly string[]): void {
  expect(pages.flat()).toEqual(expected);
  for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit);
}

interface Own {
  readonly runs: string[];
  /** By when they were used last, the newest first. */
  readonly sessions: string[];
  readonly approvals: string[];
}

/** Runs of all tenants, of which each waits for a person: every other one parked, the rest live. */
async function populated(world: RunWorld): Promise<ReadonlyMap<Tenant, Own>> {
  const owns = new Map<Tenant, Own>(
    TENANTS.map((tenant) => [tenant, { runs: [], sessions: [], approvals: [] }]),
  );
  for (const [at, [tenant, sessionId]] of STARTS.entries()) {
    const view = viewOf(world, tenant);
    const own = owns.get(tenant) as Own;
    const runId = await start(world, view, sessionId);
    world.model.turn.call('danger', { at }, `call-${at}`).finish('tool_calls');
    await world.clock.settle();
    own.approvals.unshift((await view.record(runId))?.approvals[0] ?? 'none');
    if (at % 2 === 0) view.release(runId, 'reader');
    await world.clock.settle();
    own.runs.unshift(runId);
    own.sessions.splice(0, Infinity, sessionId, ...own.sessions.filter((id) => id !== sessionId));
  }
  return owns;
}

describe('each of three tenants, one of them without a name', () => {
  let world: RunWorld;
  let owns: ReadonlyMap<Tenant, Own>;

  beforeEach(async () => {
    world = new RunWorld({ tools: ['danger'], requireApproval: ['danger'] });
    owns = await populated(world);
  });

  for (const tenant of TENANTS) {
    const own = (): Own => owns.get(tenant) as Own;
    const limits = [1, 2, 3, 4, 5, 6, 7, 50];

    it(`pages through its own runs and no others: ${JSON.stringify(tenant)}`, async () => {
      const view = viewOf(world, tenant);
      for (const limit of limits) {
        const idOf = (run: { run_id: string }) => run.run_id;
        expectPages(await pagesOf((q) => view.listRuns(q), limit, idOf), limit, own().runs);
        for (const state of ['parked', 'waiting'] as const) {
          const all = await view.listRuns({ limit: 50, state });
          const pages = await pagesOf((q) => view.listRuns({ ...q, state }), limit, idOf);
          expectPages(pages, limit, all.data.map(idOf));
        }
      }
      const parked = await view.listRuns({ limit: 50, state: 'parked' });
      const waiting = await view.listRuns({ limit: 50, state: 'waiting' });
      expect(parked.data.length).toBeGreaterThan(0);
      expect(parked.data.length + waiting.data.length).toBe(own().runs.length);
    });

    it(`pages through its own sessions and no others: ${JSON.stringify(tenant)}`, async () => {
      const view = viewOf(world, tenant);
      for (const limit of limits) {
        const pages = await pagesOf(
          (q) => view.listSessions(q),
          limit,
          (of) => of.session_id,
        );
        expectPages(pages, limit, own().sessions);
      }
    });

    it(`pages through its own approvals and no others: ${JSON.stringify(tenant)}`, async () => {
      const view = viewOf(world, tenant);
      for (const limit of limits) {
        const idOf = (approval: { decision_id: string }) => approval.decision_id;
        for (const state of [{}, { state: 'pending' }] as const) {
          const ask = (q: PageQuery) => view.listApprovals({ ...q, ...state });
          expectPages(await pagesOf(ask, limit, idOf), limit, own().approvals);
        }
      }
    });

    it(`finds nothing in what it names as another’s: ${JSON.stringify(tenant)}`, async () => {
      const view = viewOf(world, tenant);
      for (const other of TENANTS.filter((name) => name !== tenant && name !== NOBODY)) {
        const sessionId = `${other}\u001fone`;
        expect(await view.listRuns({ limit: 50, sessionId })).toEqual({ data: [], next: null });
        expect(await view.getSession(sessionId)).toBeUndefined();
      }
    });
  }
});

describe('the bytes of a tenant', () => {
  it.each(TENANTS)('are its own, whatever the others store: %j', async (tenant) => {
    const world = new RunWorld();
    for (const other of TENANTS.filter((name) => name !== tenant)) {
      await start(world, viewOf(world, other), 'one');
      world.model.turn.say('x'.repeat(30_000)).finish();
      await world.clock.settle();
    }
    const view = viewOf(world, tenant, 10_000);
    await start(world, view, 'one');
    world.model.turn.say('x'.repeat(11_000)).finish();
    await world.clock.settle();

    await expect(start(world, view, 'two')).rejects.toMatchObject({ code: 'rate_limited' });
    for (const other of TENANTS.filter((name) => name !== tenant)) {
      await start(world, viewOf(world, other, 50_000), 'two');
    }
  });
});

/** Few runs of nobody behind many of a tenant, each in a session of its own. */
async function seed(store: Store, few: number, many: number): Promise<void> {
  for (let at = 0; at < few + many; at += 1) {
    const key = at < few ? `own-${at}` : `red\u001fs-${at}`;
    const runId = `0190-${String(at).padStart(6, '0')}`;
    const record = JSON.stringify({ run_id: runId, session_id: key, state: 'finished' });
    const held = await store.acquire({ key, owner: 'seed', now: 0, ttlMs: 1 });
    if (!held.acquired) throw new Error('invariant: nobody else is there');
    const terminal = { runId, line: '{}', record };
    await store.append([{ lease: held.lease, firstSeq: 1, count: 0, body: '', terminal }]);
    await store.release([held.lease]);
  }
}

describe('a page of one without a tenant', () => {
  it('is full and takes one look, however many runs of a tenant are newer', async () => {
    const store = createMemoryStore();
    await seed(store, 5, 450);
    const world = new RunWorld({ store });
    await world.clock.settle();
    const looked: number[] = [];
    const { listRecords } = store;
    store.listRecords = async (query) => {
      const page = await listRecords.call(store, query);
      looked.push(page.length);
      return page;
    };

    const runs = await world.supervisor.listRuns({ limit: 3 });
    expect(runs.data.map(({ session_id }) => session_id)).toEqual(['own-4', 'own-3', 'own-2']);
    expect(looked).toEqual([5]);
    const sessions = await world.supervisor.listSessions({ limit: 3 });
    expect(sessions.data.map(({ session_id }) => session_id)).toEqual(['own-4', 'own-3', 'own-2']);
    const last = await world.supervisor.listSessions({ limit: 3, after: sessions.next ?? '' });
    expect(last.data.map(({ session_id }) => session_id)).toEqual(['own-1', 'own-0']);
    expect(last.next).toBeNull();
  });
});
