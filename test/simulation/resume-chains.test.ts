import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from '../support/run-world.ts';

/** Runs that go on with one another, and several parked ones in one session. */

const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const TOOLS: RunWorldOptions = { tools: ['danger', 'safe'], requireApproval: ['danger'] };

/** Parked by hand behind a turn that asked for these tools; none of them has begun. */
async function parkedBefore(names: readonly string[], world = new RunWorld(TOOLS), change = {}) {
  const run = await world.start({ ...PARK, ...change });
  await run.park();
  for (const [at, name] of names.entries()) world.model.turn.call(name, { at }, `call-${at}`);
  world.model.turn.finish('tool_calls');
  await world.clock.settle();
  await run.event('parked');
  await world.clock.settle();
  return { world, run };
}

async function finish(world: RunWorld, text = 'done'): Promise<void> {
  world.model.turn.say(text).finish();
  await world.clock.settle();
}

describe('a chain of runs', () => {
  it('names each its neighbours, and only its last one can be resumed', async () => {
    const { world, run } = await parkedBefore(['safe']);
    const runs: SimulatedRun[] = [run];
    for (let link = 0; link < 3; link += 1) {
      const next = await world.resume(runs.at(-1) as SimulatedRun);
      await next.park();
      world.tools.last('safe').answer('42');
      await world.clock.settle();
      await next.event('parked');
      runs.push(next);
      const tail = await world.resume(next);
      await tail.park();
      world.model.turn.call('safe').finish('tool_calls');
      await tail.event('parked');
      runs.push(tail);
      await world.clock.settle();
    }
    for (const [at, link] of runs.entries()) {
      expect(await link.record()).toMatchObject({
        state: 'parked',
        continues: runs[at - 1]?.runId ?? null,
        continued_by: runs[at + 1]?.runId ?? null,
        verbs: at === runs.length - 1 ? ['attach', 'cancel', 'resume'] : ['attach'],
      });
    }
    expect(world.tools.executions).toHaveLength(3);
    expect(await world.supervisor.getSession(run.sessionId)).toMatchObject({ state: 'parked' });
    await world.expectSound();
  });

  it('takes as many turns together as one run may', async () => {
    const options = { ...TOOLS, limits: { turnsMax: 4 } };
    const { world, run } = await parkedBefore(['safe'], new RunWorld(options));
    let link = run;
    for (let turn = 2; turn <= 3; turn += 1) {
      link = await world.resume(link);
      world.tools.last('safe').answer('42');
      await world.clock.settle();
      await link.park();
      world.model.turn.call('safe').finish('tool_calls');
      await link.event('parked');
      await world.clock.settle();
    }
    link = await world.resume(link);
    world.tools.last('safe').answer('42');
    await world.clock.settle();
    world.model.turn.call('safe').finish('tool_calls');
    expect(await link.event('failed')).toMatchObject({ error: { code: 'turn_limit' } });
    expect(world.model.turns).toHaveLength(4);
    await world.expectSound();
  });

  it('ends with one that is aborted while it waits, which asks for nothing to be closed', async () => {
    const world = new RunWorld({ ...TOOLS, graceMs: 30_000 });
    const run = await world.start(PARK);
    world.model.turn.call('danger', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    const [id = ''] = (await run.record()).approvals;
    await run.release();
    const other = await world.start({ sessionId: run.sessionId });
    await world.supervisor.decide(id, { approved: true });
    const next = await world.continuationOf(run);
    world.supervisor.shutdown('SIGTERM');
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(10_000);
    expect(await other.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    expect(await next.types()).toEqual(['queued', 'cancelled']);
    await world.expectSound();
  });

  it('two parked runs of one session come back one behind the other', async () => {
    const world = new RunWorld(TOOLS);
    const runs: SimulatedRun[] = [];
    for (const at of [0, 1]) {
      const run = await world.start({ ...PARK, sessionId: 'one' });
      world.model.turn.call('danger', { at }, 'a').finish('tool_calls');
      await world.clock.settle();
      await run.release();
      runs.push(run);
    }
    const ids = await Promise.all(runs.map(async (run) => (await run.record()).approvals[0] ?? ''));
    await Promise.all([
      ...ids.map((id) => world.supervisor.decide(id, { approved: true })),
      world.clock.settle(),
    ]);
    for (const run of runs) {
      const next = await world.continuationOf(run);
      world.tools.last('danger').answer('gone');
      await world.clock.settle();
      await finish(world);
      expect(await next.record()).toMatchObject({ state: 'finished', continues: run.runId });
      await expect(world.supervisor.resume(run.runId, {})).rejects.toMatchObject({
        code: 'already_resumed',
      });
    }
    expect(world.tools.executions).toHaveLength(2);
    await world.expectSound();
  });

  it('ends with one that is cancelled while it waits, which tells of nothing it never began', async () => {
    const world = new RunWorld(TOOLS);
    const run = await world.start(PARK);
    world.model.turn.call('danger', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    const [id = ''] = (await run.record()).approvals;
    await run.release();
    const other = await world.start({ sessionId: run.sessionId });
    await world.supervisor.decide(id, { approved: true });
    const next = await world.continuationOf(run);
    await next.cancel();
    expect(await next.types()).toEqual(['queued', 'cancelled']);
    await finish(world);
    await other.event('finished');
    expect(world.tools.executions).toEqual([]);
    await world.expectSound();
  });
});
