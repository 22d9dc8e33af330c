import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { Host } from '../support/recovery-host.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from '../support/run-world.ts';

/** Approvals outlive the run that asked for them: they are decided once, and no decision is lost. */

const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const EXPIRY_MS = 60_000;
const TOOLS: RunWorldOptions = {
  tools: ['danger', 'safe'],
  requireApproval: ['danger'],
  approvalTimeoutMs: EXPIRY_MS,
};

async function waiting(asked: number, world = new RunWorld(TOOLS)) {
  const run = await world.start(PARK);
  for (let at = 0; at < asked; at += 1) world.model.turn.call('danger', { at }, `call-${at}`);
  world.model.turn.finish('tool_calls');
  await world.clock.settle();
  return { world, run, ids: idsByCall(await run.events()) };
}

/** Decision ids in the order of the calls. */
function idsByCall(events: Awaited<ReturnType<SimulatedRun['events']>>): string[] {
  return events
    .flatMap((event) => (event.type === 'approval_requested' ? [event] : []))
    .toSorted((a, b) => (a.tool_call_id < b.tool_call_id ? -1 : 1))
    .map((event) => event.decision_id);
}

async function decide(world: RunWorld, id: string, approved: boolean, reason?: string) {
  const decision = { approved, ...(reason !== undefined && { reason }) };
  const decided = world.supervisor.decide(id, decision);
  await world.clock.settle();
  await world.clock.settle();
  return await decided;
}

const outcomes = async (run: SimulatedRun): Promise<string[]> =>
  (await run.events()).flatMap((event) =>
    event.type === 'approval_completed' ? [`${event.tool_call_id} ${event.outcome.kind}`] : [],
  );

async function finishTools(world: RunWorld): Promise<void> {
  for (const execution of world.tools.executions) execution.answer('gone');
  await world.clock.settle();
  world.model.turn.say('done').finish();
  await world.clock.settle();
}

