import { expect } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from './run-world.ts';

/** Starts in one session, by what they want of it. */
export const ONE = { sessionId: 'one' } as const;
export const REJECT: Partial<StartRun> = { ...ONE, onBusy: 'reject' };
export const ENQUEUE: Partial<StartRun> = { ...ONE, onBusy: 'enqueue' };
export const INTERRUPT: Partial<StartRun> = { ...ONE, onBusy: 'interrupt' };
export const PARALLEL: Partial<StartRun> = { ...ONE, onBusy: 'parallel' };

/** A world with one run at work in the session. */
export async function busy(options: RunWorldOptions = {}, change: Partial<StartRun> = REJECT) {
  const world = new RunWorld(options);
  const first = await world.start(change);
  return { world, first };
}

/** The newest request is answered, and what that sets off comes to rest. */
export async function finish(world: RunWorld, text = 'done'): Promise<void> {
  world.model.turn.say(text).finish();
  await world.clock.settle();
  await world.clock.settle();
}

/** The run's state as its record says. */
export const stateOf = async (run: SimulatedRun): Promise<string> => (await run.record()).state;

/** All entries of the session as `run:type`, the runs numbered as given. */
export async function order(world: RunWorld, runs: readonly SimulatedRun[]): Promise<string[]> {
  const ids = runs.map(({ runId }) => runId);
  return (await world.journal('one')).map(
    ({ run_id, payload }) => `${ids.indexOf(run_id ?? '')}:${payload.event.type}`,
  );
}

/** No timer, no live run, and a start that would be refused while anybody had the session. */
export async function expectIdle(world: RunWorld): Promise<void> {
  await world.expectSound();
  const last = await world.start(REJECT);
  await finish(world);
  expect(await stateOf(last)).toBe('finished');
  await world.expectSound();
}
