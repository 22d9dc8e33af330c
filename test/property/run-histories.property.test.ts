import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ModelError } from '../../src/agent.ts';
import type { Envelope } from '../../src/journal/events.ts';
import { RunWorld, type SimulatedRun } from '../support/run-world.ts';

/**
 * Whatever happens to a run, in whatever order, its journal keeps every invariant and the run ends.
 * The charts, ports and journal are the real ones; only time, model and tools are played.
 */

type Step =
  | { do: 'say' | 'finish' | 'release' | 'cancel' | 'drain' | 'closeRequest' }
  | { do: 'ask'; tools: ('safe' | 'danger' | 'deaf')[] }
  | { do: 'failModel'; retryable: boolean }
  | { do: 'answerTool' | 'failTool'; nth: number }
  | { do: 'decide'; approved: boolean }
  | { do: 'wait'; ms: number };

/** Weighted towards asking and waiting: a uniform choice ends most histories in the first turn. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('ask' as const), tools: tools() }) },
  { weight: 6, arbitrary: fc.record({ do: toolEnd(), nth: fc.nat(5) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: waits() }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('decide' as const), approved: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'say' }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('failModel' as const), retryable: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'closeRequest' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'finish' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'release' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'cancel' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'drain' }) },
);

function tools() {
  const name = fc.constantFrom('safe' as const, 'danger' as const, 'deaf' as const);
  return fc.array(name, { minLength: 1, maxLength: 4 });
}

function toolEnd() {
  return fc.constantFrom('answerTool' as const, 'failTool' as const);
}

function waits() {
  return fc.constantFrom(1, 700, 3_000, 5_000, 20_000, 61_000);
}

async function play(world: RunWorld, run: SimulatedRun, step: Step): Promise<void> {
  switch (step.do) {
    case 'say':
      world.model.turn.say('text');
      break;
    case 'ask':
      for (const [at, name] of step.tools.entries()) {
        world.model.turn.call(name, { at }, `${world.model.turns.length}-${at}`);
      }
      world.model.turn.finish('tool_calls');
      break;
    case 'finish':
      world.model.turn.finish();
      break;
    case 'failModel':
      world.model.turn.fail(
        new ModelError({ code: 'provider_error', message: 'No.', retryable: step.retryable }),
      );
      break;
    case 'closeRequest':
      world.model.turn.close();
      break;
    case 'answerTool':
      world.tools.executions.at(-1 - step.nth)?.answer('result');
      break;
    case 'failTool':
      world.tools.executions.at(-1 - step.nth)?.fail('no');
      break;
    case 'decide':
      await decideOldest(world, run, step.approved);
      break;
    case 'release':
      await run.release();
      break;
    case 'cancel':
      await run.cancel('by test');
      break;
    case 'drain':
      world.supervisor.shutdown('SIGTERM');
      break;
    case 'wait':
      await world.clock.advance(step.ms);
  }
  await world.clock.settle();
}

async function decideOldest(world: RunWorld, run: SimulatedRun, approved: boolean): Promise<void> {
  const [oldest] = (await run.record()).approvals;
  if (oldest === undefined) return;
  const decided = world.supervisor.decide(oldest, { approved });
  await world.clock.settle();
  expect(await decided).toBe('recorded');
}

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
          const world = new RunWorld({
            tools: ['safe', 'danger', 'deaf'],
            requireApproval: ['danger'],
            limits: {
              firstChunkMs: 20_000,
              inactivityMs: 15_000,
              stepMs: 60_000,
              totalMs: 300_000,
              parallelToolsMax: 2,
              turnsMax: 4,
            },
            toolTimeoutMs: 20_000,
            approvalTimeoutMs: 60_000,
            graceMs: 5_000,
          });
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
