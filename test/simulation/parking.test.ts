import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { RunWorld, type RunWorldOptions } from '../support/run-world.ts';

/** A run ends resumable at its next checkpoint, and another one goes on with it. */

const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const TOOLS: RunWorldOptions = { tools: ['danger', 'safe'], requireApproval: ['danger'] };

async function waiting(options: RunWorldOptions = {}) {
  const world = new RunWorld({ ...TOOLS, ...options });
  const run = await world.start(PARK);
  world.model.turn.say('I shall.').call('danger', { path: 'x' }, 'a').finish('tool_calls');
  await world.clock.settle();
  const { decision_id: id } = await run.event('approval_pending');
  return { world, run, id };
}

describe('a run under park whose last reader leaves', () => {
  it('is parked at once when it waits for a person, and its approval stays open', async () => {
    const { world, run, id } = await waiting();
    await run.release();
    expect((await run.types()).slice(-5)).toEqual([
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'usage',
      'parked',
    ]);
    const record = await run.record();
    expect(record).toMatchObject({ state: 'parked', approvals: [id], verbs: ['attach', 'cancel'] });
    expect(record.end).toMatchObject({ by: 'client', reason: 'unclaimed' });
    await world.expectNoTimers();
    await world.expectSound();
  });

  it('goes on when its last approval is decided, and executes the call once', async () => {
    const { world, run, id } = await waiting();
    await run.release();
    expect(await world.supervisor.decide(id, { approved: true })).toBe('recorded');
    const next = await world.continuationOf(run);
    expect(await next.event('started')).toMatchObject({ continues: run.runId });
    await world.clock.settle();
    world.tools.last('danger').answer('gone');
    await world.clock.settle();
    expect(world.model.turn.request.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
    ]);
    world.model.turn.say('Done.').finish();
    await world.clock.settle();
    expect(await next.types()).toEqual([
      'started',
      'tool_requested',
      'session_info',
      'approval_completed',
      'tool_start',
      'tool_complete',
      'text_delta',
      'tool_usage',
      'usage',
      'finished',
    ]);
    expect(world.tools.executions).toHaveLength(1);
    expect(await world.supervisor.decide(id, { approved: true })).toBe('repeated');
    expect(await world.supervisor.decide(id, { approved: false })).toBe('unknown');
    await world.expectSound();
  });

  it('waits for the end of the turn, then leaves its calls to the run that goes on', async () => {
    const world = new RunWorld(TOOLS);
    const run = await world.start(PARK);
    await run.release();
    expect((await run.record()).verbs).toEqual(['attach', 'cancel']);
    world.model.turn.say('Let me see.').call('safe', {}, 's').finish('tool_calls');
    await run.event('parked');
    expect(world.tools.executions).toEqual([]);
    await world.clock.settle();
    const resumed = world.supervisor.resume(run.runId, {});
    await world.clock.settle();
    const { runId } = (await resumed) ?? { runId: '' };
    const next = world.run(runId, run.sessionId);
    await world.clock.settle();
    world.tools.last('safe').answer('42');
    await world.clock.settle();
    world.model.turn.say('42').finish();
    await next.event('finished');
    await world.expectSound();
  });

  it('is cancelled as unclaimed when it comes to no checkpoint in time', async () => {
    const world = new RunWorld({ ...TOOLS, limits: { parkMs: 10_000 } });
    const run = await world.start(PARK);
    await run.release();
    await world.clock.advance(10_000);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'unclaimed' });
    await world.expectSound();
  });
});
