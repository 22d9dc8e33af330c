import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { ToolSource } from '../../src/tool.ts';
import { Host } from '../support/recovery-host.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from '../support/run-world.ts';
import { trickyStore } from '../unit/journal-kit.ts';

/** A parked run is gone on with once, from where it was, by exactly one other run. */

const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
const TOOLS: RunWorldOptions = { tools: ['danger', 'safe'], requireApproval: ['danger'] };

/** Parked by hand behind a turn that asked for these tools; none of them has begun. */
async function parkedBefore(names: readonly string[], world = new RunWorld(TOOLS), change = {}) {
  const run = await world.start({ ...PARK, ...change });
  await run.park();
  for (const [at, name] of names.entries()) world.model.turn.call(name, { at }, `call-${at}`);
  world.model.turn.finish('tool_calls');
  await world.clock.settle();
  await run.event('parked');
  await world.clock.settle();
  return { world, run };
}

async function finish(world: RunWorld, text = 'done'): Promise<void> {
  world.model.turn.say(text).finish();
  await world.clock.settle();
}

describe('of many that resume at the same time', () => {
  it('exactly one wins, and the others are told who goes on', async () => {
    const { world, run } = await parkedBefore(['safe']);
    const asked = Array.from({ length: 20 }, () => world.supervisor.resume(run.runId, {}));
    const settled = Promise.allSettled(asked);
    await world.clock.settle();
    const answers = await settled;
    const won = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    expect(won).toHaveLength(1);
    expect(won[0]).toMatchObject({ continues: run.runId, sessionId: run.sessionId });
    const lost = answers.flatMap((answer) =>
      answer.status === 'rejected' ? [(answer.reason as { code: string }).code] : [],
    );
    expect(lost).toEqual(Array.from({ length: 19 }, () => 'already_resumed'));
    const next = await world.continuationOf(run);
    await expect(world.supervisor.resume(run.runId, {})).rejects.toMatchObject({
      code: 'already_resumed',
      message: expect.stringContaining(next.runId),
    });
    world.tools.last('safe').answer('42');
    await world.clock.settle();
    await finish(world);
    expect(world.tools.executions).toHaveLength(1);
    await world.expectSound();
  });

  it.each(['before its calls', 'behind them'] as const)(
    'one of another process that comes too late writes nothing and asks nobody: parked %s',
    async (where) => {
      const store = createMemoryStore();
      const host = new Host(store);
      const first = await host.boot(TOOLS);
      const run =
        where === 'before its calls'
          ? (await parkedBefore(['safe'], first)).run
          : await parkedBehind(first);
      const second = await host.boot(TOOLS);
      const read = store.getCheckpoint;
      const reached = Promise.withResolvers<void>();
      const held = Promise.withResolvers<void>();
      store.getCheckpoint = async (runId) => {
        const text = await read.call(store, runId);
        reached.resolve();
        await held.promise;
        return text;
      };
      const late = second.supervisor.resume(run.runId, {});
      const answered = expect(late).rejects.toMatchObject({ code: 'already_resumed' });
      await reached.promise;
      store.getCheckpoint = read;
      const next = await first.resume(run);
      await first.playOn();
      expect((await next.record()).state).toBe('finished');
      const before = await host.entries(run.sessionId);
      held.resolve();
      await second.clock.settle();
      await answered;
      await second.clock.advance(60_000);
      expect(await host.entries(run.sessionId)).toEqual(before);
      expect(await store.listRecords({ limit: 10 })).toHaveLength(2);
      expect(second.model.turns).toEqual([]);
      expect(second.tools.executions).toEqual([]);
      expect(second.clock.pending).toEqual([]);
      await host.expectSound();
    },
  );
});

/** Parked by hand when its tool had ended, so that its model is what comes next. */
async function parkedBehind(world: RunWorld): Promise<SimulatedRun> {
  const run = await world.start(PARK);
  world.model.turn.call('safe', {}, 's').finish('tool_calls');
  await world.clock.settle();
  await run.park();
  world.tools.last('safe').answer('42');
  await world.clock.settle();
  await run.event('parked');
  await world.clock.settle();
  return run;
}

