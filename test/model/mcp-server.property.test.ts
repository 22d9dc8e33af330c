import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Step, startServer } from './mcp-server-drive.ts';

const weighted = (weight: number, step: Step) => ({ weight, arbitrary: fc.constant(step) });

/** Weighted towards what leads on: uniform choices seldom get past the first connection. */
const step: fc.Arbitrary<Step> = fc.oneof(
  weighted(6, 'acquire'),
  weighted(5, 'connected'),
  weighted(3, 'refused'),
  weighted(4, 'release'),
  weighted(2, 'evict'),
  weighted(3, 'lose'),
  weighted(4, 'backoffTime'),
  weighted(1, 'connectTime'),
  weighted(1, 'idleTime'),
  weighted(1, 'steadyTime'),
  weighted(1, 'closed'),
  weighted(1, 'close'),
);

describe('mcp server chart: invariants under any history', () => {
  it('has one connect at most, counts its holders, and lets nobody in once evicted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (history) => {
        const server = startServer();
        let held = 0;
        let wasShut = false;
        for (const name of history) {
          const before = server.actor.getSnapshot();
          if (before.status !== 'active') break;
          if (name === 'acquire' && before.hasTag('accepting')) held += 1;
          const isRelease = name === 'release' || name === 'evict';
          // A lease releases once; nobody releases what it does not hold, nor from a closing chart.
          if (isRelease && (held === 0 || before.hasTag('closing'))) continue;
          if (isRelease) held -= 1;
          const evictedNow = before.context.evicted;
          await server.apply(name);

          const after = server.actor.getSnapshot();
          const flying = server.connects.filter((call) => !call.settled && !call.signal.aborted);
          expect(flying.length).toBeLessThanOrEqual(1);
          expect(after.context.held).toBe(held);
          wasShut ||= evictedNow;
          if (wasShut) expect(after.hasTag('accepting')).toBe(false);
        }
        await endsWhenLetGo(server, held);
      }),
      { numRuns: 300 },
    );
  });
});

/** From everywhere: once everybody has let go, time alone closes it (MS4, MS7). */
async function endsWhenLetGo(server: ReturnType<typeof startServer>, held: number): Promise<void> {
  for (let left = held; left > 0 && server.where() !== 'closed'; left -= 1) {
    await server.apply('release');
  }
  if (server.where() === 'idle') return;
  await server.apply('backoffTime', 'idleTime', 'idleTime', 'closeTime');
  expect(server.where()).toBe('closed');
  expect(server.watching.count).toBe(0);
}
