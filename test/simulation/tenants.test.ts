import { describe, expect, it } from 'vitest';
import type { StartRun, SupervisorHandle } from '../../src/handle.ts';
import { RunWorld, type RunWorldOptions } from '../support/run-world.ts';

/** What one tenant has is not there for another one, whatever it asks and however it names it. */

const TOOLS: RunWorldOptions = { tools: ['danger'], requireApproval: ['danger'] };

const viewOf = (world: RunWorld, tenant: string, limits = {}): SupervisorHandle =>
  world.supervisor.forTenant({ tenant, liveRunsMax: 0, storedBytesMax: 0, ...limits });

async function start(world: RunWorld, view: SupervisorHandle, change: Partial<StartRun> = {}) {
  const [{ runId }] = await Promise.all([
    view.start({
      agent: 'agent',
      sessionId: 'one',
      messages: [{ role: 'user', content: 'Hello' }],
      prompt: 'Hello',
      streaming: true,
      liveness: { policy: 'park', graceMs: 0 },
      onBusy: 'reject',
      requestHeaders: {},
      claim: { observerId: 'reader' },
      ...change,
    }),
    world.clock.settle(),
  ]);
  await world.clock.settle();
  return runId;
}

async function two(options: RunWorldOptions = TOOLS) {
  const world = new RunWorld(options);
  const [mine, theirs] = [viewOf(world, 'mine'), viewOf(world, 'theirs')];
  return { world, mine, theirs };
}

/** Settles a promise that needs the world to go on. */
async function answered<T>(world: RunWorld, answer: Promise<T>): Promise<T> {
  const [value] = await Promise.all([answer, world.clock.settle()]);
  return value;
}

/** Everything a view may ask about a run, and gets nothing. */
async function expectUnknown(world: RunWorld, view: SupervisorHandle, runId: string) {
  expect(await view.record(runId)).toBeUndefined();
  expect(await answered(world, view.cancel(runId, {}))).toBeUndefined();
  expect(await answered(world, view.park(runId))).toBeUndefined();
  expect(await answered(world, view.resume(runId, {}))).toBeUndefined();
  expect(await view.explain(runId)).toBeUndefined();
  expect(await view.chart(runId)).toBeUndefined();
  expect(view.claim(runId, 'stranger')).toBe(false);
  view.release(runId, 'reader');
  view.observe(runId, 1);
  view.onLost(runId, () => {
    throw new Error('a stranger hears of it');
  })();
}

describe('two tenants', () => {
  it('have each a session of the same id, with its own runs, order and journal', async () => {
    const { world, mine, theirs } = await two();
    const a = await start(world, mine);
    const b = await start(world, theirs);
    await expect(start(world, mine)).rejects.toMatchObject({ runId: a });
    const waits = await start(world, theirs, { onBusy: 'enqueue' });
    for (const [view, ids] of [
      [mine, [a]],
      [theirs, [waits, b]],
    ] as const) {
      const { data } = await view.listRuns({ limit: 10 });
      expect(data.map(({ run_id, session_id }) => [run_id, session_id])).toEqual(
        ids.map((id) => [id, 'one']),
      );
      expect(await view.getSession('one')).toMatchObject({ session_id: 'one', runs: ids.length });
      const entries = await view.journal.read('one', 1, 1_000);
      expect(new Set(entries.map(({ runId }) => runId))).toEqual(new Set(ids));
      expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, at) => at + 1));
      for (const { json } of entries) {
        expect(JSON.parse(json)).toMatchObject({ session_id: 'one' });
        expect(json).not.toMatch(/mine|theirs|\\u001f/);
      }
    }
    await start(world, mine, { onBusy: 'interrupt' });
    await world.clock.settle();
    expect((await theirs.record(b))?.state).toBe('running');
    expect((await mine.record(a))?.state).toBe('cancelled');
  });

  it('do not know each other’s live runs, and nothing happens to those', async () => {
    const { world, mine, theirs } = await two();
    const runId = await start(world, mine);
    const before = await mine.record(runId);
    await expectUnknown(world, theirs, runId);
    expect(await mine.record(runId)).toEqual(before);
    expect(world.model.turn.signal.aborted).toBe(false);
    expect(await theirs.getSession('one')).toBeUndefined();
    expect(await theirs.journal.head('one')).toBe(0);
    expect(await theirs.listRuns({ limit: 10 })).toEqual({ data: [], next: null });
    expect(await theirs.listRuns({ limit: 10, sessionId: 'one' })).toEqual({
      data: [],
      next: null,
    });
    expect(await theirs.listSessions({ limit: 10 })).toEqual({ data: [], next: null });
  });

  it('do not know each other’s parked runs and approvals, nor decide them', async () => {
    const { world, mine, theirs } = await two();
    const runId = await start(world, mine);
    world.model.turn.call('danger', {}, 'd').finish('tool_calls');
    await world.clock.settle();
    const [id = ''] = (await mine.record(runId))?.approvals ?? [];
    for (const where of ['live', 'parked'] as const) {
      if (where === 'parked') mine.release(runId, 'reader');
      await world.clock.settle();
      expect((await mine.record(runId))?.state).toBe(where === 'live' ? 'waiting' : 'parked');
      expect((await mine.listApprovals({ limit: 10 })).data).toHaveLength(1);
      expect((await theirs.listApprovals({ limit: 10 })).data).toEqual([]);
      expect(await answered(world, theirs.decide(id, { approved: true }))).toBe('unknown');
      await expectUnknown(world, theirs, runId);
    }
    expect(world.tools.executions).toEqual([]);
    expect(await answered(world, mine.decide(id, { approved: true }))).toBe('recorded');
    await world.clock.settle();
    const { continued_by: next } = (await mine.record(runId)) ?? {};
    await expectUnknown(world, theirs, String(next));
    world.tools.last('danger').answer('gone');
    await world.clock.settle();
    world.model.turn.say('done').finish();
    await world.clock.settle();
    expect((await mine.record(String(next)))?.state).toBe('finished');
    // What is remembered of a decision is its tenant's, too.
    expect(await answered(world, theirs.decide(id, { approved: true }))).toBe('unknown');
    expect(await answered(world, mine.decide(id, { approved: true }))).toBe('repeated');
    await expectUnknown(world, theirs, String(next));
  });

  it('hear nothing of each other’s sessions when they follow', async () => {
    const { world, mine, theirs } = await two();
    const heard: string[] = [];
    const sink = {
      entries: (batch: readonly { json: string }[]) => {
        heard.push(...batch.map(({ json }) => json));
        return true;
      },
      gap: () => {},
      failed: () => {},
    };
    const follower = theirs.journal.follow({ sessionId: 'one', from: 1 }, sink);
    await start(world, mine);
    world.model.turn.say('secret').finish();
    await world.clock.settle();
    expect(heard).toEqual([]);
    await start(world, theirs);
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.join('\n')).not.toContain('secret');
    follower.close();
  });

  it('whose names begin alike are still two', async () => {
    const world = new RunWorld();
    const [a, ab] = [viewOf(world, 'a'), viewOf(world, 'ab')];
    const runId = await start(world, ab, { sessionId: 'b' });
    await expectUnknown(world, a, runId);
    expect((await a.listRuns({ limit: 10 })).data).toEqual([]);
    expect((await a.listSessions({ limit: 10 })).data).toEqual([]);
    expect(await a.getSession('bb')).toBeUndefined();
  });
});

