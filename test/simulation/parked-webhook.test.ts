import { describe, expect, it } from 'vitest';
import { ManualWebhook } from '../support/manual-webhook.ts';
import {
  type Asking,
  asking,
  EXPIRY_MS,
  lastId,
  optionsOf,
  PARK,
  pending,
  playOut,
  settled,
  signed,
  takenBack,
  told,
} from '../support/parked-webhook-kit.ts';
import { RunWorld } from '../support/run-world.ts';

/**
 * Hazard: somebody looks at a question that nobody waits for any more, because the run that asked it is not
 * in memory. A question to a webhook never outlives its run: a run that parks takes it back, and the run
 * that goes on with it asks anew.
 */

/** A run that parks waits no longer for what the webhook says to a notice. */
const PATIENCE_MS = 800;
/** A drain gives a run so long to come to where it can park. */
const DRAIN_PARK_MS = 4_000;
/** A notice is cut off after that. */
const NOTICE_MS = 5_000;

const PARKINGS = [
  { how: 'by hand', reason: 'external', park: ({ run }: Asking) => run.park() },
  {
    how: 'because nobody claims it',
    reason: 'unclaimed',
    park: ({ run }: Asking) => run.release(),
  },
  {
    how: 'in a shutdown',
    reason: 'shutdown',
    park: ({ world }: Asking) => world.supervisor.shutdown('SIGTERM'),
  },
] as const;

describe('a webhook whose run is parked', () => {
  it.each(PARKINGS)(
    '$how is told why, once, before the run is parked',
    async ({ reason, park }) => {
      const at = await asking();
      await park(at);
      await settled(at.world);

      expect(at.webhook.notices).toEqual([{ decisionId: at.decisionId, reason }]);
      expect(at.webhook.questions[0]?.signal.aborted).toBe(true);
      expect(await told(at.run)).toMatchObject(takenBack(at, reason));
      await at.world.clock.advance(2 * EXPIRY_MS);
      await settled(at.world);
      expect(at.webhook.notices).toHaveLength(1);
      expect(at.world.tools.executions).toEqual([]);
      await at.world.expectSound();
    },
  );

  it.each(PARKINGS.slice(0, 2))('$how is asked anew by the run that goes on', async ({ park }) => {
    const at = await asking();
    const { webhook, world, run, decisionId } = at;
    await world.clock.advance(EXPIRY_MS - 1);
    await park(at);
    const next = await world.resume(run);
    await settled(world);

    expect(webhook.questions).toHaveLength(2);
    const again = lastId(webhook);
    expect(again).not.toBe(decisionId);
    expect(webhook.questions[1]?.question).toMatchObject({ toolName: 'danger' });
    expect(await pending(world)).toEqual([again]);
    await world.clock.advance(EXPIRY_MS - 1); // It has all of its time again.
    expect(world.tools.executions).toEqual([]);
    await playOut(at);
    expect(world.tools.executions).toHaveLength(1);
    expect(await next.event('approval_completed')).toMatchObject({
      decision_id: again,
      outcome: { kind: 'approved' },
      decided_by: 'webhook',
    });
    await next.event('finished');
    expect(webhook.notices).toHaveLength(1);
    await world.expectSound();
  });

  it('is told once of each question when the run that goes on is parked too', async () => {
    const at = await asking();
    const { webhook, world, run } = at;
    await run.park();
    const next = await world.resume(run);
    await next.release();
    await next.park();
    const ids = webhook.questions.map(({ question }) => question.decisionId);
    expect(new Set(ids).size).toBe(2);
    expect(webhook.notices.map(({ decisionId }) => decisionId)).toEqual(ids);
    await world.resume(next);
    await playOut(at);
    expect(webhook.questions).toHaveLength(3);
    expect(world.tools.executions).toHaveLength(1);
    await world.expectSound();
  });

  it('denies the call of the run that goes on when its time is up again', async () => {
    const at = await asking();
    await at.run.park();
    const next = await at.world.resume(at.run);
    await at.world.clock.advance(EXPIRY_MS);
    await settled(at.world);
    expect(await next.event('approval_completed')).toMatchObject({
      outcome: { kind: 'timed_out', waited_ms: EXPIRY_MS },
    });
    expect(at.webhook.notices.map(({ reason }) => reason)).toEqual(['external', 'timed_out']);
    at.world.model.turn.finish();
    await settled(at.world);
    expect(at.world.tools.executions).toEqual([]);
    await at.world.expectSound();
  });

  it('can do nothing for it: neither an answer, a signed decision nor time brings it back', async () => {
    const at = await asking();
    const { webhook, world, run, decisionId } = at;
    await run.release();
    expect(await run.record()).toMatchObject({ state: 'parked', approvals: [] });
    expect(await pending(world)).toEqual([]);
    for (const approved of [true, false]) {
      expect(await signed(world, decisionId, approved)).toBe('unknown');
    }
    webhook.questions[0]?.approve();
    await world.clock.advance(2 * EXPIRY_MS);
    await settled(world);
    expect(await run.record()).toMatchObject({ continued_by: null });
    await world.resume(run);
    expect(await signed(world, decisionId)).toBe('unknown');
    expect(world.tools.executions).toEqual([]);
    await playOut(at);
    expect(world.tools.executions).toHaveLength(1);
    await world.expectSound();
  });

  it('is not told again when the parked run is cancelled', async () => {
    const at = await asking();
    await at.run.release();
    await at.run.cancel();
    await at.world.clock.advance(2 * EXPIRY_MS);
    await settled(at.world);
    expect(at.webhook.notices).toEqual([{ decisionId: at.decisionId, reason: 'unclaimed' }]);
    await at.world.expectSound();
  });
});

