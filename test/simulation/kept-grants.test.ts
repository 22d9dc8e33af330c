import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { Host } from '../support/recovery-host.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from '../support/run-world.ts';

/** Hazard: an approval for a session must hold for that session, across its runs and processes, and no further. */

const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const TOOLS: RunWorldOptions = {
  tools: ['danger'],
  requireApproval: ['danger'],
  approvalTimeoutMs: 60_000,
  agent: { allowSessionGrants: true },
};

async function settled(world: RunWorld): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await world.clock.settle();
}

async function calling(world: RunWorld, change: Partial<StartRun> = {}): Promise<SimulatedRun> {
  const run = await world.start({ sessionId: 's', ...change });
  world.model.turn.call('danger', {}, 'call-0').finish('tool_calls');
  await settled(world);
  return run;
}

async function grant(world: RunWorld, run: SimulatedRun): Promise<string> {
  const { decision_id: id } = await run.event('approval_requested');
  const decided = world.supervisor.decide(id, { approved: true, grant: 'session' });
  await settled(world);
  expect(await decided).toBe('recorded');
  return id;
}

async function finish(world: RunWorld): Promise<void> {
  for (const execution of world.tools.executions) execution.answer('done');
  await settled(world);
  world.model.turn.finish();
  await settled(world);
}

const isAsked = async (run: SimulatedRun): Promise<boolean> =>
  (await run.types()).includes('approval_pending');

describe('an approval for the rest of a session', () => {
  it('covers what its own rule holds back, and not what another rule with its pattern does', async () => {
    const to = (value: string) => [{ pointer: '/to', op: 'eq', value } as const];
    const world = new RunWorld({
      tools: ['pay'],
      requireApproval: ['pay'],
      agent: {
        allowSessionGrants: true,
        approvalRules: [
          { tools: ['pay'], when: to('friend'), effect: 'approve' },
          { tools: ['pay'], when: to('stranger'), effect: 'approve' },
        ],
      },
    });
    const paying = async (name: string) => {
      const run = await world.start({ sessionId: 's' });
      world.model.turn.call('pay', { to: name }, 'call-0').finish('tool_calls');
      await settled(world);
      return run;
    };
    await grant(world, await paying('friend'));
    await finish(world);
    expect(await isAsked(await paying('friend'))).toBe(false);
    await finish(world);
    for (const name of ['stranger', 'nobody']) {
      const run = await paying(name);
      expect(await isAsked(run), name).toBe(true);
      await run.cancel();
      await settled(world);
    }
    await world.expectSound();
  });

  it('is kept only after the decision that gives it', async () => {
    const written: string[] = [];
    const store = createMemoryStore();
    const watched: Store = new Proxy(store, {
      get: (target, key, receiver) => {
        const value: unknown = Reflect.get(target, key, receiver);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const text = JSON.stringify(args);
          if (key === 'putGrant') written.push('grant');
          if (key === 'append' && text.includes('approval_completed')) written.push('decision');
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
    const world = new RunWorld({ ...TOOLS, store: watched });
    const run = await calling(world);
    await grant(world, run);
    expect(written).toEqual(['decision', 'grant']);
    await finish(world);
    await world.expectSound();
  });

  it('covers the next run of the session, which says by which decision', async () => {
    const world = new RunWorld(TOOLS);
    const first = await calling(world);
    const id = await grant(world, first);
    await finish(world);
    const second = await calling(world);

    expect(await isAsked(second)).toBe(false);
    expect(await second.event('approval_completed')).toMatchObject({
      outcome: { kind: 'approved' },
      granted_by: id,
    });
    await finish(world);
    await world.expectSound();
  });

  it('covers no other session', async () => {
    const world = new RunWorld(TOOLS);
    const run = await calling(world);
    await grant(world, run);
    const other = await calling(world, { sessionId: 'other' });

    expect(await isAsked(other)).toBe(true);
    for (const one of [other, run]) await one.cancel();
    await settled(world);
    await world.expectSound();
  });

  it('covers the session in the next process', async () => {
    const host = new Host();
    const first = await host.boot(TOOLS);
    const id = await grant(first, await calling(first));
    await finish(first);
    first.kill();
    const second = await host.boot(TOOLS, { afterMs: 1_000_000 });
    const run = await calling(second);

    expect(await run.event('approval_completed')).toMatchObject({ granted_by: id });
    await finish(second);
    await host.expectSound();
  });

  it('may be given to a run that is parked, and covers what that calls next', async () => {
    const world = new RunWorld(TOOLS);
    const run = await calling(world, PARK);
    await run.release();
    const id = await grant(world, run);
    const next = await world.continuationOf(run);
    for (const execution of world.tools.executions) execution.answer('done');
    await settled(world);
    world.model.turn.call('danger', {}, 'call-1').finish('tool_calls');
    await settled(world);

    const answers = (await next.events()).flatMap((event) =>
      event.type === 'approval_completed' ? [event] : [],
    );
    expect(answers.map((event) => event.granted_by)).toEqual([undefined, id]);
    await finish(world);
    await world.expectSound();
  });

  it('goes with the entries of the session', async () => {
    const world = new RunWorld(TOOLS);
    await grant(world, await calling(world));
    await finish(world);
    await world.store.trim('s', await world.store.head('s'));
    const later = await world.start({ sessionId: 's' });
    world.model.turn.call('danger', {}, 'call-0').finish('tool_calls');
    await settled(world);

    expect((await world.supervisor.record(later.runId))?.state).toBe('waiting');
    await later.cancel();
    await settled(world);
  });
});