describe('limits of a tenant', () => {
  it('count its own live runs, queued and opening ones included, and name the limit', async () => {
    const world = new RunWorld(TOOLS);
    const mine = viewOf(world, 'mine', { liveRunsMax: 2 });
    const theirs = viewOf(world, 'theirs', { liveRunsMax: 2 });
    await start(world, theirs);
    await start(world, mine);
    await start(world, mine, { onBusy: 'enqueue' });
    const refused = start(world, mine, { sessionId: 'two' });
    await expect(refused).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('2'),
      retryAfterMs: expect.any(Number),
    });
    await start(world, theirs, { sessionId: 'two' });
    world.model.turns[1]?.finish();
    await world.clock.settle();
    await world.clock.settle();
    await start(world, mine, { sessionId: 'two' });
    expect((await mine.listRuns({ limit: 10, state: 'running' })).data).toHaveLength(2);
  });

  it('hold when many come at the same time', async () => {
    const world = new RunWorld();
    const mine = viewOf(world, 'mine', { liveRunsMax: 3 });
    const all = await Promise.allSettled(
      Array.from({ length: 10 }, (_, at) => start(world, mine, { sessionId: `s-${at}` })),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect((await mine.listRuns({ limit: 20 })).data).toHaveLength(3);
    for (const turn of world.model.turns) turn.finish();
    await world.clock.settle();
    await world.clock.settle();
    expect(world.clock.pending).toEqual([]);
  });

  it('count parked runs as none, and a resume as one', async () => {
    const world = new RunWorld(TOOLS);
    const mine = viewOf(world, 'mine', { liveRunsMax: 1 });
    const parked = await start(world, mine);
    await answered(world, mine.park(parked));
    world.model.turn.call('danger', {}, 'd').finish('tool_calls');
    await world.clock.settle();
    const other = await start(world, mine, { sessionId: 'two' });
    await expect(answered(world, mine.resume(parked, {}))).rejects.toMatchObject({
      code: 'rate_limited',
    });
    expect(await mine.record(parked)).toMatchObject({ state: 'parked', continued_by: null });
    await answered(world, mine.cancel(other, {}));
    await world.clock.settle();
    expect(await answered(world, mine.resume(parked, {}))).toMatchObject({ continues: parked });
  });

  it('count the bytes it stores, and not those of others', async () => {
    const world = new RunWorld();
    const big = viewOf(world, 'big', { storedBytesMax: 2_000 });
    const small = viewOf(world, 'small', { storedBytesMax: 2_000 });
    await start(world, big, { sessionId: 'two' });
    world.model.turn.say('x'.repeat(3_000)).finish();
    await world.clock.settle();
    await expect(start(world, big)).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('2000'),
    });
    await start(world, small);
    world.model.turn.finish();
    await world.clock.settle();
    expect((await small.listRuns({ limit: 10 })).data).toHaveLength(1);
  });
});

describe('a tenant’s approval of a parked run', () => {
  it('brings its run back as that tenant’s', async () => {
    const { world, mine } = await two();
    const runId = await start(world, mine);
    world.model.turn.call('danger', {}, 'd').finish('tool_calls');
    await world.clock.settle();
    const [id = ''] = (await mine.record(runId))?.approvals ?? [];
    mine.release(runId, 'reader');
    await world.clock.settle();
    await answered(world, mine.decide(id, { approved: false }));
    await world.clock.settle();
    expect((await mine.listRuns({ limit: 10 })).data.map(({ session_id }) => session_id)).toEqual([
      'one',
      'one',
    ]);
    expect(await world.supervisor.record(runId)).toBeUndefined();
  });
});

describe('a session id with control characters', () => {
  it.each(['red\u001fone', '\u0000', 'a\nb'])(
    'is refused for %j, with its field named',
    async (sessionId) => {
      const world = new RunWorld();
      await expect(world.start({ sessionId })).rejects.toThrow(
        /"sessionId" holds control characters/,
      );
    },
  );
});
