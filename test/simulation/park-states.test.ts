import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import type { ToolSource } from '../../src/tool.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from '../support/run-world.ts';

/** Where a run may be when it is asked to park, and what becomes of it from there. */

const UNREAD: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const TOOLS: RunWorldOptions = { tools: ['danger', 'safe'], requireApproval: ['danger'] };
const LATE_MS = 120_000;

interface Scene {
  readonly world: RunWorld;
  readonly run: SimulatedRun;
}

async function streaming(options: RunWorldOptions = {}): Promise<Scene> {
  const world = new RunWorld({ ...TOOLS, ...options });
  const run = await world.start(UNREAD);
  world.model.turn.say('I shall');
  return { world, run };
}

/** Its tools are asked for: `safe` ones run, `danger` ones wait for a person. */
async function acting(names: readonly string[], options: RunWorldOptions = {}): Promise<Scene> {
  const scene = await streaming(options);
  for (const [at, name] of names.entries()) scene.world.model.turn.call(name, { at }, `call-${at}`);
  scene.world.model.turn.finish('tool_calls');
  await scene.world.clock.settle();
  return scene;
}

async function queued(): Promise<Scene & { readonly first: SimulatedRun }> {
  const world = new RunWorld(TOOLS);
  const first = await world.start({ ...UNREAD, sessionId: 'one' });
  const run = await world.start({ ...UNREAD, sessionId: 'one', onBusy: 'enqueue' });
  return { world, first, run };
}

/** A setup that ends when the test says so, or when it is told to stop. */
function slowSetup(): { readonly source: ToolSource; readonly open: () => void } {
  const opened = Promise.withResolvers<void>();
  const source: ToolSource = {
    acquire: async ({ signal }) => {
      const stopped = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
      await Promise.race([opened.promise, stopped]);
      return { tools: [], servers: [], release: () => Promise.resolve() };
    },
  };
  return { source, open: opened.resolve };
}

/** How a run is asked to park, and what the `parked` entry says of it. */
const WAYS = {
  'by hand': {
    ask: async ({ run }: Scene) => void (await run.park()),
    end: { reason: 'external', end: { by: 'operator' } },
  },
  'as its last reader leaves': {
    ask: ({ run }: Scene) => run.release(),
    end: { reason: 'unclaimed', end: { by: 'client' } },
  },
  'at a shutdown': {
    ask: async ({ world }: Scene) => {
      world.supervisor.shutdown('SIGTERM');
      await world.clock.advance(0);
    },
    end: { reason: 'shutdown', end: { by: 'supervisor' } },
  },
} as const;

const ways = Object.entries(WAYS).map(([way, how]) => ({ way, ...how }));
const NO_GRACE = { graceMs: 0 };