describe('a notice of a run that parks', () => {
  it('that is refused is on record as such, and the run is parked', async () => {
    const at = await asking();
    at.webhook.manner = 'refused';
    await at.run.park();
    expect(await told(at.run)).toMatchObject(takenBack(at, 'external', false));
    expect(at.webhook.notices).toHaveLength(1);
    await at.world.resume(at.run);
    await playOut(at);
    await at.world.expectSound();
  });

  it.each(PARKINGS)(
    'that is not answered holds up the park for a while ($how)',
    async (parking) => {
      const at = await asking();
      at.webhook.manner = 'unheard';
      const parked = parking.park(at);
      await settled(at.world);
      await at.world.clock.advance(PATIENCE_MS - 1);
      expect(await at.run.types()).not.toContain('parked');
      await at.world.clock.advance(1);
      await settled(at.world);
      await parked;

      expect(await told(at.run)).toMatchObject(takenBack(at, parking.reason, false));
      await at.world.clock.advance(NOTICE_MS - PATIENCE_MS);
      await settled(at.world);
      expect(at.webhook.notices).toHaveLength(1);
      await at.world.expectSound();
    },
  );

  it('loses no park in a drain, however late the run comes to its checkpoint', async () => {
    const webhook = new ManualWebhook();
    const world = new RunWorld(optionsOf(webhook));
    const run = await world.start(PARK);
    world.model.turn.call('danger', {}, 'call-0').call('danger', {}, 'call-1').finish('tool_calls');
    await settled(world);
    webhook.questions[0]?.approve();
    await settled(world);
    webhook.manner = 'unheard';
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(DRAIN_PARK_MS - 1);
    world.tools.executions[0]?.answer('done');
    await settled(world);
    await world.clock.advance(NOTICE_MS);
    expect((await run.event('parked')).reason).toBe('shutdown');
    await world.expectSound();
  });

  it('leaves nothing to decide while it is under way', async () => {
    const at = await asking();
    const { webhook, world, run, decisionId } = at;
    webhook.manner = 'unheard';
    await run.release();
    expect(webhook.notices).toHaveLength(1);
    expect(await pending(world)).toEqual([]);
    const decided = [true, false].map((approved) =>
      world.supervisor.decide(decisionId, { approved, signed: true }),
    );
    webhook.questions[0]?.approve();
    await world.clock.advance(PATIENCE_MS);
    await settled(world);
    expect(await Promise.all(decided)).toEqual(['unknown', 'unknown']);
    expect(await told(run)).toMatchObject(takenBack(at, 'unclaimed', false));
    expect(world.tools.executions).toEqual([]);
    await world.clock.advance(NOTICE_MS);
    await world.expectSound();
  });

  it('does not keep the run from being cancelled while it is under way', async () => {
    const at = await asking();
    at.webhook.manner = 'unheard';
    await at.run.release();
    const cancelled = at.run.cancel();
    await at.world.clock.advance(PATIENCE_MS);
    await cancelled;
    await settled(at.world);
    await expect(at.world.resume(at.run)).rejects.toThrow('not parked');
    expect(at.webhook.notices).toEqual([{ decisionId: at.decisionId, reason: 'unclaimed' }]);
    await at.world.clock.advance(NOTICE_MS);
    await at.world.expectSound();
  });
});
