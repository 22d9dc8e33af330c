import { describe, expect, it } from 'vitest';
import type { LivenessPolicy } from '../../machines/vocabulary.ts';
import { PolicyUnsupportedError } from '../../src/errors.ts';
import type { StartRun } from '../../src/handle.ts';
import { RunWorld, type SimulatedRun } from '../support/run-world.ts';

/** What is a lost claim and what is not, and policies that cannot be kept. */

const GRACE_MS = 10_000;

const under = (policy: LivenessPolicy, graceMs = 0): Partial<StartRun> => ({
  liveness: { policy, graceMs },
});

/** Events of the claims alone, with what tells them apart. */
async function story(run: SimulatedRun): Promise<string[]> {
  return (await run.events()).flatMap((event) => {
    switch (event.type) {
      case 'observer_attached':
        return [event.within_grace === true ? 'attached within grace' : 'attached'];
      case 'observer_detached':
        return [`detached ${event.because}`];
      case 'claims_exhausted':
        return [`exhausted ${event.grace_ms}`];
      case 'liveness_decided':
        return [`decided ${event.policy}`];
      default:
        return [];
    }
  });
}

async function begun(policy: LivenessPolicy, graceMs = 0) {
  const world = new RunWorld({ tools: ['work'] });
  const run = await world.start(under(policy, graceMs));
  return { world, run };
}

/** Whatever the policy, the run comes to its end. */
async function end(world: RunWorld): Promise<void> {
  world.model.turn.say('done').finish();
  await world.clock.settle();
  await world.expectSound();
}

describe('liveness: causes of an end are told apart (INV-32)', () => {
  it('a lost claim, a request and a shutdown each have their own reason', async () => {
    const { world, run: left } = await begun('cancel');
    const asked = await world.start(under('cancel'));
    const caught = await world.start(under('continue'));
    await left.release();
    await asked.cancel();
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(60_000);
    const reasons = await Promise.all(
      [left, asked, caught].map(async (run) => (await run.event('cancelled')).reason),
    );
    expect(reasons).toEqual(['unclaimed', 'external', 'shutdown']);
    await world.expectSound();
  });

  it('a request inside the window ends the run as asked for, not as unclaimed', async () => {
    const { world, run } = await begun('cancel', GRACE_MS);
    await run.release();
    await run.cancel('enough');
    expect(await run.event('cancelled')).toMatchObject({ reason: 'external', message: 'enough' });
    expect(await story(run)).not.toContain('decided cancel');
    await world.expectSound();
  });

  it('a shutdown is no detach', async () => {
    const { world, run } = await begun('park');
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(60_000);
    expect(await story(run)).toEqual(['attached']);
    await world.expectSound();
  });
});

describe('liveness: a policy that the agent cannot keep', () => {
  it('is refused at the start, and nothing is written', async () => {
    const world = new RunWorld({ canPark: false });
    await expect(world.start(under('park'))).rejects.toBeInstanceOf(PolicyUnsupportedError);
    await world.clock.settle();
    expect(await world.journal('session-1')).toEqual([]);
    expect(await world.supervisor.listRuns({ limit: 10 })).toEqual({ data: [], next: null });
    expect(await world.supervisor.getSession('session-1')).toBeUndefined();
    expect(world.model.turns).toEqual([]);
    expect(world.clock.pending).toEqual([]);
  });

  it('is refused by hand too, and the run goes on', async () => {
    const world = new RunWorld({ canPark: false });
    const run = await world.start(under('continue'));
    expect((await run.record()).verbs).toEqual(['attach', 'cancel']);
    await expect(world.supervisor.park(run.runId)).rejects.toMatchObject({
      code: 'policy_unsupported',
    });
    await end(world);
    expect((await run.record()).state).toBe('finished');
  });

  it('is cancelled at a shutdown like any other, where the agent can park and the policy says not to', async () => {
    const { world, run } = await begun('continue');
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(60_000);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    await world.expectSound();
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 2_147_483_648])(
    'a grace of %s ms is refused, with its name (INV-34)',
    async (graceMs) => {
      const world = new RunWorld();
      await expect(world.start(under('cancel', graceMs))).rejects.toMatchObject({
        code: 'invalid_request_error',
        message: expect.stringContaining('liveness.graceMs'),
      });
      expect(world.clock.pending).toEqual([]);
    },
  );
});

describe('liveness: delivery', () => {
  it('that fails is no detach: a reader whose journal breaks keeps its claim', async () => {
    const { world, run } = await begun('cancel');
    const read = world.store.read;
    world.store.read = () => {
      throw new Error('the disk is gone');
    };
    const failures: Error[] = [];
    world.supervisor.journal.follow(
      { sessionId: run.sessionId, runId: run.runId, from: 1 },
      { entries: () => true, gap: () => {}, failed: (error) => failures.push(error) },
    );
    await world.clock.advance(60_000);
    expect(failures).toHaveLength(1);
    world.store.read = read;
    expect(await story(run)).toEqual(['attached']);
    expect((await run.record()).claims).toHaveLength(1);
    await end(world);
    expect((await run.record()).state).toBe('finished');
  });
});