describe.each(ways)('a run that is to park $way', ({ ask, end }) => {
  it('parks at once while it is being prepared, and its setup is told to stop', async () => {
    const { source } = slowSetup();
    const world = new RunWorld({ source, ...NO_GRACE });
    const run = await world.start(UNREAD);
    expect((await run.record()).state).toBe('preparing');
    await ask({ world, run });
    expect(await run.event('parked')).toMatchObject(end);
    expect(world.model.turns).toEqual([]);
    await world.expectSound();
  });

  it('hears its model out, then leaves the calls to whoever goes on', async () => {
    const { world, run } = await streaming(NO_GRACE);
    await ask({ world, run });
    expect(world.model.turn.signal.aborted).toBe(false);
    world.model.turn.say(' look.').call('safe', {}, 's').finish('tool_calls');
    await world.clock.settle();
    expect(await run.event('parked')).toMatchObject(end);
    expect(world.tools.executions).toEqual([]);
    await world.expectSound();
  });

  it('lets its running tools end, and asks the model no more', async () => {
    const { world, run } = await acting(['safe', 'safe'], NO_GRACE);
    await ask({ world, run });
    world.tools.executions[0]?.answer('one');
    await world.clock.settle();
    expect((await run.types()).at(-1)).toBe('tool_complete');
    world.tools.executions[1]?.answer('two');
    await world.clock.settle();
    expect(await run.event('parked')).toMatchObject(end);
    expect(world.model.turns).toHaveLength(1);
    await world.expectSound();
  });

  it('parks at once when all that is open waits for a person (INV-39)', async () => {
    const { world, run } = await acting(['danger', 'danger'], NO_GRACE);
    await ask({ world, run });
    expect(await run.event('parked')).toMatchObject(end);
    expect(await run.types()).not.toContain('approval_completed');
    await world.expectSound();
  });

  it('waits for the tool that runs beside one that waits for a person', async () => {
    const { world, run } = await acting(['danger', 'safe'], NO_GRACE);
    await ask({ world, run });
    expect(await run.types()).not.toContain('parked');
    world.tools.last('safe').answer('42');
    await world.clock.settle();
    expect(await run.event('parked')).toMatchObject(end);
    expect(await run.event('tool_complete')).toMatchObject({ tool_id: 'call-1', result: '42' });
    await world.expectSound();
  });

  it('begins none of the calls that wait for a place', async () => {
    const { world, run } = await acting(['safe', 'safe', 'safe'], {
      ...NO_GRACE,
      limits: { parallelToolsMax: 1 },
    });
    await ask({ world, run });
    world.tools.executions[0]?.answer('one');
    await world.clock.settle();
    expect(await run.event('parked')).toMatchObject(end);
    expect(world.tools.executions).toHaveLength(1);
    await world.expectSound();
  });

  it('finishes instead when its answer comes first', async () => {
    const { world, run } = await streaming(NO_GRACE);
    await ask({ world, run });
    world.model.turn.finish();
    await world.clock.settle();
    expect((await run.record()).state).toBe('finished');
    await world.expectSound();
  });

  it('executes a call that is approved while another one still runs, and parks behind it', async () => {
    const { world, run } = await acting(['danger', 'safe'], NO_GRACE);
    await ask({ world, run });
    const { decision_id: id } = await run.event('approval_pending');
    const decided = world.supervisor.decide(id, { approved: true });
    await world.clock.settle();
    expect(await decided).toBe('recorded');
    world.tools.last('safe').answer('42');
    await world.clock.settle();
    expect(await run.types()).not.toContain('parked');
    world.tools.last('danger').answer('gone');
    await world.clock.settle();
    expect(await run.event('parked')).toMatchObject(end);
    await world.expectSound();
  });
});

describe('a run that is to park while it waits for its session', () => {
  it.each([
    ['by hand', (run: SimulatedRun) => run.park(), 'external'],
    ['as its last reader leaves', (run: SimulatedRun) => run.release(), 'unclaimed'],
  ] as const)('parks at once, without having started: %s', async (_way, ask, reason) => {
    const { world, first, run } = await queued();
    await ask(run);
    expect(await run.event('parked')).toMatchObject({ reason });
    expect(await run.types()).not.toContain('started');
    world.model.turn.say('done').finish();
    await first.event('finished');
    await world.clock.settle();
    expect(world.model.turns).toHaveLength(1);
    const next = await world.resume(run);
    world.model.turn.say('mine').finish();
    await world.clock.settle();
    expect(await next.event('started')).toMatchObject({ continues: run.runId });
    expect((await next.record()).state).toBe('finished');
    await world.expectSound();
  });

  it('is parked at a shutdown beside the one before it', async () => {
    const { world, first, run } = await queued();
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(30_000);
    expect(await run.event('parked')).toMatchObject({ reason: 'shutdown' });
    await world.clock.advance(5_000);
    expect(await first.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true });
    await world.expectSound();
  });
});

describe('parking is bounded', () => {
  it.each([
    ['by hand', (run: SimulatedRun) => run.park(), 'external'],
    ['unclaimed', (run: SimulatedRun) => run.release(), 'unclaimed'],
  ] as const)(
    'and one that does not come to a checkpoint is cancelled %s',
    async (_way, ask, reason) => {
      const { world, run } = await streaming({ limits: { firstChunkMs: 0, parkMs: LATE_MS } });
      await ask(run);
      await world.clock.advance(LATE_MS - 1);
      expect(await run.types()).not.toContain('cancelled');
      await world.clock.advance(1);
      expect(await run.event('cancelled')).toMatchObject({ reason });
      await world.expectSound();
    },
  );

  it('at a shutdown by the drain: what reaches its checkpoint parks, what does not is cancelled', async () => {
    const { world, run: early } = await streaming({ graceMs: 30_000 });
    const late = await world.start(UNREAD);
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(30_000 + 3_999);
    world.model.turns[0]?.call('safe').finish('tool_calls');
    await world.clock.settle();
    expect(await early.event('parked')).toMatchObject({ reason: 'shutdown' });
    await world.clock.advance(1);
    expect(await late.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true, exitCode: 0 });
    await world.expectSound();
  });

  it('and a deaf tool that keeps it from parking does not make the shutdown unclean (decision 34)', async () => {
    const { world, run } = await acting(['safe'], { graceMs: 0 });
    world.tools.deaf.add('safe');
    const deaf = await world.start(UNREAD);
    world.model.turn.call('safe', {}, 'deaf').finish('tool_calls');
    await world.clock.settle();
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(6_000);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    expect(await deaf.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true, exitCode: 0 });
    await world.expectSound();
  });

  it('a shutdown shortens the bound of one that was asked before', async () => {
    const { world, run } = await streaming({ graceMs: 0 });
    await run.park();
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(4_000);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'external' });
    await world.expectSound();
  });
});

