import { createHash } from 'node:crypto';
import { judge } from './oracles.ts';
import { play } from './play.ts';
import { comeToRest, leaveInOrder } from './rest.ts';
import type { Reach } from './reach.ts';
import type { SimHistory } from './steps.ts';
import { SimWorld } from './world.ts';

/** What became of one history. */
export interface Simulated {
  /** What is wrong, as sentences; none when all is as it must be. */
  readonly faults: readonly string[];
  readonly reach: Reach;
  /** The lines of each session's journal, by the session's id: the same for the same history. */
  readonly journals: ReadonlyMap<string, readonly string[]>;
}

/**
 * Plays a history in a world of its own, lets that come to rest, and looks at what is there then. Nothing
 * of it depends on anything but the history.
 */
export async function simulate({ settings, steps }: SimHistory): Promise<Simulated> {
  const world = new SimWorld(settings);
  await world.boot();
  for (const step of steps) await play(world, step);
  await comeToRest(world);
  const faults = await judge(world);
  const before = world.faults.length;
  await leaveInOrder(world);
  const late = world.faults.slice(before).map(({ what }) => what);
  world.reach.runs = 1;
  const sessions = world.disk.sessions();
  return {
    faults: [...faults, ...late],
    reach: world.reach,
    journals: new Map(sessions.map((id) => [id, world.disk.lines(id)])),
  };
}

/** A digest of all journals, byte for byte: the same history has the same one. */
export function digestOf({ journals }: Pick<Simulated, 'journals'>): string {
  const hash = createHash('sha256');
  for (const [id, lines] of journals) hash.update(`${id}\n${lines.join('\n')}\n`);
  return hash.digest('hex');
}
