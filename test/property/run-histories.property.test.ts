import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/journal/events.ts';
import { HISTORY_WORLD, play, step } from '../support/run-history.ts';
import { RunWorld } from '../support/run-world.ts';

/**
 * Whatever happens to a run, in whatever order, its journal keeps every invariant and the run ends.
 * The charts, ports and journal are the real ones; only time, model and tools are played.
 */

/** No tool runs unless its own call was approved, and none twice. */
function expectGated(world: RunWorld, journal: readonly Envelope[]): void {
  const executed = world.tools.executions.map(({ context }) => context.toolCallId);
  expect(new Set(executed).size).toBe(executed.length);
  const approved = journal.flatMap(({ payload: { event } }) =>
    event.type === 'approval_completed' && event.outcome.kind === 'approved'
      ? [event.tool_call_id]
      : [],
  );
  const dangerous = world.tools.executions.filter(({ name }) => name === 'danger');
  expect(approved).toEqual(expect.arrayContaining(dangerous.map((d) => d.context.toolCallId)));
}

describe('a run under any history', () => {
  it('keeps its journal sound, runs nothing ungated or twice, and ends', async () => {
    const reached = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.boolean(),
        async (history, deafModel) => {
          const world = new RunWorld(HISTORY_WORLD);
          world.tools.deaf.add('deaf');
          world.model.deaf = deafModel;
          const run = await world.start();
          for (const next of history) await play(world, run, next);
          await world.clock.advance(1_000_000);
          expectGated(world, await world.journal(run.sessionId));
          await world.expectSound();
          const end = (await run.events()).at(-1);
          const how = end?.type === 'cancelled' ? `cancelled ${end.reason}` : `${end?.type}`;
          reached.set(how, (reached.get(how) ?? 0) + 1);
        },
      ),
      { numRuns: 150 },
    );
    // Weights are right as long as every kind of end is met.
    expect([...reached.keys()]).toEqual(
      expect.arrayContaining(['finished', 'failed', 'cancelled unclaimed', 'cancelled shutdown']),
    );
  }, 60_000);
});
