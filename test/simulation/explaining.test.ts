import { describe, expect, it } from 'vitest';
import type { Explanation, LivenessPolicy, SupervisorHandle } from '../../src/handle.ts';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';
import { type RunWorldOptions, RunWorld, type SimulatedRun } from '../support/run-world.ts';
import { type AppendFate, trickyStore } from '../unit/journal-kit.ts';

/** What `explain` says of runs as the charts and the store have them, not as a test tells them. */

const LATER_MS = JOURNAL_LIMITS.leaseTtlMs;
const AGENT: RunWorldOptions = { tools: ['pay'], requireApproval: ['pay'] };

const under = (policy: LivenessPolicy) => ({ liveness: { policy, graceMs: 0 } });

async function explained(
  { supervisor }: { readonly supervisor: SupervisorHandle },
  { runId }: Pick<SimulatedRun, 'runId'>,
): Promise<Explanation> {
  const explanation = await supervisor.explain(runId);
  if (explanation === undefined) throw new Error('the run is not known');
  // What a chart calls its states is for the chain and its details.
  expect(explanation.prose.join('\n')).not.toMatch(/live\.|\{|unasked|settling/);
  expect(new Set(explanation.prose).size, 'sentences said twice').toBe(explanation.prose.length);
  return explanation;
}

/** A run that was parked while a person was asked for `count` approvals, and these. */
async function waiting(world: RunWorld, count = 1) {
  const run = await world.start(under('park'));
  for (let call = 1; call <= count; call += 1) world.model.turn.call('pay', {}, `p${call}`);
  world.model.turn.finish('tool_calls');
  await world.clock.settle();
  await run.release();
  await run.event('parked');
  const { approvals: ids } = await run.record();
  return { run, ids: [...ids].sort() };
}

async function decide(world: RunWorld, id: string | undefined, approved: boolean): Promise<void> {
  const decided = world.supervisor.decide(id ?? '', { approved });
  await Promise.all([decided, world.clock.settle()]);
  expect(await decided).toBe('recorded');
  await world.clock.settle();
}

describe('a parked run’s approvals', () => {
  it('are told one by one as they are decided, also after the run was resumed', async () => {
    const world = new RunWorld(AGENT);
    const { run, ids } = await waiting(world, 2);
    const asked = ids.map((id) => `A person was asked to approve the tool pay (approval ${id})`);
    const before = await explained(world, run);
    for (const [at, text] of asked.entries()) {
      expect(before.prose[at]).toContain(`${text} and has not`);
    }
    await decide(world, ids[0], true);
    const between = (await explained(world, run)).prose;
    expect(between.join('\n')).toContain(`${asked[0]} and approved it`);
    expect(between.join('\n')).toContain(`${asked[1]} and has not`);
    expect(between.at(-1)).toBe(`It goes on by itself when ${ids[1]} is decided or timed out.`);
    await decide(world, ids[1], false);
    const after = (await explained(world, run)).prose;
    expect(after.join('\n')).toContain(`${asked[1]} and denied it`);
    expect(after.join('\n')).not.toContain('has not decided');
    const next = await world.continuationOf(run);
    expect(after.at(-1)).toBe(`The run ${next.runId} goes on with it.`);
    world.tools.last('pay').answer('paid');
    await world.clock.settle();
    world.model.turn.say('Done.').finish();
    await next.event('finished');
    const end = (await explained(world, next)).prose.join('\n');
    expect(end).toContain('pay (p2) was denied by a person');
    await world.expectSound();
  });

  it('are told as timed out, and that this brought the run back', async () => {
    const world = new RunWorld({ ...AGENT, approvalTimeoutMs: 60_000 });
    const { run } = await waiting(world);
    await world.clock.advance(60_000);
    const next = await world.continuationOf(run);
    const { prose } = await explained(world, run);
    expect(prose.join('\n')).toMatch(/nobody did; it timed out at \S+ \S+, so the tool is not/);
    expect(prose.at(-1)).toBe(`The run ${next.runId} goes on with it.`);
    world.model.turn.say('Never mind.').finish();
    await next.event('finished');
    expect((await explained(world, next)).prose.join('\n')).toContain('was not approved in time');
    expect(world.tools.executions).toEqual([]);
    await world.expectSound();
  });
});

describe('a parked run', () => {
  it('whose agent is not served does not go on, and it is said', async () => {
    const host = new Host();
    const first = await host.boot(AGENT);
    const { run } = await waiting(first);
    first.kill();
    const second = await host.boot({ ...AGENT, agentId: 'other' }, { afterMs: LATER_MS });
    const { prose } = await explained(second, run);
    expect(prose.at(-1)).toContain('this server does not serve the agent agent');
  });

  it.each([
    ['{"version":99}', 'this version of the server cannot read its checkpoint'],
    [undefined, 'its checkpoint is not kept any more'],
  ])('whose checkpoint is %s does not go on, and it is said', async (checkpoint, words) => {
    const store = createMemoryStore();
    store.getCheckpoint = () => checkpoint;
    const world = new RunWorld({ ...AGENT, store });
    const { run } = await waiting(world);
    expect((await explained(world, run)).prose.at(-1)).toContain(words);
  });

  it('that was cancelled does not go on, and nobody is waited for', async () => {
    const world = new RunWorld(AGENT);
    const { run } = await waiting(world);
    await world.store.discard(run.runId);
    const { prose } = await explained(world, run);
    expect(prose[0]).toContain('and had not decided when it was parked');
    expect(prose.at(-1)).toContain('It was cancelled after it had been parked');
  });

  it('comes back at the next start where the configuration says so, and not where not', async () => {
    for (const resumeOnStart of [true, false]) {
      const world = new RunWorld({ ...AGENT, resumeOnStart });
      const run = await world.start(under('park'));
      await run.release();
      world.model.turn.call('pay', {}, 'p').finish('tool_calls');
      await world.clock.settle();
      const { prose } = await explained(world, run);
      const start = 'It goes on when the server starts next';
      expect(prose.at(-1)?.startsWith(start)).toBe(resumeOnStart);
    }
  });
});

describe('a tool’s own deadline', () => {
  it('is said while the tool runs, and after it fired', async () => {
    const world = new RunWorld({
      tools: ['slow'],
      toolTimeoutMs: 30_000,
      limits: { toolStopGraceMs: 3_000 },
    });
    world.tools.deaf.add('slow');
    const run = await world.start();
    world.model.turn.call('slow', {}, 's').finish('tool_calls');
    await world.clock.advance(12_000);
    expect((await explained(world, run)).prose.join('\n')).toContain(
      'The tool slow (s) has been running for 12 s; its own deadline ends the call in 18 s, and ' +
        'the run goes on.',
    );
    await world.clock.advance(19_000);
    expect((await explained(world, run)).prose.join('\n')).toContain(
      'The tool slow (s) ran into its own deadline and has been stopping for 1 s.',
    );
    await world.clock.advance(2_000);
    world.model.turn.say('Never mind.').finish();
    await run.event('finished');
    expect((await explained(world, run)).prose.join('\n')).toContain(
      'The model called the tool slow, which timed out by its own deadline and did not stop',
    );
    world.tools.last('slow').answer('late');
    await world.expectSound();
  });

  it('counts from when a person approved the call', async () => {
    const world = new RunWorld({ ...AGENT, toolTimeoutMs: 30_000, approvalTimeoutMs: 500_000 });
    const run = await world.start();
    world.model.turn.call('pay', {}, 'p').finish('tool_calls');
    await world.clock.advance(100_000);
    const { approvals: ids } = await run.record();
    await decide(world, ids[0], true);
    await world.clock.advance(10_000);
    expect((await explained(world, run)).prose.join('\n')).toContain(
      'The tool pay (p) has been running for 10 s; its own deadline ends the call in 20 s',
    );
  });
});

/** A process that dies with a run under way, and the next one, which looks after the run. */
async function lost(host: Host, process: HostProcess, options: RunWorldOptions, deaths = 1) {
  process.kill();
  const next = await host.boot(options, { afterMs: deaths * LATER_MS });
  for (let turn = 0; turn < 5; turn += 1) await next.clock.settle();
  return next;
}

describe('a run without its process', () => {
  it('is said to be elsewhere, or lost, while another process has it', async () => {
    const host = new Host();
    const first = await host.boot({ tools: ['slow'] });
    const run = await first.start();
    first.model.turn.call('slow', {}, 's').finish('tool_calls');
    await first.clock.settle();
    const second = await host.boot({ tools: ['slow'] });
    const { prose, state } = await explained(second, run);
    expect(state).toBe('running');
    expect(prose.join('\n')).toContain('The tool slow (s) had been begun and had no result');
    expect(prose.at(-2)).toContain('This process does not have the run');
  });

  it('is said to have its end stored yet, where this process had it', async () => {
    const store = trickyStore();
    const world = new RunWorld({ store });
    const run = await world.start();
    store.fates = Array.from({ length: 100 }, (): AppendFate => 'refused');
    world.model.turn.say('lost').finish();
    await world.clock.advance(2_500);
    const { prose } = await explained(world, run);
    expect(prose.at(-1)).toContain('the store has not taken its end yet');
  });

  it.each<[LivenessPolicy, string]>([
    ['cancel', 'because its policy is cancel'],
    ['continue', 'crash.recover = "fail"'],
  ])('under %s is said not to be brought back, and why', async (policy, words) => {
    const host = new Host();
    const first = await host.boot({});
    const run = await first.start(under(policy));
    const next = await lost(host, first, { recover: 'fail' });
    const { prose, state } = await explained(next, run);
    expect(state).toBe('failed');
    expect(prose[0]).toMatch(/is the entry \d+, and .+ later it was found without an owner/);
    expect(prose.at(-2)).toContain(words);
    expect(prose.at(-1)).toBe('The log of its transitions went with its process.');
  });

  it('is said to have used its attempts when it lost its process each time', async () => {
    const host = new Host();
    let process = await host.boot({ recover: 'resume' });
    await process.start({ ...under('continue'), sessionId: 'one' });
    for (let death = 1; death <= 4; death += 1) {
      process = await lost(host, process, { recover: 'resume' }, death);
    }
    const [run] = (await process.supervisor.listRuns({ limit: 10, sessionId: 'one' })).data;
    const { prose, state } = await explained(process, { runId: run?.run_id ?? '' });
    expect(state).toBe('failed');
    expect(prose.at(-2)).toContain('that was done 3 times already');
  });
});
