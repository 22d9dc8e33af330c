import { describe, expect, it } from 'vitest';
import { ModelError, type ModelProvider } from '../../src/model.ts';
import { type ToolLease } from '../../src/tool.ts';
import { createSupervisor } from '../../src/create-supervisor.ts';
import { createLog } from '../../src/log.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { RunWorld } from '../support/run-world.ts';
import { checkAtEnd } from '../support/sound-journals.ts';

/**
 * However a run ends, its end is written once, tells the truth of everything it had open, and gives
 * back what it held.
 */

const broken = () => new ModelError({ code: 'provider_error', message: 'No.', retryable: false });

function lease(release: ToolLease['release']): ToolLease {
  return { tools: [], servers: [], release };
}

/** A store that takes nothing while `down` is true. */
function failingStore(): { store: Store; down: boolean } {
  const store = createMemoryStore();
  const gate = { store, down: false };
  const append: Store['append'] = (parts) => {
    if (gate.down) throw new Error('disk full');
    return store.append(parts);
  };
  gate.store = new Proxy(store, {
    get: (target, key) => {
      if (key === 'append') return append;
      if (key === 'close') return () => {};
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return gate;
}

describe('what a run leaves behind', () => {
  it('has no open call after a failure of the provider either (INV-38, H-6)', async () => {
    const world = new RunWorld({ tools: ['work'] });
    const run = await world.start();
    world.model.turn.say('let me').call('work', {}, 'a');
    world.model.turn.fail(broken());
    expect(await run.event('tool_complete')).toMatchObject({ tool_id: 'a', success: false });
    expect(world.tools.executions).toEqual([]);
    await run.event('failed');
    await world.expectSound();
  });

  it('keeps calls that had ended as they were and closes only the rest (INV-40)', async () => {
    const world = new RunWorld({ tools: ['quick', 'slow'] });
    const run = await world.start();
    world.model.turn.call('quick', {}, 'a').call('slow', {}, 'b').finish('tool_calls');
    await world.clock.settle();
    world.tools.last('quick').answer('done');
    await world.clock.settle();
    await run.cancel();
    const ends = (await run.events()).filter((event) => event.type === 'tool_complete');
    expect(ends).toEqual([
      expect.objectContaining({ tool_id: 'a', success: true, result: 'done' }),
      expect.objectContaining({ tool_id: 'b', success: false }),
    ]);
    await world.expectSound();
  });

  it('is the partial text, the results and the usage of what was done (INV-41)', async () => {
    const world = new RunWorld({ tools: ['work'] });
    const run = await world.start();
    world.model.turn.say('one').call('work').finish('tool_calls', 100);
    await world.clock.settle();
    world.tools.last('work').answer('result');
    await world.clock.settle();
    world.model.turn.say('two');
    await run.release();
    const texts = (await run.events()).flatMap((e) => (e.type === 'text_delta' ? [e.text] : []));
    expect(texts).toEqual(['one', 'two']);
    expect(await run.event('cancelled')).toMatchObject({ prompt_tokens: 100, total_tokens: 102 });
    await world.expectSound();
  });

  it('is a valid record when nothing came at all (INV-42)', async () => {
    const world = new RunWorld();
    const run = await world.start();
    await run.cancel();
    expect(await run.event('cancelled')).toMatchObject({ total_tokens: 0 });
    expect(await run.record()).toMatchObject({ state: 'cancelled', usage: { total_tokens: 0 } });
    await world.expectSound();
  });

  it('has no timer of a step, a deadline or a lease (INV-29)', async () => {
    const world = new RunWorld({ limits: { inactivityMs: 5_000 } });
    const run = await world.start();
    world.model.turn.say('x');
    expect(world.clock.pending.length).toBeGreaterThan(3);
    world.model.turn.finish();
    await run.event('finished');
    expect(world.clock.pending).toEqual([]);
  });
});

describe('the verdict', () => {
  it('is cancelled also when the stopped stream ends as if it were complete (INV-36)', async () => {
    const world = new RunWorld();
    const asIfComplete: ModelProvider = {
      provider: 'sdk',
      model: 'quiet',
      stream: (_request, sink, signal) =>
        new Promise((resolve) => {
          sink.text('half');
          signal.addEventListener('abort', () => {
            sink.finish('stop');
            resolve();
          });
        }),
    };
    const store = createMemoryStore();
    checkAtEnd(store);
    const supervisor = createSupervisor({
      agents: [{ id: 'agent', model: asIfComplete }],
      store,
      clock: world.clock,
      log: createLog({ level: 'silent' }),
    });
    const starting = supervisor.start({
      agent: 'agent',
      sessionId: 's',
      messages: [{ role: 'user', content: 'x' }],
      prompt: 'x',
      streaming: true,
      liveness: { policy: 'cancel', graceMs: 0 },
      onBusy: 'parallel',
      requestHeaders: {},
    });
    await world.clock.settle();
    const { runId } = await starting;
    await world.clock.settle();
    void supervisor.cancel(runId, {});
    await world.clock.settle();
    expect((await supervisor.record(runId))?.state).toBe('cancelled');
  });

  /** Whether a stop and a failure, in this order, end the run as the one or the other. */
  const first = [
    { order: 'stop, failure', ends: 'cancelled' },
    { order: 'failure, stop', ends: 'failed' },
    { order: 'stop, answer', ends: 'cancelled' },
    { order: 'answer, stop', ends: 'finished' },
    { order: 'answer, failure', ends: 'finished' },
    { order: 'failure, answer', ends: 'failed' },
  ];

  it.each(first)(
    'for $order is $ends: the first in time decides (INV-33, INV-43, H-8)',
    async ({ order, ends }) => {
      const world = new RunWorld();
      world.model.deaf = true;
      const run = await world.start();
      for (const what of order.split(', ')) {
        if (what === 'stop') await run.cancel();
        if (what === 'failure') world.model.turn.fail(broken());
        if (what === 'answer') world.model.turn.finish();
        await world.clock.settle();
      }
      await world.clock.advance(10_000);
      expect((await run.types()).at(-1)).toBe(ends);
      await world.expectSound();
    },
  );
});

describe('the end in the store', () => {
  it('is there before anybody is told of it (INV-44)', async () => {
    const world = new RunWorld();
    const run = await world.start();
    const told: string[] = [];
    const stored: boolean[] = [];
    world.supervisor.journal.follow(
      { sessionId: run.sessionId, from: 1 },
      {
        entries: (batch) => {
          for (const { seq, type } of batch) {
            told.push(type);
            stored.push((world.store.head(run.sessionId) as number) >= seq);
          }
          return true;
        },
        gap: () => {},
        failed: () => {},
      },
    );
    world.model.turn.say('x').finish();
    await run.event('finished');
    expect(told.at(-1)).toBe('finished');
    expect(stored.every(Boolean)).toBe(true);
  });

  it('is not changed by work that ends later (INV-23, INV-45, INV-46)', async () => {
    const world = new RunWorld({ tools: ['deaf'], limits: { toolStopGraceMs: 1_000 } });
    world.tools.deaf.add('deaf');
    const run = await world.start();
    world.model.turn.call('deaf').finish('tool_calls');
    await world.clock.settle();
    await run.cancel();
    await world.clock.advance(1_000);
    const [record, journal] = [await run.record(), await world.journal(run.sessionId)];
    const late = world.tools.last('deaf');
    late.context.started({});
    late.context.progress({ message: 'late' });
    late.answer('late');
    await world.clock.advance(60_000);
    expect(await run.record()).toEqual(record);
    expect(await world.journal(run.sessionId)).toEqual(journal);
    await world.expectSound();
  });

  it('is tried again when the store was away, and says what was lost (INV-53)', async () => {
    const gate = failingStore();
    const world = new RunWorld({ store: gate.store });
    const run = await world.start();
    world.model.turn.say('stored');
    await world.clock.settle();
    gate.down = true;
    world.model.turn.say('lost');
    await world.clock.settle();
    gate.down = false;
    await world.clock.advance(3_000);
    expect(await run.event('failed')).toMatchObject({ error: { code: 'store_unavailable' } });
    const texts = (await run.events()).flatMap((e) => (e.type === 'text_delta' ? [e.text] : []));
    expect(texts).toEqual(['stored']);
    expect(world.model.turn.signal.aborted).toBe(true);
    expect(world.clock.pending).toEqual([]);
  });

  it('leaves no run behind when the store never comes back', async () => {
    const gate = failingStore();
    const world = new RunWorld({ store: gate.store, graceMs: 0 });
    const run = await world.start();
    gate.down = true;
    world.model.turn.say('lost');
    await world.clock.advance(60_000);
    expect(await run.types()).not.toContain('finished');
    world.supervisor.shutdown('SIGTERM');
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true });
  });
});

describe('release', () => {
  it('gives back the session although the connections could not be (INV-48, INV-52)', async () => {
    const world = new RunWorld({
      source: { acquire: () => Promise.resolve(lease(() => Promise.reject(new Error('no')))) },
    });
    const run = await world.start({ sessionId: 'one' });
    world.model.turn.say('x').finish();
    await run.event('finished');
    const next = await world.start({ sessionId: 'one' });
    world.model.turn.say('y').finish();
    await next.event('finished');
    await world.expectSound();
  });

  it('is bounded, so that a hung connection cannot keep the session (INV-49)', async () => {
    const world = new RunWorld({
      source: { acquire: () => Promise.resolve(lease(() => new Promise(() => {}))) },
      limits: { releaseMs: 2_000 },
      graceMs: 60_000,
    });
    const run = await world.start();
    world.model.turn.say('x').finish();
    await run.event('finished');
    world.supervisor.shutdown('SIGTERM');
    await world.clock.advance(2_000);
    expect(await world.supervisor.stopped).toMatchObject({ cleanShutdown: true });
    expect(world.clock.pending).toEqual([]);
  });

  it('evicts the connections of a run that was cut off and no other', async () => {
    const released: boolean[] = [];
    const world = new RunWorld({
      source: {
        acquire: () =>
          Promise.resolve(
            lease(({ evict }) => {
              released.push(evict);
              return Promise.resolve();
            }),
          ),
      },
      limits: { firstChunkMs: 1_000 },
    });
    const finishing = await world.start();
    world.model.turn.finish();
    await finishing.event('finished');
    const cancelled = await world.start();
    await cancelled.cancel();
    const left = await world.start();
    await left.release();
    await world.start();
    await world.clock.advance(1_000);
    expect(released).toEqual([false, false, true, true]);
    await world.expectSound();
  });
});

describe('the clocks of a run', () => {
  it('count setup in the total and not in the step (INV-22, H-5)', async () => {
    const setup = Promise.withResolvers<ToolLease>();
    const world = new RunWorld({
      source: { acquire: () => setup.promise },
      limits: { setupMs: 30_000, stepMs: 10_000, stepAllowanceMs: 0, totalMs: 25_000 },
    });
    const run = await world.start();
    await world.clock.advance(20_000);
    setup.resolve(lease(() => Promise.resolve()));
    await world.clock.advance(4_999);
    expect((await run.record()).state).toBe('running');
    await world.clock.advance(1);
    expect(await run.event('cancelled')).toMatchObject({ which: 'total', after_ms: 25_000 });
    await world.expectSound();
  });
});
