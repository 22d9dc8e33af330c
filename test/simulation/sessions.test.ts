import { describe, expect, it } from 'vitest';
import { SessionBusyError } from '../../src/errors.ts';
import type { StartRun } from '../../src/handle.ts';
import { QUEUE_MAX } from '../../src/limits.ts';
import { createLog } from '../../src/log.ts';
import { RunWorld, type SimulatedRun } from '../support/run-world.ts';
import {
  busy,
  ENQUEUE,
  expectIdle,
  finish,
  ONE,
  order,
  PARALLEL,
  REJECT,
  stateOf,
} from '../support/session-kit.ts';

/** Runs of one session: which of them may be at work, and which wait, give way or are refused. */

describe('reject', () => {
  it('names the live run, and writes nothing of its own', async () => {
    const { world, first } = await busy();
    const before = await world.journal('one');
    const refused = world.start(REJECT);
    await expect(refused).rejects.toBeInstanceOf(SessionBusyError);
    await expect(refused).rejects.toMatchObject({ code: 'session_busy', runId: first.runId });
    expect(await world.journal('one')).toEqual(before);
    expect((await world.supervisor.listRuns({ limit: 10 })).data).toHaveLength(1);
    await finish(world);
    await expectIdle(world);
  });

  it.each(['parallel', 'enqueue', 'interrupt', 'reject'] as const)(
    'counts a live run that came as %s (decision 44)',
    async (onBusy) => {
      const { world, first } = await busy({}, { ...ONE, onBusy });
      await expect(world.start(REJECT)).rejects.toMatchObject({ runId: first.runId });
      await finish(world);
      await expectIdle(world);
    },
  );

  it('counts a run until it has let go, not only until it was told to stop', async () => {
    const { world, first } = await busy();
    world.model.deaf = true;
    await finish(world);
    const deaf = await world.start(REJECT);
    await deaf.cancel();
    expect(await stateOf(deaf)).toBe('stopping');
    await expect(world.start(REJECT)).rejects.toMatchObject({ runId: deaf.runId });
    world.model.turn.close();
    world.model.deaf = false;
    await deaf.event('cancelled');
    await world.clock.settle();
    expect(await stateOf(first)).toBe('finished');
    await expectIdle(world);
  });

  it('lets one of many through that come at the same time (INV-54)', async () => {
    const world = new RunWorld();
    const asked = Array.from({ length: 20 }, () => world.start(REJECT));
    const answers = await Promise.allSettled(asked);
    const won = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    expect(won).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 'rejected') {
        expect(answer.reason).toMatchObject({ code: 'session_busy', runId: won[0]?.runId });
      }
    }
    await finish(world);
    await expectIdle(world);
  });

  it('of another session is nobody’s business', async () => {
    const { world } = await busy();
    const other = await world.start({ sessionId: 'two', onBusy: 'reject' });
    await finish(world);
    expect(await stateOf(other)).toBe('finished');
    world.model.turns[0]?.finish();
    await world.clock.settle();
    await world.expectSound();
  });
});

