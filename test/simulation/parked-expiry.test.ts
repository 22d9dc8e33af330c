import { describe, expect, it } from 'vitest';
import type { ApprovalItem } from '../../src/approval-item.ts';
import type { StartRun } from '../../src/handle.ts';
import { Host } from '../support/recovery-host.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from '../support/run-world.ts';

/**
 * Hazard: nobody decides. A run that waits in the store is in no process's memory when its time is up, and
 * yet it has to go on by itself, once, whoever lives by then.
 */

const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const EXPIRY_MS = 60_000;
const DAY_MS = 86_400_000;
const TOOLS: RunWorldOptions = {
  tools: ['danger'],
  requireApproval: ['danger'],
  approvalTimeoutMs: EXPIRY_MS,
};

/** A run that asks for each of its calls, in the process that is given. */
async function waiting(world: RunWorld = new RunWorld(TOOLS), asked = 1) {
  const run = await world.start(PARK);
  for (let at = 0; at < asked; at += 1) world.model.turn.call('danger', { at }, `call-${at}`);
  world.model.turn.finish('tool_calls');
  await world.clock.settle();
  const ids = (await run.events()).flatMap((event) =>
    event.type === 'approval_requested' ? [event.decision_id] : [],
  );
  return { world, run, ids };
}

/** It is parked because nobody reads it any more. */
async function parked(world?: RunWorld, asked?: number) {
  const made = await waiting(world, asked);
  await made.run.release();
  expect(await made.run.record()).toMatchObject({ state: 'parked', continued_by: null });
  return made;
}

const outcomes = async (run: SimulatedRun): Promise<string[]> =>
  (await run.events()).flatMap((event) =>
    event.type === 'approval_completed' ? [`${event.tool_call_id} ${event.outcome.kind}`] : [],
  );

async function settled(world: RunWorld): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await world.clock.settle();
}

describe('a parked run whose approval expires', () => {
  it('goes on by itself at that moment, and the tool does not run', async () => {
    const { world, run } = await parked();
    await world.clock.advance(EXPIRY_MS - 1);
    expect((await run.record()).continued_by).toBeNull();
    await world.clock.advance(1);

    const next = await world.continuationOf(run);
    expect(await outcomes(next)).toEqual(['call-0 timed_out']);
    expect(await next.event('tool_complete')).toMatchObject({
      success: false,
      approval: 'timed_out',
    });
    world.model.turn.say('Nobody came.').finish();
    await next.event('finished');
    expect(world.tools.executions).toEqual([]);
    expect(world.clock.pending).toEqual([]);
    await world.expectSound();
  });

  it('waits for thirty days', async () => {
    const { world, run } = await parked(new RunWorld({ ...TOOLS, approvalTimeoutMs: 30 * DAY_MS }));
    await world.clock.advance(30 * DAY_MS - 1);
    expect((await run.record()).continued_by).toBeNull();
    await world.clock.advance(1);

    const next = await world.continuationOf(run);
    world.model.turn.finish();
    await next.event('finished');
    await world.expectSound();
  });

  it('goes on with the last of its approvals, and keeps what was decided of the others', async () => {
    const { world, run, ids } = await parked(undefined, 2);
    const decided = world.supervisor.decide(ids[0] as string, { approved: true });
    await settled(world);
    expect([await decided, (await run.record()).continued_by]).toEqual(['recorded', null]);
    await world.clock.advance(EXPIRY_MS);

    const next = await world.continuationOf(run);
    expect((await outcomes(next)).sort()).toEqual(['call-0 approved', 'call-1 timed_out']);
    expect(world.tools.executions.map(({ context }) => context.toolCallId)).toEqual(['call-0']);
    world.tools.executions[0]?.answer('done');
    await settled(world);
    world.model.turn.finish();
    await next.event('finished');
    await world.expectSound();
  });

  it('stays when it was parked by hand, and is told as timed out', async () => {
    const { world, run, ids } = await waiting();
    await run.park();
    await world.clock.advance(2 * EXPIRY_MS);
    expect(await run.record()).toMatchObject({ state: 'parked', continued_by: null });
    const { data } = await world.supervisor.listApprovals({ limit: 9 });
    expect(data).toMatchObject([{ decision_id: ids[0], state: 'timed_out' }]);
    expect(world.clock.pending).toEqual([]);

    const next = await world.resume(run);
    expect(await outcomes(next)).toEqual(['call-0 timed_out']);
    world.model.turn.finish();
    await next.event('finished');
    await world.expectSound();
  });

  it('is not brought back when it was decided, resumed or cancelled before', async () => {
    const world = new RunWorld(TOOLS);
    const [denied, cancelled] = [await parked(world), await parked(world)];
    void world.supervisor.decide(denied.ids[0] as string, { approved: false });
    await settled(world);
    const next = await world.continuationOf(denied.run);
    world.model.turn.finish();
    await next.event('finished');
    await cancelled.run.cancel();
    await settled(world);
    expect(world.clock.pending).toEqual([]);
    await world.clock.advance(2 * EXPIRY_MS);

    expect((await cancelled.run.record()).continued_by).toBeNull();
    expect((await world.supervisor.listRuns({ limit: 9 })).data).toHaveLength(3);
    await world.expectSound();
  });

  it('comes back in its turn when many expire at once', async () => {
    const world = new RunWorld({ ...TOOLS, resumeConcurrency: 1 });
    const runs = [(await parked(world)).run, (await parked(world)).run, (await parked(world)).run];
    await world.clock.advance(EXPIRY_MS);
    const goOn = async () =>
      (await Promise.all(runs.map((run) => run.record()))).filter(
        (one) => one.continued_by !== null,
      );
    for (let alive = 1; alive <= runs.length; alive += 1) {
      expect(await goOn()).toHaveLength(alive);
      world.model.turn.finish();
      await settled(world);
    }
    await world.expectSound();
  });

  it('is told to who watches the inbox', async () => {
    const { world, ids } = await parked();
    const told: ApprovalItem[] = [];
    const watching = world.supervisor.watchApprovals(
      { state: 'pending' },
      { changed: (item) => void told.push(item) },
    );
    await settled(world);
    const stop = await watching;
    expect(told.map(({ state }) => state)).toEqual(['pending']);
    await world.clock.advance(EXPIRY_MS);
    await settled(world);
    stop();

    expect(told.at(-1)).toMatchObject({ decision_id: ids[0], state: 'timed_out' });
    world.model.turn.finish();
    await settled(world);
    await world.expectSound();
  });

  it('leaves no timer behind when the server stops', async () => {
    const { world, run } = await parked();
    world.supervisor.shutdown('SIGTERM');
    await settled(world);
    await world.supervisor.stopped;
    expect(world.clock.pending).toEqual([]);
    await world.clock.advance(2 * EXPIRY_MS);

    expect((await world.store.getRecord(run.runId))?.continuedBy).toBeUndefined();
  });
});

