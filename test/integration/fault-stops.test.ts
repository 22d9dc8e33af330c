import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TerminalEvent } from '../../src/journal/events.ts';
import { play, respond, type StopPlan, stopPlan, STOPS_TOML } from '../support/fault-stops.ts';
import { askedOf, witnesses } from '../support/fault-world.ts';
import { type ProcessWorld, processWorlds, type ServerProcess } from '../support/system-process.ts';
import { expectSoundStore, readSessions } from '../support/system-store.ts';

/**
 * Runs are stopped in every way there is at any moment, and so are the processes that have them.
 * Whatever came together, the journals keep their invariants and no tool was executed twice.
 */

const start = processWorlds();
const witness = witnesses();
const SECRET = 'sk-system-test-0123456789';
const STOPS = 1_000;
const AT_ONCE = 32;
/** Of its share of the stops a process has begun so many when it goes. */
const GOES_AT = 0.8;
/** The way a process goes in the middle of its share of the stops. */
const WAYS = ['SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL'] as const;

/** Plays a share of the plans, so many at once, until the server goes away. */
async function playAll(
  server: ServerProcess,
  all: readonly (readonly [number, StopPlan])[],
  leave: () => void,
): Promise<void> {
  const left = all.values();
  let begun = 0;
  const worker = async () => {
    for (const [at, plan] of left) {
      begun += 1;
      if (begun === Math.ceil(all.length * GOES_AT)) leave();
      await play(server, plan, at);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** One process after the other, each with its share; the last one is left to its end. */
async function playShares(world: ProcessWorld, all: readonly StopPlan[]): Promise<ServerProcess> {
  const numbered = [...all.entries()];
  const share = Math.ceil(all.length / (WAYS.length + 1));
  let { server } = world;
  for (const [at, way] of WAYS.entries()) {
    const own = numbered.slice(at * share, (at + 1) * share);
    await playAll(server, own, () => server.signal(way));
    expect(await server.exit()).toEqual(way === 'SIGKILL' ? [null, way] : [0, null]);
    server = await world.again();
    if (way === 'SIGKILL') await server.logged('Runs without an owner have been looked after');
  }
  await playAll(server, numbered.slice(WAYS.length * share), () => {});
  return server;
}

/** How the runs ended, by what ended them. */
async function endsOf(dataDir: string): Promise<ReadonlySet<string>> {
  const sessions = await readSessions(dataDir);
  const events = sessions.flatMap(({ entries }) => entries.map(({ payload }) => payload.event));
  const ends = events.filter((event): event is TerminalEvent => 'end' in event);
  return new Set(ends.map((end) => `${end.type} ${'reason' in end ? end.reason : ''}`.trim()));
}

it(`${STOPS} stops at any moment leave sound journals and nothing executed twice`, async () => {
  // A failure tells the one number that makes all of them.
  const property = fc.asyncProperty(fc.nat(), async (drawn) => {
    const all = fc.sample(stopPlan, { seed: drawn, numRuns: STOPS });
    const seen = witness();
    const world = await start({
      grace: 0.1,
      toml: [STOPS_TOML, seen.toml].join('\n'),
      respond: (request) => respond(askedOf(request)),
    });
    const server = await playShares(world, all);
    server.signal('SIGTERM');
    expect(await server.exit()).toEqual([0, null]);
    expect(world.upstream.faults, 'what the strict upstream refused').toEqual([]);
    expect(seen.repeated(), 'what was executed more than once').toEqual([]);
    await expectSoundStore(world.dataDir, SECRET);
    expect([...(await endsOf(world.dataDir))]).toEqual(expect.arrayContaining(EVERY_END));
  });
  // What shrinks takes as long each time; the seed alone brings the case back.
  await fc.assert(property, { numRuns: 1, endOnFailure: true });
}, 180_000);

const EVERY_END = [
  'finished',
  'cancelled external',
  'cancelled unclaimed',
  'cancelled deadline',
  'cancelled superseded',
  'cancelled shutdown',
  'parked external',
  'parked unclaimed',
  'parked shutdown',
  'failed',
];
