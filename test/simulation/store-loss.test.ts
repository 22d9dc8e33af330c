import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { Host } from '../support/recovery-host.ts';
import type { RunWorld, SimulatedRun } from '../support/run-world.ts';
import { type AppendFate, trickyStore } from '../unit/journal-kit.ts';

/**
 * The store refuses a group, and with it go entries that told the end of something. When the run's
 * own end can be stored, they are told again: the truth, once, and nothing that only streamed.
 */

const times = (count: number, fate: AppendFate): AppendFate[] =>
  Array.from({ length: count }, () => fate);

async function running(tools: readonly string[] = []) {
  const store = trickyStore();
  const host = new Host(store);
  const world = await host.boot({ tools, graceMs: 0 });
  const run = await world.start();
  return { store, host, world, run };
}

async function executing() {
  const at = await running(['work']);
  at.world.model.turn.say('one ').call('work', {}, 'a').finish('tool_calls');
  await at.world.clock.settle();
  return at;
}

const typesOf = async (run: SimulatedRun): Promise<string[]> =>
  (await run.types()).filter((type) => type !== 'observer_attached' && type !== 'session_info');

/** What the entries that the end names say. */
async function evidenceOf(world: RunWorld, run: SimulatedRun): Promise<string[]> {
  const entries = await world.journal(run.sessionId);
  const end = (await run.events()).at(-1);
  const named = end !== undefined && 'end' in end ? end.end.evidence : [];
  return named.map((seq) => entries[seq - 1]?.payload.event.type ?? 'nothing');
}

describe('a store that refuses the end of a tool call', () => {
  it('gets it later, with the result that the tool gave (INV-37, INV-40, INV-53)', async () => {
    const { store, host, world, run } = await executing();
    store.fates = ['refused'];
    world.tools.last('work').answer('the result');
    await world.clock.advance(2_000);
    expect(await run.event('tool_complete')).toMatchObject({
      tool_id: 'a',
      success: true,
      result: 'the result',
    });
    expect(await run.event('failed')).toMatchObject({ error: { code: 'store_unavailable' } });
    await host.expectSound();
  });

  it('gets it once when only the answer was lost', async () => {
    const { store, host, world, run } = await executing();
    store.fates = ['unanswered'];
    world.tools.last('work').answer('the result');
    await world.clock.advance(2_000);
    const types = await run.types();
    expect(types.filter((type) => type === 'tool_complete')).toHaveLength(1);
    expect(types.at(-1)).toBe('failed');
    await host.expectSound();
  });

  it('gets what came after it too, and no text twice', async () => {
    const { store, host, world, run } = await executing();
    store.fates = times(2, 'refused');
    world.tools.last('work').answer('the result');
    await world.clock.settle();
    await world.clock.advance(5_000);
    expect((await typesOf(run)).filter((type) => type === 'text_delta')).toHaveLength(1);
    expect((await typesOf(run)).slice(-6)).toEqual([
      'tool_complete',
      'stopping',
      'obligation',
      'obligation',
      'usage',
      'failed',
    ]);
    await host.expectSound();
  });
});

describe('a store that refuses to hear why a run ends', () => {
  it('is told again, and the end names the new entries (INV-33)', async () => {
    const { store, host, world, run } = await running();
    world.model.deaf = true;
    world.model.turn.say('one ');
    await world.clock.settle();
    store.fates = ['refused'];
    await run.release();
    await world.clock.advance(10_000);
    const story = ['observer_detached', 'claims_exhausted', 'liveness_decided', 'stopping'];
    expect(await run.event('cancelled')).toMatchObject({ reason: 'unclaimed' });
    expect(await evidenceOf(world, run)).toEqual(story);
    expect((await run.types()).filter((type) => story.includes(type))).toEqual(story);
    await host.expectSound();
  });

  it('keeps what it had, and the end names both old entries and new ones', async () => {
    const { store, host, world, run } = await running();
    expect(world.supervisor.claim(run.runId, 'second')).toBe(true);
    await run.release('second');
    store.fates = ['refused'];
    await run.release();
    await world.clock.advance(10_000);
    expect(await evidenceOf(world, run)).toEqual([
      'observer_detached',
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'stopping',
    ]);
    const { evidence } = (await run.event('cancelled')).end;
    expect(evidence).toEqual([...new Set(evidence)].sort((a, b) => a - b));
    await host.expectSound();
  });
});