describe('an approval of a parked run', () => {
  it('is in the inbox like that of a live one, and shows the arguments', async () => {
    const { world, run, ids } = await waiting(1);
    const query = { limit: 10, state: 'pending' } as const;
    const { data: live } = await world.supervisor.listApprovals(query);
    await run.release();
    const { data: parked } = await world.supervisor.listApprovals(query);
    expect(live).toMatchObject([{ decision_id: ids[0], arguments: { at: 0 }, parked: false }]);
    expect(parked).toEqual(live.map((item) => ({ ...item, parked: true })));
    await world.expectSound();
  });

  it('that is denied goes to the model as a denial, and nothing runs', async () => {
    const { world, run, ids } = await waiting(1);
    await run.release();
    expect(await decide(world, ids[0] ?? '', false, 'too risky')).toBe('recorded');
    const next = await world.continuationOf(run);
    expect(world.tools.executions).toEqual([]);
    expect(world.model.turn.request.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('too risky'),
    });
    world.model.turn.say('I see.').finish();
    await next.event('finished');
    expect(await next.event('tool_complete')).toMatchObject({ success: true, approval: 'denied' });
    await world.expectSound();
  });

  it('waits for the last one: several of one run, approved and denied', async () => {
    const { world, run, ids } = await waiting(3);
    await run.release();
    expect(await decide(world, ids[2] ?? '', true)).toBe('recorded');
    expect(await decide(world, ids[0] ?? '', false)).toBe('recorded');
    expect((await run.record()).continued_by).toBeNull();
    expect(await run.record()).toMatchObject({ approvals: [ids[1]], verbs: ['attach', 'cancel'] });
    expect(await decide(world, ids[1] ?? '', true)).toBe('recorded');
    const next = await world.continuationOf(run);
    expect((await outcomes(next)).toSorted()).toEqual([
      'call-0 denied',
      'call-1 approved',
      'call-2 approved',
    ]);
    expect(world.tools.executions.map(({ context }) => context.toolCallId).toSorted()).toEqual([
      'call-1',
      'call-2',
    ]);
    await finishTools(world);
    await world.expectSound();
  });

  it('cannot be decided once it has expired, and is told as timed out by the run that goes on', async () => {
    const { world, run, ids } = await waiting(1);
    await run.release();
    await world.clock.advance(EXPIRY_MS);
    expect(await decide(world, ids[0] ?? '', true)).toBe('unknown');
    const { data } = await world.supervisor.listApprovals({ limit: 10 });
    expect(data).toMatchObject([{ decision_id: ids[0], state: 'timed_out' }]);
    const next = await world.continuationOf(run);
    expect(await outcomes(next)).toEqual(['call-0 timed_out']);
    expect(world.tools.executions).toEqual([]);
    world.model.turn.finish();
    await world.clock.settle();
    await world.expectSound();
  });

  it('is decidable until the very last moment', async () => {
    const { world, run, ids } = await waiting(1);
    await run.release();
    await world.clock.advance(EXPIRY_MS - 1);
    expect(await decide(world, ids[0] ?? '', true)).toBe('recorded');
    await finishTools(world);
    expect(world.tools.executions).toHaveLength(1);
    await world.expectSound();
  });

  it('is decided once: the same again is repeated, another one unknown, also at the same time', async () => {
    const { world, run, ids } = await waiting(1);
    await run.release();
    const [id = ''] = ids;
    const asked = [true, false, true, false].map((approved) =>
      world.supervisor.decide(id, { approved }),
    );
    await world.clock.settle();
    expect(await Promise.all(asked)).toEqual(['recorded', 'unknown', 'repeated', 'unknown']);
    await world.clock.settle();
    await finishTools(world);
    expect(world.tools.executions).toHaveLength(1);
    expect(await decide(world, id, true)).toBe('repeated');
    expect(await decide(world, id, false)).toBe('unknown');
    await world.expectSound();
  });

  it('of a run that was parked by hand is taken, and the run resumes by request alone (decision 46)', async () => {
    const { world, run, ids } = await waiting(1);
    await run.park();
    expect(await decide(world, ids[0] ?? '', true)).toBe('recorded');
    await world.clock.advance(EXPIRY_MS);
    expect(await run.record()).toMatchObject({
      continued_by: null,
      verbs: ['attach', 'cancel', 'resume'],
    });
    expect(world.tools.executions).toEqual([]);
    await world.resume(run);
    await finishTools(world);
    expect(world.tools.executions).toHaveLength(1);
    await world.expectSound();
  });

  it('brings its run back behind a live one of the session', async () => {
    const { world, run, ids } = await waiting(1);
    await run.release();
    const other = await world.start({ sessionId: run.sessionId });
    expect(await decide(world, ids[0] ?? '', true)).toBe('recorded');
    const next = await world.continuationOf(run);
    expect((await next.record()).state).toBe('queued');
    expect(world.tools.executions).toEqual([]);
    expect((await next.record()).approvals).toEqual([]);
    const { data } = await world.supervisor.listApprovals({ limit: 10 });
    expect(data).toMatchObject([{ decision_id: ids[0], run_id: next.runId, state: 'approved' }]);
    const pending = await world.supervisor.listApprovals({ limit: 10, state: 'pending' });
    expect(pending.data).toEqual([]);
    world.model.turn.say('first').finish();
    await other.event('finished');
    await world.clock.settle();
    await finishTools(world);
    expect(await next.event('started')).toMatchObject({ continues: run.runId });
    expect((await next.record()).state).toBe('finished');
    await world.expectSound();
  });

  it('that was decided stays so when its run is parked again before it could begin', async () => {
    const { world, run, ids } = await waiting(2);
    await run.release();
    const other = await world.start({ sessionId: run.sessionId });
    await decide(world, ids[0] ?? '', true);
    await decide(world, ids[1] ?? '', false);
    const next = await world.continuationOf(run);
    await next.park();
    expect(await next.record()).toMatchObject({ state: 'parked', approvals: [] });
    world.model.turn.finish();
    await other.event('finished');
    await world.clock.settle();
    const last = await world.resume(next);
    expect((await outcomes(last)).toSorted()).toEqual(['call-0 approved', 'call-1 denied']);
    await finishTools(world);
    expect(world.tools.executions).toHaveLength(1);
    await world.expectSound();
  });

  it('that was decided while its process was leaving brings the run back in the next one', async () => {
    const host = new Host();
    const first = await host.boot({ ...TOOLS, graceMs: 0 });
    const { run, ids } = await waiting(1, first);
    const busy = await first.start();
    await run.park();
    expect((await run.record()).state).toBe('parked');
    first.supervisor.shutdown('SIGTERM');
    expect(await decide(first, ids[0] ?? '', true)).toBe('recorded');
    await first.clock.advance(6_000);
    await busy.event('cancelled');
    const second = await host.boot(TOOLS);
    expect(second.tools.executions).toEqual([]); // By hand, so it waits.
    await second.resume(run);
    await finishTools(second);
    expect(second.tools.executions).toHaveLength(1);
    await host.expectSound();
  });
});

describe('a decision that races with the parking', () => {
  /** Turns of the event loop, and parts of one, that lie between the two. */
  const GAPS = Array.from({ length: 40 }, (_, gap) => gap);

  async function pass(gap: number): Promise<void> {
    for (let micro = 0; micro < gap % 10; micro += 1) await Promise.resolve();
    for (let turn = 0; turn < Math.floor(gap / 10); turn += 1) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  it.each(GAPS)('is not lost: %i steps apart', async (gap) => {
    const { world, run, ids } = await waiting(2);
    const second = world.supervisor.decide(ids[1] ?? '', { approved: false });
    world.supervisor.release(run.runId, 'reader');
    await pass(gap);
    const first = world.supervisor.decide(ids[0] ?? '', { approved: true });
    for (let settle = 0; settle < 4; settle += 1) await world.clock.settle();
    expect([await first, await second]).toEqual(['recorded', 'recorded']);
    const next = await world.continuationOf(run);
    await finishTools(world);
    expect(world.tools.executions.map(({ context }) => context.toolCallId)).toEqual(['call-0']);
    expect((await next.record()).state).toBe('finished');
    await world.expectSound();
  });

  it('and comes twice, once each way, is recorded once', async () => {
    for (const gap of GAPS) {
      const { world, run, ids } = await waiting(1);
      const [id = ''] = ids;
      world.supervisor.release(run.runId, 'reader');
      await pass(gap);
      const both = [true, false].map((approved) => world.supervisor.decide(id, { approved }));
      for (let settle = 0; settle < 4; settle += 1) await world.clock.settle();
      expect((await Promise.all(both)).toSorted(), `${gap} steps apart`).toEqual([
        'recorded',
        'unknown',
      ]);
      await finishTools(world);
      await world.expectSound();
    }
  });
});