describe('a run that is about to park', () => {
  it('is cancelled at once when somebody asks for that', async () => {
    const { world, run } = await streaming();
    await run.park();
    await run.cancel('enough');
    expect(await run.event('cancelled')).toMatchObject({ reason: 'external', message: 'enough' });
    expect(world.model.turn.signal.aborted).toBe(true);
    await world.expectSound();
  });

  it('passes over a second request, and over the loss of its last claim', async () => {
    const { world, run } = await acting(['danger', 'safe']);
    await run.park();
    expect(await run.park()).toMatchObject({ state: 'waiting', verbs: ['attach', 'cancel'] });
    await run.release();
    world.tools.last('safe').answer('42');
    await world.clock.settle();
    expect(await run.event('parked')).toMatchObject({ reason: 'external' });
    await world.expectSound();
  });

  it('takes no claim any more', async () => {
    const { world, run } = await streaming();
    await run.release();
    expect(world.supervisor.claim(run.runId, 'again')).toBe(false);
    world.model.turn.call('safe').finish('tool_calls');
    await run.event('parked');
    await world.expectSound();
  });

  it('still fails when its model does', async () => {
    const { world, run } = await streaming();
    await run.park();
    world.model.turn.fail(new Error('no'));
    await run.event('failed');
    await world.expectSound();
  });

  it('is not kept by a deadline that comes first', async () => {
    const { world, run } = await streaming({ limits: { totalMs: 50_000, parkMs: LATE_MS } });
    await run.park();
    await world.clock.advance(50_000);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'deadline', which: 'total' });
    await world.expectSound();
  });
});

describe('a run that has parked', () => {
  it('holds nothing in memory: no timer, no scope, no place in its session', async () => {
    const { world, run } = await acting(['danger']);
    await run.park();
    await world.expectNoTimers();
    expect(world.supervisor.claim(run.runId, 'again')).toBe(false);
    expect((await world.supervisor.getSession(run.sessionId))?.live).toEqual([]);
    expect(await world.supervisor.getSession(run.sessionId)).toMatchObject({ state: 'parked' });
    const next = await world.start({ sessionId: run.sessionId, onBusy: 'reject' });
    world.model.turn.say('mine').finish();
    await next.event('finished');
    await world.expectSound();
  });

  it('is answered as it is when it is asked to park again', async () => {
    const { world, run } = await acting(['danger']);
    await run.park();
    const before = await run.types();
    expect(await run.park()).toMatchObject({ state: 'parked' });
    expect(await run.types()).toEqual(before);
    await world.expectSound();
  });

  it('is unchanged by a cancel', async () => {
    const { world, run } = await acting(['danger']);
    await run.park();
    const before = await run.types();
    await run.cancel();
    expect(await run.types()).toEqual(before);
    expect((await run.record()).state).toBe('parked');
    await world.expectSound();
  });

  it('is refused when it ended for good', async () => {
    const { world, run } = await streaming();
    world.model.turn.finish();
    await run.event('finished');
    await world.clock.settle();
    await expect(run.park()).rejects.toMatchObject({ code: 'run_ended' });
    await expect(world.supervisor.resume(run.runId, {})).rejects.toMatchObject({
      code: 'not_parked',
    });
    expect(await world.supervisor.park('no-such-run')).toBeUndefined();
    expect(await world.supervisor.resume('no-such-run', {})).toBeUndefined();
    await world.expectSound();
  });

  it('was stopping: it ends as that said, and does not park', async () => {
    const world = new RunWorld(TOOLS);
    world.model.deaf = true;
    const run = await world.start(UNREAD);
    await run.cancel();
    expect(await run.park()).toMatchObject({ state: 'stopping', verbs: ['attach'] });
    world.model.turn.close();
    await world.clock.settle();
    expect(await run.event('cancelled')).toMatchObject({ reason: 'external' });
    await world.expectSound();
  });
});
