import { describe, expect, it } from 'vitest';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import { Host } from '../support/recovery-host.ts';
import type { RunWorld, SimulatedRun } from '../support/run-world.ts';

/** Runs that waited for each other in a session do so again when they come back. */

const EXPIRED = { afterMs: JOURNAL_LIMITS.leaseTtlMs };
const RUNS = 4;

/** The first is at work, the others wait behind it, each with a prompt of its own. */
async function queue(world: RunWorld, policy: 'continue' | 'park'): Promise<SimulatedRun[]> {
  const runs: SimulatedRun[] = [];
  for (let n = 1; n <= RUNS; n += 1) {
    const run = await world.start({
      sessionId: 'desk',
      liveness: { policy, graceMs: 0 },
      onBusy: 'enqueue',
      prompt: `prompt ${n}`,
      messages: [{ role: 'user', content: `prompt ${n}` }],
      continuesSession: true,
    });
    runs.push(run);
  }
  return runs;
}

/** Answers one run after the other; gives what the last one was asked with. */
async function answerAll(world: RunWorld): Promise<readonly string[]> {
  for (let n = 1; n <= RUNS; n += 1) {
    await world.clock.settle();
    world.model.turn.say(`answer ${n}`).finish();
  }
  await world.clock.settle();
  return world.model.turn.request.messages.map(({ content }) => content);
}

const CONVERSATION = [
  'Be brief.',
  'prompt 1',
  'answer 1',
  'prompt 2',
  'answer 2',
  'prompt 3',
  'answer 3',
  'prompt 4',
];

describe('runs of one session that waited for each other', () => {
  it('go on in their order after a crash, and none loses what the one before it said', async () => {
    const host = new Host();
    const first = await host.boot();
    await queue(first, 'continue');
    first.kill();
    const second = await host.boot({ recover: 'resume' }, EXPIRED);
    expect(await answerAll(second)).toEqual(CONVERSATION);
    expect(second.model.turns).toHaveLength(RUNS);
    await host.expectSound();
  });

  it('go on in their order after a shutdown that parked them', async () => {
    const host = new Host();
    const first = await host.boot({ graceMs: 0 });
    await queue(first, 'park');
    first.model.turn.say('no end in sight');
    first.supervisor.shutdown('SIGTERM');
    await first.clock.advance(20_000);
    const second = await host.boot({ resumeOnStart: true }, EXPIRED);
    await second.clock.settle();
    // The first one came to no checkpoint in time, so the others are left.
    const [asked] = second.model.turns;
    expect(asked?.request.messages.at(-1)?.content).toBe('prompt 2');
    for (let n = 2; n <= RUNS; n += 1) {
      await second.clock.settle();
      second.model.turn.say(`answer ${n}`).finish();
    }
    await second.clock.settle();
    const prompts = second.model.turns.map(({ request }) => request.messages.at(-1)?.content);
    expect(prompts).toEqual(['prompt 2', 'prompt 3', 'prompt 4']);
    await host.expectSound();
  });
});
