import { describe, expect, it, vi } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import type { LivenessPolicy } from '../../machines/vocabulary.ts';
import { RunWorld, type SimulatedRun } from '../support/run-world.ts';

/** What becomes of a run when nobody reads it any more, as its start said. */

const GRACE_MS = 10_000;
const POLICIES = ['cancel', 'continue', 'park'] as const;

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

describe('liveness: without a grace', () => {
  it('cancel ends the run, in the order of the contract', async () => {
    const { world, run } = await begun('cancel');
    await run.release();
    expect((await run.types()).slice(-7)).toEqual([
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'stopping',
      'obligation',
      'obligation',
      'cancelled',
    ]);
    expect(await run.event('liveness_decided')).toMatchObject({ policy: 'cancel' });
    const end = await run.event('cancelled');
    expect(end).toMatchObject({ reason: 'unclaimed', end: { by: 'client' } });
    const named = await Promise.all(end.end.evidence.map((seq) => typeAt(world, run, seq)));
    expect(named).toEqual([
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'stopping',
    ]);
    await world.expectSound();
  });

  it('continue lets it work on to its end, without a reader (INV-59)', async () => {
    const { world, run } = await begun('continue');
    await run.release();
    expect(await story(run)).toEqual([
      'attached',
      'detached released',
      'exhausted 0',
      'decided continue',
    ]);
    expect(world.model.turn.signal.aborted).toBe(false);
    expect((await run.record()).state).toBe('running');
    world.model.turn.call('work').finish('tool_calls');
    await world.clock.settle();
    world.tools.last('work').answer('42');
    await world.clock.settle();
    await end(world);
    expect(await run.event('finished')).toMatchObject({ end: { by: 'agent' } });
  });

  it('park lets it work on to its next checkpoint and ends it there', async () => {
    const { world, run } = await begun('park');
    await run.release();
    expect(world.model.turn.signal.aborted).toBe(false);
    world.model.turn.call('work').finish('tool_calls');
    await world.clock.settle();
    expect((await run.types()).filter((type) => type !== 'obligation').slice(-5)).toEqual([
      'claims_exhausted',
      'liveness_decided',
      'tool_requested',
      'usage',
      'parked',
    ]);
    expect(await run.event('parked')).toMatchObject({ reason: 'unclaimed', end: { by: 'client' } });
    await world.expectSound();
  });

  it('park lets a run finish whose answer comes before any checkpoint', async () => {
    const { world, run } = await begun('park');
    await run.release();
    await end(world);
    expect((await run.record()).state).toBe('finished');
  });
});

async function typeAt(world: RunWorld, run: SimulatedRun, seq: number) {
  const entries = await world.journal(run.sessionId);
  return entries[seq - 1]?.payload.event.type;
}

describe.each(POLICIES)('liveness: a grace window under %s', (policy) => {
  it('leaves no trace but the attach when a claim comes inside it', async () => {
    const { world, run } = await begun(policy, GRACE_MS);
    await run.release();
    await world.clock.advance(GRACE_MS - 1);
    expect(world.supervisor.claim(run.runId, 'again')).toBe(true);
    await world.clock.advance(3 * GRACE_MS);
    expect(await story(run)).toEqual([
      'attached',
      'detached released',
      `exhausted ${GRACE_MS}`,
      'attached within grace',
    ]);
    expect((await run.types()).slice(-2)).toEqual(['claims_exhausted', 'observer_attached']);
    expect((await run.record()).claims).toEqual([{ id: 'again', presence: false }]);
    expect(world.model.turn.signal.aborted).toBe(false);
    await end(world);
    expect((await run.record()).state).toBe('finished');
  });

  it('is counted from the last detach, and whole again after each', async () => {
    const { world, run } = await begun(policy, GRACE_MS);
    for (const reader of ['a', 'b', 'c']) {
      await run.release(reader === 'a' ? 'reader' : previous(reader));
      await world.clock.advance(GRACE_MS - 1);
      world.supervisor.claim(run.runId, reader);
    }
    await run.release('c');
    await world.clock.advance(GRACE_MS - 1);
    expect((await story(run)).at(-1)).toBe(`exhausted ${GRACE_MS}`);
    await world.clock.advance(1);
    expect((await story(run)).at(-1)).toBe(`decided ${policy}`);
    if (policy !== 'cancel') await end(world);
    await world.expectSound();
  });

  it('acts when it is over, and a claim that comes later finds it so', async () => {
    const { world, run } = await begun(policy, GRACE_MS);
    await run.release();
    await world.clock.advance(GRACE_MS);
    expect(await story(run)).toEqual([
      'attached',
      'detached released',
      `exhausted ${GRACE_MS}`,
      `decided ${policy}`,
    ]);
    expect(world.supervisor.claim(run.runId, 'late')).toBe(policy === 'continue');
    if (policy !== 'cancel') await end(world);
    await world.expectSound();
  });

  it('does not hold up a run that ends meanwhile, and leaves no timer', async () => {
    const { world, run } = await begun(policy, GRACE_MS);
    await run.release();
    await end(world);
    expect(await run.event('finished')).toBeDefined();
    expect((await story(run)).at(-1)).toBe(`exhausted ${GRACE_MS}`);
  });
});