describe('enqueue', () => {
  it('waits in order, and each says so before anything else (decision 18)', async () => {
    const { world, first } = await busy();
    const runs = [first];
    for (let at = 0; at < 3; at += 1) runs.push(await world.start({ ...ENQUEUE, prompt: `${at}` }));
    expect(await Promise.all(runs.map(stateOf))).toEqual(['running', 'queued', 'queued', 'queued']);
    expect((await world.supervisor.getSession('one'))?.live).toEqual(runs.map((r) => r.runId));
    for (let at = 0; at < 4; at += 1) {
      expect(world.model.turns).toHaveLength(at + 1);
      await finish(world);
    }
    expect(await Promise.all(runs.map(stateOf))).toEqual(Array(4).fill('finished'));
    for (const run of runs.slice(1)) {
      expect((await run.types()).slice(0, 3)).toEqual(['queued', 'observer_attached', 'started']);
      expect((await run.record()).first_seq).toBeLessThan((await run.record()).last_seq);
    }
    const starts = (await order(world, runs)).filter((entry) => /started|finished/.test(entry));
    expect(starts).toEqual(runs.flatMap((_, at) => [`${at}:started`, `${at}:finished`]));
    await expectIdle(world);
  });

  it('answers with what it waits for and begins at once where nothing is live', async () => {
    const world = new RunWorld();
    const alone = await world.start(ENQUEUE);
    expect(await stateOf(alone)).toBe('running');
    expect(await alone.types()).not.toContain('queued');
    const [started] = await Promise.all([
      world.supervisor.start({ ...commandOf(alone), onBusy: 'enqueue' }),
      world.clock.settle(),
    ]);
    expect(started).toMatchObject({ state: 'queued' });
    const entries = await world.journal('one');
    expect(entries[started.seq - 1]).toMatchObject({
      run_id: started.runId,
      payload: { event: { type: 'queued' } },
    });
    await finish(world);
    await finish(world);
    await expectIdle(world);
  });

  it('waits for parallel runs too, and for all of them', async () => {
    const world = new RunWorld();
    await world.start(PARALLEL);
    await world.start(PARALLEL);
    const waits = await world.start(ENQUEUE);
    world.model.turns[1]?.finish();
    await world.clock.settle();
    expect(await stateOf(waits)).toBe('queued');
    world.model.turns[0]?.finish();
    await world.clock.settle();
    await world.clock.settle();
    expect(await stateOf(waits)).toBe('running');
    await finish(world);
    await expectIdle(world);
  });

  it('loses its claim while it waits: it is cancelled and never starts (decision 42)', async () => {
    const { world, first } = await busy();
    const waits = await world.start(ENQUEUE);
    await waits.release();
    expect(await waits.types()).toEqual([
      'queued',
      'observer_attached',
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'cancelled',
    ]);
    expect(await waits.record()).toMatchObject({ state: 'cancelled', started_at: null });
    await finish(world);
    expect(await stateOf(first)).toBe('finished');
    await expectIdle(world);
    expect(world.model.turns).toHaveLength(2);
  });

  it('is cancelled while it waits, and the ones behind it move up', async () => {
    const { world } = await busy();
    const [second, third] = [await world.start(ENQUEUE), await world.start(ENQUEUE)];
    await second.cancel('enough');
    expect(await second.types()).toEqual(['queued', 'observer_attached', 'cancelled']);
    expect(await second.event('cancelled')).toMatchObject({ reason: 'external' });
    expect(await stateOf(third)).toBe('queued');
    await finish(world);
    expect(await stateOf(third)).toBe('running');
    await finish(world);
    await expectIdle(world);
  });

  it('stays stopped however long it had waited (H-2)', async () => {
    const { world } = await busy({ limits: { totalMs: 0, stepMs: 0, firstChunkMs: 0 } });
    const waits = await world.start(ENQUEUE);
    await world.clock.advance(10_000_000);
    await waits.cancel();
    await world.clock.advance(10_000_000);
    await finish(world);
    expect(await waits.types()).toEqual(['queued', 'observer_attached', 'cancelled']);
    await expectIdle(world);
  });

  it('has no deadline while it waits, and the whole of each once it begins (R11)', async () => {
    const { world } = await busy({ limits: { totalMs: 100_000, firstChunkMs: 0, stepMs: 0 } });
    await world.clock.advance(90_000);
    const waits = await world.start(ENQUEUE);
    expect((await waits.record()).deadlines).toEqual([]);
    await world.clock.advance(10_000);
    await world.clock.advance(99_999);
    expect(await stateOf(waits)).toBe('running');
    await world.clock.advance(1);
    expect(await waits.event('cancelled')).toMatchObject({ reason: 'deadline', which: 'total' });
    await expectIdle(world);
  });

  it('is cancelled by a shutdown without having started', async () => {
    const { world, first } = await busy({ graceMs: 0 });
    const waits = await world.start({ ...ENQUEUE, liveness: { policy: 'continue', graceMs: 0 } });
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(0);
    expect(await waits.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    expect(await waits.types()).not.toContain('started');
    expect(await first.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    await world.expectSound();
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true });
  });

  it('is bounded, and the next one is told so', async () => {
    const { world, first } = await busy();
    for (let at = 0; at < QUEUE_MAX; at += 1) await world.start(ENQUEUE);
    await expect(world.start(ENQUEUE)).rejects.toMatchObject({ code: 'rate_limited' });
    expect((await world.supervisor.getSession('one'))?.live).toHaveLength(QUEUE_MAX + 1);
    for (let at = 0; at <= QUEUE_MAX; at += 1) await finish(world);
    expect(await stateOf(first)).toBe('finished');
    await expectIdle(world);
  });
});