describe('a store that refuses the first entries', () => {
  it('has them in the end, and the record says where they are', async () => {
    const { store, host, world } = await running();
    store.fates = ['refused'];
    await expect(world.start()).rejects.toMatchObject({ code: 'store_unavailable' });
    await world.clock.advance(5_000);
    const [run] = await host.store.listRecords({ sessionId: 'session-2', limit: 1 });
    const record = JSON.parse(run?.record ?? '{}') as Record<string, unknown>;
    expect(record).toMatchObject({ state: 'failed', first_seq: 1, started_at: expect.anything() });
    const types = (await host.entries('session-2')).map(({ payload }) => payload.event.type);
    expect([types[0], types.at(-1)]).toEqual(['started', 'failed']);
  });

  it('has them behind those of another run, which was quicker', async () => {
    const { store, host, world, run } = await running();
    store.fates = ['refused'];
    await expect(world.start({ sessionId: run.sessionId })).rejects.toThrow();
    await world.clock.advance(5_000);
    const [second] = await host.store.listRecords({ sessionId: run.sessionId, limit: 1 });
    const { first_seq: at } = JSON.parse(second?.record ?? '{}') as { first_seq: number };
    expect((await host.entries(run.sessionId))[at - 1]).toMatchObject({
      run_id: second?.runId,
      payload: { event: { type: 'started' } },
    });
    await host.expectSound();
  });
});

describe('a store that stays away', () => {
  /** Ends a run while nothing can be stored. */
  async function endUnstored() {
    const at = await executing();
    const { store, world } = at;
    const { append } = store;
    store.append = () => {
      throw new Error('the store is out of order');
    };
    world.tools.last('work').answer('the result');
    await world.clock.advance(20_000);
    return { ...at, comeBack: () => (store.append = append) };
  }

  it('gets the end of the run when it is back, for those who still read', async () => {
    const { world, host, run, comeBack } = await endUnstored();
    const heard: JournalEvent[] = [];
    world.supervisor.journal.follow(
      { sessionId: run.sessionId, runId: run.runId, from: 1 },
      {
        entries: (batch) => heard.push(...batch.map(({ event }) => event)) > 0,
        gap: () => {},
        failed: () => {},
      },
    );
    expect(await run.record()).toMatchObject({ ended_at: null });
    comeBack();
    await world.clock.advance(60_000);
    expect(heard.at(-1)).toMatchObject({ type: 'failed', error: { code: 'store_unavailable' } });
    expect(await run.event('tool_complete')).toMatchObject({ success: false, effect: 'unknown' });
    expect(await run.record()).toMatchObject({ state: 'failed', end: { by: 'supervisor' } });
    expect(world.messages('A lost run has been settled')).toHaveLength(1);
    expect(world.clock.pending).toEqual([]);
    await host.expectSound();
  });

  it('is not asked for ever, but again when the next run is lost', async () => {
    const { world, host, run, comeBack } = await endUnstored();
    await world.clock.advance(3_600_000);
    expect(world.clock.pending).toEqual([]);
    comeBack();
    expect(await run.types()).not.toContain('failed');
    const { store } = host;
    const { append } = store;
    const next = await world.start();
    store.append = () => {
      throw new Error('the store is out of order again');
    };
    world.model.turn.finish();
    await world.clock.advance(20_000);
    store.append = append;
    await world.clock.advance(60_000);
    expect((await run.types()).at(-1)).toBe('failed');
    expect((await next.types()).at(-1)).toBe('failed');
    await host.expectSound();
  });

  it('keeps nobody from shutting down', async () => {
    const { world } = await endUnstored();
    expect(world.clock.pending).toHaveLength(1);
    world.supervisor.shutdown('SIGTERM');
    await world.clock.settle();
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true });
    expect(world.clock.pending).toEqual([]);
  });

  it('costs no lease when a try at storing the end comes too late', async () => {
    const { store, world, run } = await executing();
    const { head } = store;
    const answer = Promise.withResolvers<void>();
    store.fates = ['refused'];
    store.head = (sessionId) => answer.promise.then(() => head(sessionId));
    world.tools.last('work').answer('the result');
    await world.clock.advance(40_000);
    store.head = head;
    answer.resolve();
    await world.clock.advance(60_000);
    const asking = { key: run.sessionId, owner: 'other', now: world.clock.now(), ttlMs: 1 };
    expect(await store.acquire(asking)).toMatchObject({ acquired: true });
    expect((await run.types()).at(-1)).toBe('failed');
    expect(world.clock.pending).toEqual([]);
  });
});
