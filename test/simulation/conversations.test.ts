import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import { type ChatMessage, ModelError } from '../../src/model.ts';
import { toBody } from '../../src/providers/openai-request.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';
import type { RunWorldOptions, SimulatedRun } from '../support/run-world.ts';
import { objections } from '../support/strict-pairing.ts';

/**
 * However a run ended, what it leaves to its session is a conversation that a strict provider takes, and
 * that tells the truth of each call.
 */

const OPTIONS: RunWorldOptions = {
  tools: ['safe', 'danger', 'deaf'],
  requireApproval: ['danger'],
  limits: { turnsMax: 2, totalMs: 100_000, stepMs: 0, firstChunkMs: 50_000 },
  toolTimeoutMs: 60_000,
  approvalTimeoutMs: 700_000,
};
const LATER = { afterMs: 10 * JOURNAL_LIMITS.leaseTtlMs };
const ONE: Partial<StartRun> = {
  sessionId: 'one',
  onBusy: 'enqueue',
  continuesSession: true,
  liveness: { policy: 'park', graceMs: 0 },
  clientTools: [{ name: 'ask', parameters: { type: 'object' } }],
};

interface Scene {
  readonly host: Host;
  readonly world: HostProcess;
  readonly run: SimulatedRun;
}

/** Three calls: one has ended, one is at work, one waits for a person. */
async function acting({ world }: Scene): Promise<void> {
  world.model.turn.say('Let me see.').call('safe', { n: 1 }, 'ended');
  world.model.turn.call('safe', { n: 2 }, 'works').call('danger', {}, 'asks').finish('tool_calls');
  await world.clock.settle();
  world.tools.executions[0]?.answer('42');
  await world.clock.settle();
}

type Ways = Readonly<
  Record<string, { readonly end: (scene: Scene) => Promise<void>; state: string }>
>;

const ENDS: Ways = {
  finishes: {
    end: async ({ world }) => world.model.turn.say('Hi.').finish(),
    state: 'finished',
  },
  'finishes without a word': {
    end: async ({ world }) => world.model.turn.finish(),
    state: 'finished',
  },
  'is cancelled in the middle of a sentence': {
    end: async ({ world, run }) => {
      world.model.turn.say('I was about to');
      await run.cancel();
    },
    state: 'cancelled',
  },
  'is cancelled before it said anything': {
    end: ({ run }) => run.cancel(),
    state: 'cancelled',
  },
  'is cancelled between a call and the end of its turn': {
    end: async ({ world, run }) => {
      world.model.turn.say('Well').call('safe', {}, 'half');
      await run.cancel();
    },
    state: 'cancelled',
  },
  'is cancelled with calls open': {
    end: async (scene) => {
      await acting(scene);
      await scene.run.cancel();
    },
    state: 'cancelled',
  },
  'is cancelled with a deaf tool': {
    end: async ({ world, run }) => {
      world.tools.deaf.add('deaf');
      world.model.turn.call('deaf', {}, 'd').finish('tool_calls');
      await world.clock.settle();
      await run.cancel();
      await world.clock.advance(5_000);
    },
    state: 'cancelled',
  },
  'runs out of time': {
    end: async (scene) => {
      await acting(scene);
      await scene.world.clock.advance(100_000);
    },
    state: 'cancelled',
  },
  'waits in vain for its first word': {
    end: async ({ world }) => world.clock.advance(50_000),
    state: 'cancelled',
  },
  'fails with its model': {
    end: async ({ world }) => {
      world.model.turn.say('Half an');
      world.model.turn.fail(
        new ModelError({ code: 'provider_error', message: 'No.', retryable: false }),
      );
    },
    state: 'failed',
  },
  'comes to its limit of turns': {
    end: async (scene) => {
      const { world } = scene;
      for (let turn = 0; turn < 2; turn += 1) {
        world.model.turn.call('safe', {}, `t${turn}`).finish('tool_calls');
        await world.clock.settle();
        world.tools.last('safe').answer('42');
        await world.clock.settle();
      }
    },
    state: 'failed',
  },
  'hands a call to its caller': {
    end: async ({ world }) => {
      world.model.turn.call('ask', {}, 'c').call('safe', {}, 's').finish('tool_calls');
      await world.clock.settle();
      world.tools.last('safe').answer('42');
    },
    state: 'cancelled',
  },
  'uses broken arguments and a call id twice': {
    end: async ({ world }) => {
      world.model.turn.call('safe', '{"a', 'x').call('safe', {}, 'x').finish('tool_calls');
      await world.clock.settle();
      world.tools.last('safe').answer('42');
      await world.clock.settle();
      world.model.turn.finish();
    },
    state: 'finished',
  },
  'is superseded with calls open': {
    end: async (scene) => {
      await acting(scene);
      const next = await scene.world.start({ ...ONE, onBusy: 'interrupt' });
      await scene.world.clock.settle();
      await next.cancel();
    },
    state: 'cancelled',
  },
  'is parked with a question open': {
    end: async (scene) => {
      await acting(scene);
      await scene.run.park();
      scene.world.tools.executions[1]?.answer('43');
    },
    state: 'parked',
  },
  'is parked before its calls began': {
    end: async ({ world, run }) => {
      await run.park();
      world.model.turn.call('safe', {}, 's').finish('tool_calls');
    },
    state: 'parked',
  },
};

