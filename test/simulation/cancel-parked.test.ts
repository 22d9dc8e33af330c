import { describe, expect, it } from 'vitest';
import type { DecisionAnswer } from '../../src/approval-item.ts';
import type { StartRun } from '../../src/handle.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from '../support/run-world.ts';

/**
 * A run that is cancelled after it was parked is given up: nobody can approve it or bring it back, and
 * of a cancel, a decision and a resume at the same time one counts and the others are told so.
 */

const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const TOOLS: RunWorldOptions = { tools: ['danger', 'safe'], requireApproval: ['danger'] };
const LOGGED = 'A parked run was cancelled';
const LET_GO_MS = 10_000;
const GONE = { code: 'not_parked', message: expect.stringContaining('cancelled after') };

/** A live run that waits for a person to decide so many calls. */
async function waiting(world: RunWorld, asked = 1): Promise<SimulatedRun> {
  const run = await world.start(PARK);
  for (let at = 0; at < asked; at += 1) world.model.turn.call('danger', { at }, `call-${at}`);
  world.model.turn.finish('tool_calls');
  await world.clock.settle();
  return run;
}

/** Parked because its reader left; it waits for a person. */
async function unclaimed(world: RunWorld, asked = 1) {
  const run = await waiting(world, asked);
  const ids = (await run.record()).approvals;
  await run.release();
  await world.clock.settle();
  return { run, ids };
}

/** Parked by hand; it waits for nobody. */
async function byHand(world: RunWorld): Promise<SimulatedRun> {
  const run = await world.start(PARK);
  await run.park();
  world.model.turn.call('safe', {}, 'safe').finish('tool_calls');
  await world.clock.settle();
  expect(await run.record()).toMatchObject({ state: 'parked' });
  return run;
}

async function settled<T>(world: RunWorld, answer: Promise<T>): Promise<T> {
  const [value] = await Promise.all([answer, world.clock.settle()]);
  await world.clock.settle();
  return value;
}

const cancel = (world: RunWorld, { runId }: SimulatedRun, message?: string) =>
  settled(world, world.supervisor.cancel(runId, message === undefined ? {} : { message }));

const resume = (world: RunWorld, { runId }: SimulatedRun) =>
  settled(world, world.supervisor.resume(runId, {}));

/** Nothing of a run waits for anybody, and nothing brings it back. */
async function expectGivenUp(world: RunWorld, run: SimulatedRun): Promise<void> {
  // A run that was to go on with it and came too late lets go of the session by then.
  await world.clock.advance(LET_GO_MS);
  expect(await run.record()).toMatchObject({
    state: 'parked',
    approvals: [],
    continued_by: null,
    verbs: ['attach'],
  });
  await expect(resume(world, run)).rejects.toMatchObject(GONE);
  const pending = await world.supervisor.listApprovals({ limit: 10, state: 'pending' });
  expect(pending.data.filter(({ run_id }) => run_id === run.runId)).toEqual([]);
  expect(await world.supervisor.getSession(run.sessionId)).toMatchObject({ state: 'idle' });
  expect(await world.store.getCheckpoint(run.runId)).toBeUndefined();
}

/** Turns of the microtask queue, and beyond those that one turn of the event loop has, of that. */
async function ticks(count: number): Promise<void> {
  for (let at = 0; at < Math.min(count, MICRO_MAX); at += 1) await Promise.resolve();
  for (let at = MICRO_MAX; at < count; at += 1) await new Promise(setImmediate);
}

const MICRO_MAX = 30;