describe('a resume that is refused', () => {
  it.each(['refused', 'unanswered'] as const)(
    'because the store does not take its first entry leaves a run that can be resumed: %s',
    async (fate) => {
      const store = trickyStore();
      const world = new RunWorld({ ...TOOLS, store });
      const { run } = await parkedBefore(['safe'], world);
      store.fates = [fate];
      const resumed = world.supervisor.resume(run.runId, {});
      const answered = expect(resumed).rejects.toMatchObject({ code: 'store_unavailable' });
      await world.clock.advance(60_000);
      await answered;
      if (fate === 'refused') {
        expect(await run.record()).toMatchObject({ state: 'parked', continued_by: null });
        await world.resume(run);
        world.tools.last('safe').answer('42');
        await world.clock.settle();
        await finish(world);
        expect(world.tools.executions).toHaveLength(1);
      } else {
        // It was taken after all, so the run that goes on is there and has an end.
        const next = await world.continuationOf(run);
        expect(await next.record()).toMatchObject({ state: 'failed', continues: run.runId });
      }
      await world.expectSound();
    },
  );

  it('because approvals are undecided names them, and the run stays parked', async () => {
    const world = new RunWorld(TOOLS);
    const run = await world.start(PARK);
    world.model.turn.call('danger', {}, 'a').call('danger', {}, 'b').finish('tool_calls');
    await world.clock.settle();
    const ids = (await run.record()).approvals;
    await run.park();
    await expect(world.supervisor.resume(run.runId, {})).rejects.toMatchObject({
      code: 'approvals_undecided',
      message: expect.stringMatching(new RegExp(ids.map((id) => `(?=.*${id})`).join(''))),
    });
    expect((await run.record()).approvals.toSorted()).toEqual(ids.toSorted());
    await world.expectSound();
  });

  it('because its session is busy leaves it parked, and it resumes later', async () => {
    const { world, run } = await parkedBefore(['safe']);
    const other = await world.start({ sessionId: run.sessionId });
    await expect(world.supervisor.resume(run.runId, {})).rejects.toMatchObject({
      code: 'session_busy',
      runId: other.runId,
    });
    await finish(world);
    expect(await run.record()).toMatchObject({ state: 'parked', continued_by: null });
    await world.resume(run);
    world.tools.last('safe').answer('42');
    await world.clock.settle();
    await finish(world);
    await world.expectSound();
  });

  it('because there is no place leaves it parked, also beside a live run of its session', async () => {
    const world = new RunWorld({ ...TOOLS, runsMax: 1 });
    const run = await world.start(PARK);
    world.model.turn.call('danger', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    const [id = ''] = (await run.record()).approvals;
    await run.release();
    const other = await world.start({ sessionId: run.sessionId });
    expect(await world.supervisor.decide(id, { approved: true })).toBe('recorded');
    await world.clock.settle();
    await finish(world);
    await other.event('finished');
    expect(await run.record()).toMatchObject({
      continued_by: null,
      verbs: ['attach', 'cancel', 'resume'],
    });
    await world.resume(run);
    world.tools.last('danger').answer('gone');
    await world.clock.settle();
    await finish(world);
    await world.expectSound();
  });

  it('during a shutdown leaves it parked', async () => {
    const { world, run } = await parkedBefore(['safe']);
    const other = await world.start();
    world.supervisor.shutdown('SIGTERM');
    await expect(world.supervisor.resume(run.runId, {})).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    await finish(world);
    await other.event('finished');
    expect((await run.record()).state).toBe('parked');
    await world.expectSound();
  });

  it('because its agent is gone says which, and works again when it is back', async () => {
    const host = new Host();
    const first = await host.boot(TOOLS);
    const { run } = await parkedBefore(['safe'], first);
    const without = await host.boot({ ...TOOLS, agentId: 'other' });
    await expect(without.supervisor.resume(run.runId, {})).rejects.toMatchObject({
      code: 'agent_not_served',
      message: expect.stringContaining('"agent"'),
    });
    const again = await host.boot(TOOLS);
    await again.resume(run);
    again.tools.last('safe').answer('42');
    await again.clock.settle();
    await finish(again);
    await host.expectSound();
  });
});

describe('what a resumed run asks its model', () => {
  const QUESTION = { sessionId: 'one', prompt: 'Which?' };

  /** Two turns with tools, then the third request; parked and resumed at `parkAt`, if at all. */
  async function thirdRequest(parkAt: 'never' | 'first' | 'second' | 'both') {
    const world = new RunWorld({ tools: ['safe', 'slow'] });
    let run = await world.start({ ...PARK, ...QUESTION, clientTools: [CLIENT] });
    for (const turn of ['first', 'second'] as const) {
      if (parkAt === turn || parkAt === 'both') await run.park();
      world.model.turn.say(`The ${turn}.`).call('slow', { turn }, `${turn}-slow`);
      world.model.turn.call('safe', '{"broken', `${turn}-safe`).finish('tool_calls');
      await world.clock.settle();
      if (parkAt === turn || parkAt === 'both') run = await world.resume(run);
      for (const execution of world.tools.executions) execution.answer(`of ${turn}`);
      await world.clock.settle();
    }
    const { request } = world.model.turn;
    await finish(world);
    expect((await run.record()).state).toBe('finished');
    await world.expectSound();
    return { request, transcript: await world.store.getTranscript('one') };
  }

  const CLIENT = { name: 'ask_user', parameters: { type: 'object' } };

  it.each(['first', 'second', 'both'] as const)(
    'is exactly what the parked one would have asked: parked at the %s turn',
    async (parkAt) => {
      expect(await thirdRequest(parkAt)).toEqual(await thirdRequest('never'));
    },
  );

  it('has the results of the calls that had ended, and asks for the rest once', async () => {
    const world = new RunWorld(TOOLS);
    const run = await world.start(PARK);
    world.model.turn.call('safe', {}, 'a').call('danger', {}, 'b').finish('tool_calls');
    await world.clock.settle();
    world.tools.last('safe').answer('before');
    await world.clock.settle();
    const [id = ''] = (await run.record()).approvals;
    await run.park();
    await world.supervisor.decide(id, { approved: true });
    const next = await world.resume(run);
    expect(world.tools.executions.map(({ name }) => name)).toEqual(['safe', 'danger']);
    world.tools.last('danger').answer('after');
    await world.clock.settle();
    expect(world.model.turn.request.messages.filter(({ role }) => role === 'tool')).toEqual([
      { role: 'tool', toolCallId: 'a', content: 'before' },
      { role: 'tool', toolCallId: 'b', content: 'after' },
    ]);
    await finish(world);
    expect((await next.types()).filter((type) => type === 'tool_requested')).toHaveLength(1);
    await world.expectSound();
  });

  it('goes on with the turns that were taken: the limit holds for both runs together', async () => {
    const options = { ...TOOLS, limits: { turnsMax: 3 } };
    const { world, run } = await parkedBefore(['safe'], new RunWorld(options));
    const next = await world.resume(run);
    for (let turn = 0; turn < 2; turn += 1) {
      world.tools.last('safe').answer('42');
      await world.clock.settle();
      world.model.turn.call('safe').finish('tool_calls');
      await world.clock.settle();
    }
    expect(await next.event('failed')).toMatchObject({ error: { code: 'turn_limit' } });
    expect(world.model.turns).toHaveLength(3);
    await world.expectSound();
  });
});

describe('what is kept to go on from', () => {
  it('holds no header of the request, and the one that resumes gives its own', async () => {
    const seen: Readonly<Record<string, string>>[] = [];
    const source: ToolSource = {
      acquire: ({ requestHeaders }) => {
        seen.push(requestHeaders);
        return Promise.resolve({ tools: [], servers: [], release: () => Promise.resolve() });
      },
    };
    const world = new RunWorld({ source });
    const requestHeaders = { authorization: 'Bearer sesame', 'x-mine': 'open' };
    const run = await world.start({ ...PARK, requestHeaders });
    await run.park();
    world.model.turn.call('x').finish('tool_calls');
    await run.event('parked');
    await world.clock.settle();
    const kept = String(await world.store.getCheckpoint(run.runId));
    expect(kept).not.toMatch(/sesame|x-mine|authorization/);
    const again = { authorization: 'Bearer again' };
    const resumed = world.supervisor.resume(run.runId, { requestHeaders: again });
    await world.clock.settle();
    await resumed;
    expect(seen).toEqual([requestHeaders, again]);
    await world.clock.settle();
    await finish(world);
  });
});

describe('a run that goes on in a process that was configured anew', () => {
  const dying = async (options: RunWorldOptions, names: readonly string[]) => {
    const host = new Host();
    const first = await host.boot(options);
    const { run } = await parkedBefore(names, first);
    return { host, run };
  };

  it('tells the model that a tool is gone, and nothing runs', async () => {
    const { host, run } = await dying(TOOLS, ['safe']);
    const second = await host.boot({ tools: ['danger'] });
    await second.resume(run);
    expect(second.tools.executions).toEqual([]);
    expect(second.model.turn.request.messages.at(-1)).toMatchObject({
      role: 'tool',
      toolCallId: 'call-0',
      content: expect.stringContaining('not found'),
    });
    await finish(second);
    await host.expectSound();
  });

  it('asks a person about a call that a new rule holds back', async () => {
    const { host, run } = await dying({ tools: ['safe'] }, ['safe']);
    const second = await host.boot({ tools: ['safe'], requireApproval: ['safe'] });
    const next = await second.resume(run);
    expect(second.tools.executions).toEqual([]);
    const [id = ''] = (await next.record()).approvals;
    expect(await second.supervisor.decide(id, { approved: true })).toBe('recorded');
    await second.clock.settle();
    second.tools.last('safe').answer('42');
    await second.clock.settle();
    await finish(second);
    await host.expectSound();
  });

  it('keeps a question that was asked although no rule asks any more', async () => {
    const host = new Host();
    const first = await host.boot(TOOLS);
    const run = await first.start(PARK);
    first.model.turn.call('danger', {}, 'a').finish('tool_calls');
    await first.clock.settle();
    const [id = ''] = (await run.record()).approvals;
    await run.park();
    const second = await host.boot({ tools: ['danger'] });
    await expect(second.supervisor.resume(run.runId, {})).rejects.toMatchObject({
      code: 'approvals_undecided',
    });
    await second.supervisor.decide(id, { approved: false, reason: 'no' });
    await second.resume(run);
    expect(second.tools.executions).toEqual([]);
    await finish(second);
    await host.expectSound();
  });
});