const previous = (reader: string): string => String.fromCharCode(reader.charCodeAt(0) - 1);

describe('liveness: claims', () => {
  it('continue decides again at each loss', async () => {
    const { world, run } = await begun('continue');
    await run.release();
    world.supervisor.claim(run.runId, 'second');
    await run.release('second');
    world.supervisor.claim(run.runId, 'third');
    await run.release('third');
    expect(await story(run)).toEqual(
      ['attached', 'detached released', 'exhausted 0', 'decided continue'].flatMap((_, at, once) =>
        at < 3 ? once : [],
      ),
    );
    await end(world);
  });

  it.each(POLICIES)(
    'a headless run under %s that never had one is never exhausted',
    async (policy) => {
      const world = new RunWorld();
      const { liveness = { policy, graceMs: 0 } } = under(policy);
      const { runId, sessionId } = await startUnclaimed(world, { liveness });
      const run = world.run(runId, sessionId);
      world.supervisor.release(runId, 'nobody');
      await world.clock.advance(60_000);
      expect(await story(run)).toEqual([]);
      expect((await run.record()).state).toBe('running');
      await end(world);
      expect((await run.record()).state).toBe('finished');
    },
  );

  it('a headless run that is claimed later can be exhausted', async () => {
    const world = new RunWorld();
    const { runId, sessionId } = await startUnclaimed(world, {});
    const run = world.run(runId, sessionId);
    world.supervisor.claim(runId, 'reader');
    await run.release();
    expect(await story(run)).toEqual([
      'attached',
      'detached released',
      'exhausted 0',
      'decided cancel',
    ]);
    await world.expectSound();
  });

  it('a second reader keeps the run', async () => {
    const { world, run } = await begun('cancel');
    world.supervisor.claim(run.runId, 'second');
    await run.release();
    expect(await story(run)).toEqual(['attached', 'attached', 'detached released']);
    await run.release('second');
    expect(await run.event('cancelled')).toMatchObject({ reason: 'unclaimed' });
    await world.expectSound();
  });

  it('counts once, however often it comes, and an unknown one is no loss', async () => {
    const { world, run } = await begun('cancel');
    for (let times = 0; times < 3; times += 1) world.supervisor.claim(run.runId, 'reader');
    await run.release('stranger');
    expect(await story(run)).toEqual(['attached']);
    await run.release();
    expect(await run.event('cancelled')).toMatchObject({ reason: 'unclaimed' });
    await run.release();
    await world.expectSound();
  });

  it.each(['released', 'expired', 'displaced'] as const)('that is %s says so', async (because) => {
    const { world, run } = await begun('cancel');
    world.supervisor.release(run.runId, 'reader', because);
    expect(await story(run)).toContain(`detached ${because}`);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'unclaimed' });
    await world.expectSound();
  });

  it('that goes after the decision to park is no event for anybody', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const { world, run } = await begun('park');
    await run.release();
    await run.release();
    expect(warn.mock.calls).toEqual([]);
    warn.mockRestore();
    expect((await story(run)).at(-1)).toBe('decided park');
    await end(world);
  });

  it('of a run nobody knows is refused', async () => {
    const { world, run } = await begun('cancel');
    expect(world.supervisor.claim('no-such-run', 'reader')).toBe(false);
    await end(world);
    expect(world.supervisor.claim(run.runId, 'reader')).toBe(false);
  });

  it('collecting readers come and go without a trace, and are counted (decision 20)', async () => {
    const { world, run } = await begun('cancel');
    const before = await run.types();
    world.supervisor.observe(run.runId, 1);
    world.supervisor.observe(run.runId, 1);
    world.supervisor.observe(run.runId, -1);
    expect((await run.record()).observers).toBe(1);
    expect(await run.types()).toEqual(before);
    await end(world);
  });
});

/** As a headless start does: nobody reads. */
async function startUnclaimed(world: RunWorld, change: Partial<StartRun>) {
  const [started] = await Promise.all([
    world.supervisor.start({
      agent: 'agent',
      sessionId: 'headless',
      messages: [{ role: 'user', content: 'Hello' }],
      prompt: 'Hello',
      streaming: false,
      liveness: { policy: 'cancel', graceMs: 0 },
      onBusy: 'reject',
      requestHeaders: {},
      ...change,
    }),
    world.clock.settle(),
  ]);
  return started;
}
