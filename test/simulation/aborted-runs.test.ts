import { describe, expect, it } from 'vitest';
import type { ToolLease } from '../../src/tool.ts';
import type { JournalEvent } from '../../src/journal/events.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { RunWorld, type SimulatedRun } from '../support/run-world.ts';

/** Runs that lose their chart at a second signal: each still tells what it left open, and why. */

function abort(world: RunWorld): Promise<void> {
  world.supervisor.shutdown('SIGTERM');
  world.supervisor.shutdown('SIGTERM');
  return world.clock.settle();
}

/** The run's end, and the entries behind what it was told before. */
async function story(run: SimulatedRun, from: JournalEvent['type']) {
  const events = await run.events();
  return events.slice(events.findIndex(({ type }) => type === from));
}

const told = (events: readonly JournalEvent[]) =>
  events.flatMap((event) =>
    event.type === 'obligation' ? [`${event.what} ${event.id} ${event.state}`] : [],
  );

/** What the entries that the end names say. */
async function evidence(world: RunWorld, run: SimulatedRun) {
  const { end } = await run.event('cancelled');
  const entries = await world.journal(run.sessionId);
  return end.evidence.map((seq) => entries[seq - 1]?.payload.event.type);
}

describe('the abort of a run', () => {
  it('tells of a model request that was open', async () => {
    const world = new RunWorld();
    const run = await world.start();
    world.model.turn.say('half');
    await world.clock.settle();
    await abort(world);
    const events = await story(run, 'stopping');
    expect(events[0]).toEqual({ type: 'stopping', cause: 'shutdown', obligations: 1 });
    expect(told(events)).toEqual(['model turn-1 asked', 'model turn-1 abandoned']);
    expect(events.at(-1)).toMatchObject({ type: 'cancelled', reason: 'shutdown' });
    expect(await evidence(world, run)).toEqual(['stopping']);
    expect((await run.record()).obligations).toEqual([
      { what: 'model', id: 'turn-1', state: 'abandoned' },
    ]);
    await world.expectSound();
  });

  it('tells of tools and approvals that were open', async () => {
    const world = new RunWorld({ tools: ['work', 'danger'], requireApproval: ['danger'] });
    const run = await world.start();
    world.model.turn.call('work', {}, 'a').call('danger', {}, 'b').finish('tool_calls');
    await world.clock.settle();
    const { decision_id: id } = await run.event('approval_requested');
    await abort(world);
    const events = await story(run, 'stopping');
    expect(events[0]).toMatchObject({ type: 'stopping', cause: 'shutdown', obligations: 2 });
    expect(told(events)).toEqual([
      'tool a asked',
      `approval ${id} asked`,
      'tool a abandoned',
      `approval ${id} abandoned`,
    ]);
    const ends = events.filter(({ type }) => type === 'tool_complete');
    expect(ends).toMatchObject([
      { tool_id: 'a', effect: 'unknown' },
      { tool_id: 'b', success: false },
    ]);
    expect(await evidence(world, run)).toEqual(['stopping']);
    await world.expectSound();
  });

  it('tells of a setup that was under way', async () => {
    const world = new RunWorld({
      source: {
        acquire: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
    });
    const run = await world.start();
    await abort(world);
    expect(told(await story(run, 'stopping'))).toEqual(['mcp setup asked', 'mcp setup abandoned']);
    await world.expectSound();
  });

  it('gives up what a stop had asked already, and tells of no second stop', async () => {
    const world = new RunWorld({ tools: ['deaf'], limits: { toolStopGraceMs: 60_000 } });
    world.tools.deaf.add('deaf');
    const run = await world.start();
    world.model.turn.call('deaf', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    await run.cancel();
    await world.clock.advance(500);
    await abort(world);
    const events = await story(run, 'stopping');
    expect(events.filter(({ type }) => type === 'stopping')).toMatchObject([{ cause: 'external' }]);
    expect(told(events)).toEqual(['tool a asked', 'tool a abandoned']);
    await world.expectSound();
  });

  it('is finished before the store is closed, also when that takes a second try', async () => {
    const store = createMemoryStore();
    const world = new RunWorld({ store });
    const run = await world.start();
    const { append, close, release } = store;
    let refusals = 1;
    store.append = (parts) => {
      refusals -= 1;
      if (refusals >= 0) throw new Error('the store is busy');
      return append.call(store, parts);
    };
    const calls: string[] = [];
    store.release = (leases) => {
      if (leases.length > 0) calls.push('release');
      return release.call(store, leases);
    };
    store.close = async () => {
      const record = await store.getRecord(run.runId);
      calls.push(record?.settledSeq === undefined ? 'close without the end' : 'close');
      await close.call(store);
    };
    await abort(world);
    await world.clock.advance(2_000);
    await world.supervisor.stopped;
    await world.clock.settle();
    expect(calls.slice(-2)).toEqual(['release', 'close']);
    expect(world.clock.pending).toEqual([]);
  });

  it('does not keep the process from leaving when the store never answers', async () => {
    const world = new RunWorld();
    await world.start();
    world.store.append = () => new Promise(() => {});
    await abort(world);
    await world.clock.advance(6_000);
    expect(await world.supervisor.stopped).toMatchObject({ exitCode: 143 });
  });

  it('does not keep the store open when a connection does not close', async () => {
    const store = createMemoryStore();
    const { close } = store;
    let isClosed = false;
    store.close = () => {
      isClosed = true;
      return close.call(store);
    };
    const hung: ToolLease = { tools: [], servers: [], release: () => new Promise(() => {}) };
    const world = new RunWorld({
      store,
      source: { acquire: () => Promise.resolve(hung) },
      limits: { releaseMs: 60_000 },
    });
    await world.start();
    await abort(world);
    await world.clock.advance(2_999);
    expect(isClosed).toBe(false);
    await world.clock.advance(1);
    expect(isClosed).toBe(true);
  });
});