const DEATHS: Ways = {
  'in the middle of a sentence': {
    end: async ({ world }) => void world.model.turn.say('I was about to'),
    state: 'failed',
  },
  'between a call and the end of its turn': {
    end: async ({ world }) => void world.model.turn.say('Well').call('safe', {}, 'half'),
    state: 'failed',
  },
  'with a call at work': {
    end: async ({ world }) => world.model.turn.call('safe', {}, 's').finish('tool_calls'),
    state: 'failed',
  },
  'with a question open': { end: acting, state: 'parked' },
  'in its second turn': {
    end: async ({ world }) => {
      world.model.turn.call('safe', {}, 's').finish('tool_calls');
      await world.clock.settle();
      world.tools.last('safe').answer('42');
      await world.clock.settle();
      world.model.turn.say('So');
    },
    state: 'failed',
  },
};

async function begun(): Promise<Scene> {
  const host = new Host();
  const world = await host.boot(OPTIONS);
  const earlier = await world.start(asking('Who are you?'));
  world.model.turn.say('A machine.').finish();
  await earlier.event('finished');
  await world.clock.settle();
  return { host, world, run: await world.start(asking('How many?')) };
}

const asking = (prompt: string): Partial<StartRun> => ({
  ...ONE,
  prompt,
  messages: [{ role: 'user', content: prompt }],
});

const keptBy = async (host: Host): Promise<readonly ChatMessage[]> =>
  JSON.parse((await host.store.getTranscript('one')) ?? '[]') as ChatMessage[];

/** The next run of the session is asked for, and its request looked at. */
async function expectGoesOn(host: Host, world: HostProcess): Promise<readonly ChatMessage[]> {
  const kept = await keptBy(host);
  const asked = world.model.turns.length;
  await world.start(asking('And then?'));
  await world.clock.settle();
  expect(world.model.turns).toHaveLength(asked + 1);
  const { messages } = world.model.turn.request;
  expect(objections(messages)).toEqual([]);
  expect(messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    ...kept,
    { role: 'user', content: 'And then?' },
  ]);
  expect(messages.slice(1, 4)).toEqual([
    { role: 'user', content: 'Who are you?' },
    { role: 'assistant', content: 'A machine.' },
    { role: 'user', content: 'How many?' },
  ]);
  world.model.turn.say('Then that.').finish();
  await world.clock.settle();
  return kept;
}

/** What was sent to the tools agrees with what the conversation says of them. */
function expectTruth(kept: readonly ChatMessage[], processes: readonly HostProcess[]): void {
  const executed = new Set(
    processes.flatMap(({ tools }) => tools.executions.map(({ context }) => context.toolCallId)),
  );
  for (const message of kept) {
    if (message.role !== 'tool') continue;
    const { toolCallId: id, content } = message;
    if (/^4\d$/.test(content)) expect(executed).toContain(id);
    if (/not been executed/.test(content)) expect(executed).not.toContain(id);
    expect(content, `the result of ${id}`).not.toBe('');
  }
}

describe.each(Object.entries(ENDS))('a run that %s', (_how, { end, state }) => {
  it('leaves a conversation that goes on', async () => {
    const scene = await begun();
    await end(scene);
    for (let settle = 0; settle < 3; settle += 1) await scene.world.clock.settle();
    expect((await scene.run.record()).state).toBe(state);
    const kept = await expectGoesOn(scene.host, scene.world);
    expectTruth(kept, [scene.world]);
  });
});