describe('an approval that expires across processes', () => {
  it('brings the run back in the next one, which finds it expired', async () => {
    const host = new Host();
    const { run } = await parkedIn(host);
    const second = await host.boot(TOOLS, { afterMs: EXPIRY_MS });
    await settled(second);

    const next = await second.continuationOf(second.run(run.runId, run.sessionId));
    expect(await outcomes(next)).toEqual(['call-0 timed_out']);
    await second.playOn();
    expect(second.clock.pending).toEqual([]);
    expect(second.messages('A parked run could not be resumed')).toEqual([]);
    await host.expectSound();
  });

  it('brings the run back in the next one, which sees it expire', async () => {
    const host = new Host();
    const { run } = await parkedIn(host);
    const second = await host.boot(TOOLS, { afterMs: EXPIRY_MS - 1_000 });
    expect((await host.store.getRecord(run.runId))?.continuedBy).toBeUndefined();
    await second.clock.advance(1_000);

    const next = await second.continuationOf(second.run(run.runId, run.sessionId));
    expect(await outcomes(next)).toEqual(['call-0 timed_out']);
    await second.playOn();
    await host.expectSound();
  });

  it('leaves a run that was parked by hand where it is', async () => {
    const host = new Host();
    const first = await host.boot(TOOLS);
    const { run } = await waiting(first);
    await run.park();
    first.kill();
    const second = await host.boot(TOOLS, { afterMs: 2 * EXPIRY_MS });
    await settled(second);

    expect((await host.store.getRecord(run.runId))?.continuedBy).toBeUndefined();
    await host.expectSound();
  });

  it('brings back a run that was lost as it waited, and whose time was up by then', async () => {
    const host = new Host();
    const first = await host.boot(TOOLS);
    const { run } = await waiting(first);
    first.kill();
    const second = await host.boot(TOOLS, { afterMs: 2 * EXPIRY_MS });
    await settled(second);

    const next = await second.continuationOf(second.run(run.runId, run.sessionId));
    expect(await outcomes(next)).toEqual(['call-0 timed_out']);
    await second.playOn();
    expect(second.messages('A parked run could not be resumed')).toEqual([]);
    await host.expectSound();
  });

  it('brings the run back once, though two processes see it expire', async () => {
    const host = new Host();
    const { run } = await parkedIn(host);
    const living = [await host.boot(TOOLS), await host.boot(TOOLS)];
    await Promise.all(living.map((one) => one.clock.advance(EXPIRY_MS)));
    for (const one of living) await settled(one);

    const continued = (await host.store.getRecord(run.runId))?.continuedBy;
    expect(continued).toBeDefined();
    expect(await host.store.listRecords({ limit: 9 })).toHaveLength(2);
    for (const one of living) {
      await one.playOn();
      expect(one.messages('A parked run could not be resumed')).toEqual([]);
    }
    await host.expectSound();
  });
});

/** Parked in a process that is gone. */
async function parkedIn(host: Host) {
  const first = await host.boot(TOOLS);
  const made = await parked(first);
  first.kill();
  return made;
}
