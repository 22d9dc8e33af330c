import { describe, expect, it } from 'vitest';
import { ShuttingDownError, TooManyRunsError } from '../../src/errors.ts';
import { RunWorld } from '../support/run-world.ts';

/** The way out: gate, grace, drain, abort, and each run told why it ended. */

describe('a shutdown', () => {
  it('with nothing in flight is done at once and clean', async () => {
    const world = new RunWorld();
    world.supervisor.shutdown('SIGTERM');
    expect(world.supervisor.accepting).toBe(false);
    expect(await world.supervisor.stopped).toEqual({
      cleanShutdown: true,
      unabortedTasks: false,
      exitCode: 0,
    });
  });

  it('lets a run finish in its grace and leaves early', async () => {
    const world = new RunWorld({ graceMs: 30_000 });
    const run = await world.start();
    world.supervisor.shutdown('SIGTERM');
    await expect(world.start()).rejects.toBeInstanceOf(ShuttingDownError);
    await world.clock.advance(10_000);
    world.model.turn.say('done').finish();
    await run.event('finished');
    await world.expectSound();
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true, exitCode: 0 });
  });

  it('cancels what is left after the grace, with the reason shutdown (H-11)', async () => {
    const world = new RunWorld({ graceMs: 30_000 });
    const run = await world.start();
    world.model.turn.say('half');
    world.supervisor.shutdown('SIGINT');
    await world.clock.advance(30_000);
    expect(world.model.turn.signal.aborted).toBe(true);
    expect(await run.event('cancelled')).toMatchObject({
      reason: 'shutdown',
      end: { by: 'supervisor' },
    });
    await world.expectSound();
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true, exitCode: 0 });
  });

  it('is still clean with a tool that ignores its signal (decision 34)', async () => {
    const world = new RunWorld({ graceMs: 0, tools: ['deaf'] });
    world.tools.deaf.add('deaf');
    const run = await world.start();
    world.model.turn.call('deaf').finish('tool_calls');
    await world.clock.settle();
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(4_000);
    expect(await run.event('tool_complete')).toMatchObject({ effect: 'unknown' });
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true, exitCode: 0 });
  });

  it('aborts stragglers after the drain and still tells the end of each', async () => {
    const world = new RunWorld({ graceMs: 1_000, limits: { releaseMs: 60_000 } });
    world.model.deaf = true;
    const run = await world.start();
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(1_000 + 5_000 + 400);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: false, exitCode: 1 });
  });

  it('jumps to the abort at a second signal and says so in its exit code', async () => {
    const world = new RunWorld({ graceMs: 30_000, limits: { releaseMs: 60_000 } });
    world.model.deaf = true;
    const run = await world.start();
    world.supervisor.shutdown('SIGTERM');
    world.supervisor.shutdown('SIGINT');
    await world.clock.advance(400);
    expect(await run.event('cancelled')).toMatchObject({ reason: 'shutdown' });
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: false, exitCode: 130 });
  });
});

describe('admission', () => {
  it('is bounded, and the next one is told so', async () => {
    const world = new RunWorld({ runsMax: 1 });
    const run = await world.start();
    await expect(world.start()).rejects.toBeInstanceOf(TooManyRunsError);
    world.model.turn.say('x').finish();
    await run.event('finished');
    const next = await world.start();
    world.model.turn.say('y').finish();
    await next.event('finished');
  });
});
