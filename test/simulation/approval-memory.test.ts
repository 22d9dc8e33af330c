import { describe, expect, it } from 'vitest';
import type { SupervisorHandle } from '../../src/handle.ts';
import { RunWorld } from '../support/run-world.ts';

/** What is remembered of a decision is for whoever was asked, also of a run that was parked. */

const view = (world: RunWorld, tenant: string): SupervisorHandle =>
  world.supervisor.forTenant({ tenant, liveRunsMax: 0, storedBytesMax: 0 });

/** The approval of a tenant's run, which was parked, was denied and went on. */
async function decidedParked(world: RunWorld, tenant: string): Promise<string> {
  const handle = view(world, tenant);
  const started = handle.start({
    agent: 'agent',
    sessionId: 'one',
    messages: [{ role: 'user', content: 'Hello' }],
    prompt: 'Hello',
    streaming: true,
    liveness: { policy: 'park', graceMs: 0 },
    onBusy: 'reject',
    requestHeaders: {},
    claim: { observerId: 'reader' },
  });
  const [{ runId }] = await Promise.all([started, world.clock.settle()]);
  await world.clock.settle();
  world.model.turn.call('danger', {}, 'a').finish('tool_calls');
  await world.clock.settle();
  handle.release(runId, 'reader');
  await world.clock.settle();
  const { data } = await handle.listApprovals({ limit: 1 });
  const id = data[0]?.decision_id ?? '';
  const decided = handle.decide(id, { approved: false });
  for (let turn = 0; turn < 4; turn += 1) await world.clock.settle();
  expect(await decided).toBe('recorded');
  world.model.turn.say('I see.').finish();
  await world.clock.settle();
  return id;
}

describe('the memory of a decision', () => {
  it('answers whoever was asked, and nobody else', async () => {
    const world = new RunWorld({ tools: ['danger'], requireApproval: ['danger'] });
    const id = await decidedParked(world, 'acme');
    expect(await view(world, 'acme').decide(id, { approved: false })).toBe('repeated');
    expect(await view(world, 'other').decide(id, { approved: false })).toBe('unknown');
    expect(await world.supervisor.decide(id, { approved: false })).toBe('unknown');
    expect(world.tools.executions).toEqual([]);
  });
});
