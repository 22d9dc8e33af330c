import { describe, expect, it } from 'vitest';
import { IdempotencyKeyReusedError } from '../../src/errors.ts';
import type { StartedRun, StartRun, SupervisorHandle } from '../../src/handle.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { Host } from '../support/recovery-host.ts';
import { RunWorld } from '../support/run-world.ts';

/** A start under a key is taken once, however often and from however many it comes. */

const KEY = { key: 'order-1', digest: 'sha256:aa' };

const command = (change: Partial<StartRun> = {}): StartRun => ({
  agent: 'agent',
  sessionId: 'one',
  messages: [{ role: 'user', content: 'Hello' }],
  prompt: 'Hello',
  streaming: false,
  liveness: { policy: 'continue', graceMs: 0 },
  onBusy: 'reject',
  requestHeaders: {},
  idempotency: KEY,
  ...change,
});

async function start(
  world: RunWorld,
  change: Partial<StartRun> = {},
  supervisor: SupervisorHandle = world.supervisor,
): Promise<StartedRun> {
  const [started] = await Promise.all([supervisor.start(command(change)), world.clock.settle()]);
  return started;
}

describe('a start under a key', () => {
  it('that is repeated finds the run of the first one, and starts nothing', async () => {
    const world = new RunWorld();
    const first = await start(world);
    const again = await start(world);
    expect(first.repeated).toBeUndefined();
    expect(again).toEqual({ ...first, repeated: true });
    world.model.turn.say('done').finish();
    await world.clock.settle();
    expect(await start(world)).toMatchObject({ runId: first.runId, repeated: true });
    expect((await world.supervisor.listRuns({ limit: 10 })).data).toHaveLength(1);
    expect(world.model.turns).toHaveLength(1);
    world.run(first.runId, 'one');
    await world.expectSound();
  });

  it('is not refused because its own run makes the session busy', async () => {
    const world = new RunWorld();
    const first = await start(world);
    await expect(start(world, { idempotency: { ...KEY, key: 'other' } })).rejects.toMatchObject({
      code: 'session_busy',
    });
    expect((await start(world)).runId).toBe(first.runId);
  });

  it.each(['reject', 'enqueue', 'interrupt', 'parallel'] as const)(
    'that comes from many at the same time starts one run: %s',
    async (onBusy) => {
      const world = new RunWorld();
      const all = await Promise.all(Array.from({ length: 10 }, () => start(world, { onBusy })));
      expect(new Set(all.map(({ runId }) => runId)).size).toBe(1);
      expect(all.filter(({ repeated }) => repeated !== true)).toHaveLength(1);
      expect((await world.supervisor.listRuns({ limit: 10 })).data).toHaveLength(1);
    },
  );

  it('with another body is refused, before and after the run has ended', async () => {
    const world = new RunWorld();
    const other = { idempotency: { ...KEY, digest: 'sha256:bb' } };
    const [taken, refused] = await Promise.allSettled([start(world), start(world, other)]);
    expect(taken.status).toBe('fulfilled');
    expect(refused).toMatchObject({ reason: expect.any(IdempotencyKeyReusedError) as unknown });
    await expect(start(world, other)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    world.model.turn.say('done').finish();
    await world.clock.settle();
    await expect(start(world, other)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    expect((await world.supervisor.listRuns({ limit: 10 })).data).toHaveLength(1);
  });

  it('that waited for its session is found as what it is now', async () => {
    const world = new RunWorld();
    await start(world, { idempotency: { ...KEY, key: 'first' } });
    const waits = await start(world, { onBusy: 'enqueue' });
    expect(waits.state).toBe('queued');
    expect(await start(world, { onBusy: 'enqueue' })).toEqual({ ...waits, repeated: true });
    world.model.turn.finish();
    await world.clock.settle();
    await world.clock.settle();
    expect((await world.supervisor.record(waits.runId))?.state).toBe('running');
    expect(await start(world, { onBusy: 'enqueue' })).toMatchObject({
      runId: waits.runId,
      seq: waits.seq,
    });
  });

  it('that failed is free again, for all who shared its failure', async () => {
    const store = createMemoryStore();
    const world = new RunWorld({ store });
    const append = store.append;
    store.append = () => {
      throw new Error('the disk is full');
    };
    const failed = Promise.allSettled([start(world), start(world), start(world)]);
    await world.clock.advance(30_000);
    for (const answer of await failed) {
      expect(answer).toMatchObject({ reason: { code: 'store_unavailable' } });
    }
    store.append = append;
    await world.clock.advance(60_000);
    const again = await start(world);
    expect(again.repeated).toBeUndefined();
    world.model.turn.finish();
    await world.clock.settle();
    expect((await world.supervisor.record(again.runId))?.state).toBe('finished');
  });

  it('that was refused for a busy session is free again', async () => {
    const world = new RunWorld();
    await start(world, { idempotency: { ...KEY, key: 'first' } });
    await expect(start(world)).rejects.toMatchObject({ code: 'session_busy' });
    world.model.turn.finish();
    await world.clock.settle();
    expect((await start(world)).repeated).toBeUndefined();
  });

  it('is another one for each tenant', async () => {
    const world = new RunWorld();
    const limits = { liveRunsMax: 0, storedBytesMax: 0 };
    const a = world.supervisor.forTenant({ tenant: 'a', ...limits });
    const b = world.supervisor.forTenant({ tenant: 'b', ...limits });
    const [first, second] = [await start(world, {}, a), await start(world, {}, b)];
    expect(second.repeated).toBeUndefined();
    expect(second.runId).not.toBe(first.runId);
    expect(await start(world, {}, a)).toMatchObject({ runId: first.runId, repeated: true });
    const other = { idempotency: { ...KEY, digest: 'sha256:bb' } };
    await expect(start(world, other, b)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('is known after the process has died, and after its run was settled', async () => {
    const host = new Host();
    const first = await host.boot();
    const { runId } = await start(first);
    first.kill();
    const early = await host.boot();
    expect(await start(early)).toMatchObject({ runId, repeated: true });
    const later = await host.boot({}, { afterMs: 60_000 });
    await later.clock.settle();
    expect((await later.supervisor.record(runId))?.state).toBe('failed');
    expect(await start(later)).toMatchObject({ runId, repeated: true });
    await expect(
      start(later, { idempotency: { ...KEY, digest: 'sha256:bb' } }),
    ).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    expect(later.model.turns).toEqual([]);
    await host.expectSound();
  });

  it.each(['__proto__', 'constructor', 'a\u001fb'])('may be any text: %j', async (key) => {
    const world = new RunWorld();
    const first = await start(world, { idempotency: { ...KEY, key } });
    expect(await start(world, { idempotency: { ...KEY, key } })).toMatchObject({
      runId: first.runId,
      repeated: true,
    });
  });
});
