import { expect } from 'vitest';
import fc from 'fast-check';
import { ModelError } from '../../src/model.ts';
import type { RunWorld, RunWorldOptions, SimulatedRun } from './run-world.ts';

/** One thing that may happen to a run. */
export type Step =
  | { do: 'say' | 'finish' | 'release' | 'cancel' | 'drain' | 'closeRequest' }
  | { do: 'ask'; tools: ('safe' | 'danger' | 'deaf')[] }
  | { do: 'failModel'; retryable: boolean }
  | { do: 'answerTool' | 'failTool'; nth: number }
  | { do: 'decide'; approved: boolean }
  | { do: 'wait'; ms: number };

/** Weighted towards asking and waiting: a uniform choice ends most histories in the first turn. */
export const step: fc.Arbitrary<Step> = fc.oneof(
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

/** Makes it happen, and lets what it sets off come to rest. */
export async function play(world: RunWorld, run: SimulatedRun, step: Step): Promise<void> {
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
  const [answer] = await Promise.all([decided, world.clock.settle()]);
  expect(answer).toBe('recorded');
}

/** An agent with a tool of each kind, under limits that a history reaches. */
export const HISTORY_WORLD: RunWorldOptions = {
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
};