/** The same start again, of a run that is there. */
function commandOf(run: SimulatedRun): StartRun {
  return {
    agent: 'agent',
    sessionId: run.sessionId,
    messages: [{ role: 'user', content: 'Hello' }],
    prompt: 'Hello',
    streaming: true,
    liveness: { policy: 'cancel', graceMs: 0 },
    onBusy: 'parallel',
    requestHeaders: {},
  };
}

describe('parallel', () => {
  it('lives beside all others, told apart by its id', async () => {
    const { world, first } = await busy();
    const second = await world.start(PARALLEL);
    const third = await world.start(PARALLEL);
    expect(await Promise.all([first, second, third].map(stateOf))).toEqual(
      Array(3).fill('running'),
    );
    for (const turn of world.model.turns) turn.say('x').finish();
    await world.clock.settle();
    await expectIdle(world);
  });

  it('does not end another one’s wait', async () => {
    const { world } = await busy();
    const waits = await world.start(ENQUEUE);
    await world.start(PARALLEL);
    world.model.turns[0]?.finish();
    await world.clock.settle();
    expect(await stateOf(waits)).toBe('queued');
    world.model.turns[1]?.finish();
    await world.clock.settle();
    await world.clock.settle();
    expect(await stateOf(waits)).toBe('running');
    await finish(world);
    await expectIdle(world);
  });
});

describe('the chart of a session', () => {
  it('is there while somebody has asked for its order, and gone with the last one', async () => {
    const charts: string[] = [];
    const log = createLog({
      level: 'debug',
      destination: {
        write: (line) => {
          const { fact } = JSON.parse(line) as { fact?: { type: string; id: string } };
          if (fact?.id === 'one') charts.push(fact.type);
        },
      },
    });
    const world = new RunWorld({ log, runsMax: 2 });
    const alone = await world.start(PARALLEL);
    expect(charts).toEqual([]); // A parallel run that is alone needs no order.
    await expect(world.start(REJECT)).rejects.toMatchObject({ runId: alone.runId });
    const waits = await world.start(ENQUEUE);
    await expect(world.start(ENQUEUE)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(charts).toEqual(['pool.spawned']);
    await finish(world);
    expect(await stateOf(waits)).toBe('running');
    expect(charts).toEqual(['pool.spawned']);
    await finish(world);
    expect(charts).toEqual(['pool.spawned', 'pool.ended']);
    await expectIdle(world);
    expect(charts).toEqual(['pool.spawned', 'pool.ended', 'pool.spawned', 'pool.ended']);
  });
});

describe('a session id', () => {
  it.each(['runs', 'sessions', '__proto__', 'constructor', 'a b', 'line\u2028end', 'ü', '🐈', '0'])(
    '%j is one like any other',
    async (sessionId) => {
      const world = new RunWorld();
      const first = await world.start({ sessionId, onBusy: 'reject' });
      await expect(world.start({ sessionId, onBusy: 'reject' })).rejects.toMatchObject({
        runId: first.runId,
      });
      const second = await world.start({ sessionId, onBusy: 'enqueue' });
      await finish(world);
      expect(await stateOf(second)).toBe('running');
      const third = await world.start({ sessionId, onBusy: 'interrupt' });
      await world.clock.settle();
      expect(await stateOf(second)).toBe('cancelled');
      await finish(world);
      expect(await stateOf(third)).toBe('finished');
      expect(await world.supervisor.getSession(sessionId)).toMatchObject({
        session_id: sessionId,
        runs: 3,
        live: [],
        state: 'idle',
      });
      await world.expectSound();
    },
  );

  it.each(['', 'a\0b', '\ud800', 'x'.repeat(1_025)])('%j is refused by name', async (sessionId) => {
    const world = new RunWorld();
    for (const onBusy of ['reject', 'parallel', 'enqueue'] as const) {
      await expect(world.start({ sessionId, onBusy })).rejects.toThrow(/sessionId/);
    }
    expect((await world.supervisor.listRuns({ limit: 10 })).data).toEqual([]);
    expect(world.clock.pending).toEqual([]);
  });
});