describe.each(Object.entries(DEATHS))('a run whose process dies %s', (_when, { end, state }) => {
  it('leaves a conversation that goes on', async () => {
    const scene = await begun();
    await end(scene);
    await scene.world.clock.settle();
    scene.world.kill();
    const next = await scene.host.boot(OPTIONS, LATER);
    await next.clock.settle();
    expect((await next.supervisor.record(scene.run.runId))?.state).toBe(state);
    const kept = await expectGoesOn(scene.host, next);
    expectTruth(kept, [scene.world, next]);
  });
});

describe('a turn that was interrupted (decision 44)', () => {
  it('stays, and is marked in what is kept; a provider is not told of the mark', async () => {
    const { host, world, run } = await begun();
    world.model.turn.say('I was about to');
    await run.cancel();
    await world.clock.settle();
    const interrupted = { role: 'assistant', content: 'I was about to', interrupted: true };
    expect((await keptBy(host)).at(-1)).toEqual(interrupted);
    await expectGoesOn(host, world);
    const { request } = world.model.turn;
    expect(request.messages).toContainEqual(interrupted);
    const body = JSON.stringify(toBody({ model: 'm' }, request));
    expect(body).toContain('I was about to');
    expect(body).not.toContain('interrupted');
  });

  it('that had said nothing leaves no message: providers refuse an empty one', async () => {
    const { host, run } = await begun();
    await run.cancel();
    expect((await keptBy(host)).at(-1)).toEqual({ role: 'user', content: 'How many?' });
  });
});

describe('a run that waited for its session', () => {
  it('goes on with what the one before it left, and leaves its own', async () => {
    const { host, world } = await begun();
    const waits = await world.start(asking('And so?'));
    world.model.turn.say('Three.').finish();
    await world.clock.settle();
    await world.clock.settle();
    expect(world.model.turn.request.messages.slice(-3)).toEqual([
      { role: 'user', content: 'How many?' },
      { role: 'assistant', content: 'Three.' },
      { role: 'user', content: 'And so?' },
    ]);
    world.model.turn.say('So there.').finish();
    await waits.event('finished');
    await world.clock.settle();
    expect((await keptBy(host)).slice(-2)).toEqual([
      { role: 'user', content: 'And so?' },
      { role: 'assistant', content: 'So there.' },
    ]);
  });

  it('and was cancelled there leaves the conversation as it is', async () => {
    const { host, world } = await begun();
    const waits = await world.start(asking('Never mind'));
    await waits.cancel();
    world.model.turn.say('Three.').finish();
    await world.clock.settle();
    expect(JSON.stringify(await keptBy(host))).not.toContain('Never mind');
    await expectGoesOn(host, world);
  });

  it('and was parked there goes on with what was left meanwhile', async () => {
    const { world } = await begun();
    const waits = await world.start(asking('Later'));
    await waits.park();
    world.model.turn.say('Three.').finish();
    await world.clock.settle();
    await world.resume(waits);
    expect(world.model.turn.request.messages.slice(-2)).toEqual([
      { role: 'assistant', content: 'Three.' },
      { role: 'user', content: 'Later' },
    ]);
  });

  it('and displaced the one before it leaves its own, too', async () => {
    const { host, world } = await begun();
    const next = await world.start({ ...asking('Stop. What now?'), onBusy: 'interrupt' });
    await world.clock.settle();
    world.model.turn.say('Now this.').finish();
    await next.event('finished');
    await world.clock.settle();
    expect((await keptBy(host)).at(-1)).toEqual({ role: 'assistant', content: 'Now this.' });
  });

  it('beside others that are parallel: those do not speak for the session', async () => {
    const { host, world, run } = await begun();
    const title = await world.start({ ...asking('A title?'), onBusy: 'parallel' });
    world.model.turn.say('Machines').finish();
    await title.event('finished');
    await world.clock.settle();
    expect(JSON.stringify(await keptBy(host))).not.toContain('title');
    world.model.turns.at(-2)?.say('Three.').finish();
    await run.event('finished');
    await world.clock.settle();
    expect((await keptBy(host)).at(-1)).toEqual({ role: 'assistant', content: 'Three.' });
  });
});
