import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { ManualWebhook } from '../support/manual-webhook.ts';
import { Host } from '../support/recovery-host.ts';
import { RunWorld, type RunWorldOptions } from '../support/run-world.ts';

/**
 * Hazard: somebody looks at a question that nobody waits for any more, because the run that asked it is not
 * in memory. However a parked run's question becomes moot, its webhook is told, and told once.
 */

const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const EXPIRY_MS = 60_000;

const optionsOf = (webhook: ManualWebhook): RunWorldOptions => ({
  tools: ['danger'],
  requireApproval: ['danger'],
  approvalTimeoutMs: EXPIRY_MS,
  agent: { approvalChannel: webhook },
});

/** A run that asked the webhook. */
async function asking(webhook: ManualWebhook, world = new RunWorld(optionsOf(webhook))) {
  const run = await world.start(PARK);
  world.model.turn.call('danger', {}, 'call-0').finish('tool_calls');
  await settled(world);
  expect(webhook.questions).toHaveLength(1);
  const decisionId = webhook.questions[0]?.question.decisionId ?? '';
  return { world, run, decisionId };
}

async function settled(world: RunWorld): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await world.clock.settle();
}

const playOn = async (world: RunWorld): Promise<void> => {
  world.model.turn.finish();
  await settled(world);
};

describe('a webhook that a parked run has asked', () => {
  it('is told once when the time is up, and the run goes on and says so', async () => {
    const webhook = new ManualWebhook();
    const { world, run, decisionId } = await asking(webhook);
    await run.release();
    expect(webhook.notices).toEqual([]);
    await world.clock.advance(EXPIRY_MS);
    await settled(world);

    const next = await world.continuationOf(run);
    expect(await next.event('approval_withdrawn')).toMatchObject({
      decision_id: decisionId,
      reason: 'timed_out',
      notified: true,
    });
    await playOn(world);
    expect(webhook.notices).toEqual([{ decisionId, reason: 'timed_out' }]);
    expect(world.tools.executions).toEqual([]);
    await world.expectSound();
  });

  it('is told once when the time is up of a run that was parked by hand', async () => {
    const webhook = new ManualWebhook();
    const { world, run, decisionId } = await asking(webhook);
    await run.park();
    await world.clock.advance(EXPIRY_MS);
    expect(webhook.notices).toEqual([{ decisionId, reason: 'timed_out' }]);
    expect((await run.record()).continued_by).toBeNull();

    const next = await world.resume(run);
    await playOn(world);
    await next.event('finished');
    expect(webhook.notices).toHaveLength(1);
    await world.expectSound();
  });

  it('is told again by a process that cannot know whether it was heard', async () => {
    const webhook = new ManualWebhook();
    const host = new Host();
    const first = await host.boot(optionsOf(webhook));
    const { run } = await asking(webhook, first);
    await run.park();
    await first.clock.advance(EXPIRY_MS);
    expect(webhook.notices).toHaveLength(1);
    first.kill();
    const second = await host.boot(optionsOf(webhook), { afterMs: 2 * EXPIRY_MS });
    await second.resume(run);
    await second.playOn();

    expect(webhook.notices).toHaveLength(2);
    expect(new Set(webhook.notices.map(({ decisionId }) => decisionId)).size).toBe(1);
    await host.expectSound();
  });

  it('is told by the next process when the time was up meanwhile', async () => {
    const webhook = new ManualWebhook();
    const host = new Host();
    const first = await host.boot(optionsOf(webhook));
    const { run, decisionId } = await asking(webhook, first);
    await run.park();
    first.kill();
    const second = await host.boot(optionsOf(webhook), { afterMs: 2 * EXPIRY_MS });
    await settled(second);

    expect(webhook.notices).toEqual([{ decisionId, reason: 'timed_out' }]);
    await host.expectSound();
  });

  it('is told when the run is cancelled', async () => {
    const webhook = new ManualWebhook();
    const { world, run, decisionId } = await asking(webhook);
    await run.release();
    await run.cancel();
    await settled(world);
    await world.clock.advance(2 * EXPIRY_MS);

    expect(webhook.notices).toEqual([{ decisionId, reason: 'external' }]);
    await world.expectSound();
  });

  it('holds up neither the run nor the next expiry when it is deaf', async () => {
    const webhook = new ManualWebhook();
    const { world, run } = await asking(webhook);
    webhook.isDeaf = true;
    await run.release();
    await world.clock.advance(EXPIRY_MS);
    await settled(world);
    const next = await world.continuationOf(run);
    await world.clock.advance(5_000);
    await settled(world);

    expect(await next.event('approval_withdrawn')).toMatchObject({ notified: false });
    await playOn(world);
    expect(webhook.notices).toHaveLength(1);
    await world.expectSound();
  });
});
