import type { SimWorld } from './world.ts';

/** Beyond every bound of a run: whoever reads one to its end has it by then. */
const RUNS_MS = 150_000;

/** Beyond every bound of an approval and of what a parked run waits for. */
const REST_MS = 250_000;

/** A process that was told to leave is gone by then. */
const LEAVE_MS = 30_000;

/**
 * Lets a world come to its end: what failed works again, readers read to the end and leave, nobody
 * decides, and time passes. A process is there when it is over.
 */
export async function comeToRest(world: SimWorld): Promise<void> {
  world.disk.turn({ how: 'well' });
  for (const reader of world.readers) reader.readOn();
  await world.clock.advance(RUNS_MS);
  await tellWhoIsLeft(world);
  for (const reader of world.readers) reader.leave();
  await world.settle();
  if (world.process.alive && !world.process.handle.accepting) await world.clock.advance(LEAVE_MS);
  await world.ensureProcess();
  await world.clock.advance(REST_MS + Math.abs(world.clock.setBy));
  await world.settle();
}

/** The stream of a run ends with the run. */
async function tellWhoIsLeft(world: SimWorld): Promise<void> {
  for (const { of, reading } of world.readers) {
    if (!reading || of.kind === 'session' || of.id === '') continue;
    const record = await world.process.handle.record(of.id);
    if (record?.end)
      world.fault(`a ${of.kind} stream of ${of.id} goes on, and that is ${record.state}`);
  }
}

/** The last process leaves; nothing may hold it up. */
export async function leaveInOrder(world: SimWorld): Promise<void> {
  const { process } = world;
  process.handle.shutdown('SIGTERM');
  await world.settle();
  await world.settle();
  if (process.outcome === undefined) world.fault('a process at rest does not leave at once');
  else if (process.outcome.exitCode !== 0) {
    world.fault(`a process at rest leaves with ${JSON.stringify(process.outcome)}`);
  }
}