describe('a parked run that is cancelled', () => {
  it('stays parked for good: no approval of it is there, and no way back', async () => {
    const host = new Host();
    const world = await host.boot(TOOLS);
    const { run, ids } = await unclaimed(world, 2);
    const before = await world.journal(run.sessionId);

    const record = await cancel(world, run, 'not wanted any more');

    expect(record).toMatchObject({ state: 'parked', approvals: [], verbs: ['attach'] });
    await expectGivenUp(world, run);
    for (const id of ids) {
      expect(await settled(world, world.supervisor.decide(id, { approved: true }))).toBe('unknown');
    }
    const { data } = await world.supervisor.listApprovals({ limit: 10 });
    expect(data.map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
    expect(await world.journal(run.sessionId)).toEqual(before);
    expect(world.messages(LOGGED)).toMatchObject([
      {
        level: 'info',
        run_id: run.runId,
        session_id: run.sessionId,
        message: 'not wanted any more',
      },
    ]);
    await world.expectSound();
  });

  it('that waited for nobody is given up as well', async () => {
    const world = new RunWorld(TOOLS);
    const run = await byHand(world);

    await cancel(world, run);

    await expectGivenUp(world, run);
    expect(world.tools.executions).toEqual([]);
    await world.expectSound();
  });

  it('a second time is answered alike and told once', async () => {
    const world = await new Host().boot(TOOLS);
    const { run } = await unclaimed(world);

    const [first, second] = await Promise.all([cancel(world, run), cancel(world, run)]);
    const third = await cancel(world, run);

    expect([second, third]).toEqual([first, first]);
    expect(world.messages(LOGGED)).toHaveLength(1);
    expect(world.messages(LOGGED)[0]).not.toHaveProperty('message');
  });

  it('leaves what was decided of it, which changes nothing any more', async () => {
    const world = new RunWorld(TOOLS);
    const { run, ids } = await unclaimed(world, 2);
    const decide = (approved: boolean): Promise<DecisionAnswer> =>
      settled(world, world.supervisor.decide(ids[0] ?? '', { approved }));
    expect(await decide(true)).toBe('recorded');

    await cancel(world, run);

    await expectGivenUp(world, run);
    expect(await decide(true)).toBe('repeated');
    expect(await decide(false)).toBe('unknown');
    expect((await run.record()).continued_by).toBeNull();
    expect(world.tools.executions).toEqual([]);
    await world.expectSound();
  });

  it('leaves the session to the runs that come after it', async () => {
    const world = new RunWorld(TOOLS);
    const { run } = await unclaimed(world);
    await cancel(world, run);

    const next = await world.start({ sessionId: run.sessionId, onBusy: 'reject' });
    world.model.turn.say('done').finish();
    await next.event('finished');

    await world.expectSound();
  });

  it('stays parked when the store does not take it, and the cancel says so', async () => {
    const store = createMemoryStore();
    const world = new RunWorld({ ...TOOLS, store });
    const { run, ids } = await unclaimed(world);
    const { discard } = store;
    store.discard = () => {
      throw new Error('full');
    };

    await expect(cancel(world, run)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await run.record()).toMatchObject({ state: 'parked', approvals: ids });

    store.discard = discard;
    await cancel(world, run);
    await expectGivenUp(world, run);
  });

  it('is not brought back by a process that starts', async () => {
    const host = new Host();
    const options: RunWorldOptions = { ...TOOLS, resumeOnStart: true, recover: 'resume' };
    const first = await host.boot(options);
    const { run: undecided } = await unclaimed(first);
    const { run: decided, ids } = await unclaimed(first);
    // As if the process had ended before the run could go on.
    await host.store.decideApproval(ids[0] ?? '', '{"kind":"approved"}', first.clock.now());
    for (const run of [undecided, decided]) await cancel(first, run);
    first.kill();

    const second = await host.boot(options, { afterMs: 60_000 });
    await second.clock.settle();

    for (const run of [undecided, decided]) {
      await expectGivenUp(second, second.run(run.runId, run.sessionId));
    }
    expect(second.model.turns).toEqual([]);
    expect(second.tools.executions).toEqual([]);
    expect(await host.store.listRecords({ limit: 10 })).toHaveLength(2);
    await host.expectSound();
  });

  it('is found by a process that did not park it', async () => {
    const host = new Host();
    const first = await host.boot(TOOLS);
    const { run } = await unclaimed(first);
    const second = await host.boot(TOOLS);

    await cancel(second, run);

    await expectGivenUp(first, run);
    await host.expectSound();
  });
});

describe('a parked run that another one goes on with', () => {
  it('is returned unchanged, and the other is not touched', async () => {
    const world = new RunWorld(TOOLS);
    const { run, ids } = await unclaimed(world);
    await settled(world, world.supervisor.decide(ids[0] ?? '', { approved: true }));
    const next = await world.continuationOf(run);
    const before = await run.record();

    expect(await cancel(world, run)).toEqual(before);

    expect((await next.record()).state).toBe('running');
    world.tools.last('danger').answer('42');
    await world.clock.settle();
    world.model.turn.say('done').finish();
    await next.event('finished');
    await world.expectSound();
  });

  it('and that is parked again is cancelled as the last of the chain', async () => {
    const world = new RunWorld(TOOLS);
    const first = await byHand(world);
    const last = await world.resume(first);
    await last.park();
    world.tools.last('safe').answer('42');
    await world.clock.settle();
    expect(await last.record()).toMatchObject({
      state: 'parked',
      verbs: ['attach', 'cancel', 'resume'],
    });

    await cancel(world, first);
    expect(await last.record()).toMatchObject({ verbs: ['attach', 'cancel', 'resume'] });
    await cancel(world, last);

    await expectGivenUp(world, last);
    expect(await first.record()).toMatchObject({ continued_by: last.runId });
    await world.expectSound();
  });
});

/** Between two that come at nearly the same time. */
const GAPS = Array.from({ length: 40 }, (_, at) => at);

type Order = 'cancelled' | 'other';

/** Sends both, the one named first, with a gap between them, and lets all of it come to rest. */
async function race<T>(
  world: RunWorld,
  run: SimulatedRun,
  { order, gap, other }: { order: Order; gap: number; other: () => Promise<T> },
) {
  const cancelled = async () => void (await world.supervisor.cancel(run.runId, {}));
  const later = ticks(gap);
  const answers = Promise.allSettled(
    order === 'cancelled' ? [later.then(other), cancelled()] : [other(), later.then(cancelled)],
  );
  await world.clock.settle();
  await world.clock.settle();
  const [answer, end] = await answers;
  expect(end).toMatchObject({ status: 'fulfilled' });
  return answer;
}

describe.each<Order>(['cancelled', 'other'])('at the same time, %s first', (order) => {
  it('a decision counts or the cancel does', async () => {
    const ends = new Set<string>();
    for (const gap of GAPS) {
      const world = new RunWorld(TOOLS);
      const { run, ids } = await unclaimed(world);
      const other = () => world.supervisor.decide(ids[0] ?? '', { approved: true });

      const answer = await race(world, run, { order, gap, other });

      const { continued_by: by } = await run.record();
      ends.add(by === null ? 'given up' : 'goes on');
      if (by === null) {
        await expectGivenUp(world, run);
        expect(world.tools.executions).toEqual([]);
      } else {
        expect(answer).toMatchObject({ value: 'recorded' });
        expect(world.tools.executions).toHaveLength(1);
        world.tools.last('danger').answer('42');
        await world.clock.settle();
        world.model.turn.say('done').finish();
        expect((await world.run(by, run.sessionId).types()).at(-1)).toBe('finished');
      }
      await world.expectSound();
    }
    // A gap that is too short to let the first one win proves nothing of it.
    expect(ends).toContain(order === 'cancelled' ? 'given up' : 'goes on');
  });

  it('a resume wins or is told that the run was cancelled', async () => {
    const ends = new Set<string>();
    for (const gap of GAPS) {
      const world = new RunWorld(TOOLS);
      const run = await byHand(world);
      const other = () => world.supervisor.resume(run.runId, {});

      const answer = await race(world, run, { order, gap, other });

      const { continued_by: by } = await run.record();
      ends.add(by === null ? 'given up' : 'goes on');
      if (by === null) {
        expect(answer).toMatchObject({ status: 'rejected', reason: GONE });
        await expectGivenUp(world, run);
        expect(world.tools.executions).toEqual([]);
        expect((await world.supervisor.listRuns({ limit: 10 })).data).toHaveLength(1);
      } else {
        expect(answer).toMatchObject({ value: { runId: by, continues: run.runId } });
        world.tools.last('safe').answer('42');
        await world.clock.settle();
        world.model.turn.say('done').finish();
        expect((await world.run(by, run.sessionId).types()).at(-1)).toBe('finished');
      }
      await world.expectSound();
    }
    expect(ends).toContain(order === 'cancelled' ? 'given up' : 'goes on');
  });
});

it('a cancel of another process that comes between a resume’s last look and its first entry wins', async () => {
  const store = createMemoryStore();
  const host = new Host(store);
  const world: HostProcess = await host.boot(TOOLS);
  const run = await byHand(world);
  const { append } = store;
  store.append = (parts) => {
    if (parts.some(({ continues }) => continues !== undefined)) void store.discard(run.runId);
    return append.call(store, parts);
  };
  const before = await host.entries(run.sessionId);

  await expect(resume(world, run)).rejects.toMatchObject(GONE);

  expect(await host.entries(run.sessionId)).toEqual(before);
  await expectGivenUp(world, run);
  expect(world.tools.executions).toEqual([]);
  expect(world.clock.pending).toEqual([]);
  await host.expectSound();
});

describe('a cancel that meets a run on its way to being parked', () => {
  it.each(['left', 'asked to park'] as const)(
    'ends it for good, whatever came first: %s',
    async (how) => {
      const ends = new Set<string>();
      for (const gap of GAPS) {
        const world = new RunWorld(TOOLS);
        const run = await waiting(world);
        const ids = (await run.record()).approvals;
        if (how === 'left') world.supervisor.release(run.runId, 'reader');
        else void world.supervisor.park(run.runId);
        await ticks(gap);

        const record = await cancel(world, run);

        const { state } = await run.record();
        ends.add(state);
        if (state === 'parked') {
          expect(record).toMatchObject({ state: 'parked', approvals: [], verbs: ['attach'] });
          await expectGivenUp(world, run);
        } else expect(state).toBe('cancelled');
        for (const id of ids) {
          const decided = world.supervisor.decide(id, { approved: true });
          expect(await settled(world, decided)).toBe('unknown');
        }
        expect(world.tools.executions).toEqual([]);
        await world.expectSound();
      }
      expect(ends).toContain('parked');
    },
  );
});
