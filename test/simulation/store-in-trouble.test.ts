import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../src/errors.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { StoreError } from '../../src/stores/store.ts';
import { RunWorld, type RunWorldOptions } from '../support/run-world.ts';

/** What is said of a run while its store takes nothing is true, and so is what is said afterwards. */

function troubled(options: RunWorldOptions = {}) {
  const store = createMemoryStore();
  const { append } = store;
  const world = new RunWorld({ ...options, store });
  const full = () => {
    store.append = () => {
      throw new StoreError('The disk is full.');
    };
  };
  return { world, full, makeRoom: () => void (store.append = append) };
}

describe('a store that takes nothing', () => {
  it('makes a cancel of a run whose end waits for it unavailable, and sends nobody elsewhere', async () => {
    const { world, full, makeRoom } = troubled();
    const run = await world.start();
    full();
    world.model.turn.say('lost');
    await world.clock.advance(120_000);
    const { supervisor } = world;
    await expect(supervisor.cancel(run.runId, {})).rejects.toBeInstanceOf(StoreUnavailableError);
    expect((await run.record()).verbs).toEqual(['attach']);
    makeRoom();
    await world.clock.advance(3_600_000);
    expect(await supervisor.cancel(run.runId, {})).toMatchObject({ state: 'failed' });
  });

  it('refuses a decision, which is not said to have been taken when it is repeated', async () => {
    const { world, full, makeRoom } = troubled({ tools: ['danger'], requireApproval: ['danger'] });
    const run = await world.start();
    world.model.turn.call('danger', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    const { decision_id: id } = await run.event('approval_pending');
    full();
    const { supervisor } = world;
    const refused = supervisor.decide(id, { approved: true });
    refused.catch(() => {});
    await world.clock.settle();
    await expect(refused).rejects.toBeInstanceOf(StoreUnavailableError);
    makeRoom();
    await world.clock.advance(3_600_000);
    expect(await supervisor.decide(id, { approved: true })).toBe('unknown');
    expect(world.tools.executions).toEqual([]);
  });
});

describe('the record of a run', () => {
  it('counts its deadlines in whole milliseconds, whatever its clock counts in', async () => {
    const world = new RunWorld();
    Object.assign(world.clock, { steady: () => world.clock.now() / 3 });
    const run = await world.start();
    await world.clock.advance(1_000);
    const { deadlines } = await run.record();
    expect(deadlines.length).toBeGreaterThan(0);
    for (const { at, remaining_ms } of deadlines) {
      expect([Number.isInteger(at), Number.isInteger(remaining_ms)]).toEqual([true, true]);
    }
  });

  it('names nothing as evidence of a run that finished, whoever left meanwhile', async () => {
    const world = new RunWorld();
    const run = await world.start({ liveness: { policy: 'continue', graceMs: 0 } });
    await run.release();
    world.model.turn.say('done').finish();
    await run.event('finished');
    expect((await run.record()).end).toMatchObject({ evidence: [] });
  });
});

describe('the error of a tool', () => {
  it('keeps what looks like a credential out of the journal and from the model', async () => {
    const world = new RunWorld({ tools: ['safe'] });
    const run = await world.start();
    world.model.turn.call('safe', {}, 'a').call('safe', {}, 'b').finish('tool_calls');
    await world.clock.settle();
    const [failing, answering] = world.tools.executions;
    failing?.fail('sk-planted-0123456789 was refused, Bearer planted-0123456789 too');
    answering?.answer('keys begin with sk-documented-here');
    await world.clock.settle();
    const asked = JSON.stringify(world.model.turn.request.messages);
    const told = JSON.stringify(await run.events());
    for (const text of [asked, told]) {
      expect(text).not.toContain('planted');
      expect(text).toContain('sk-documented-here');
    }
    world.model.turn.say('done').finish();
    await run.event('finished');
    await world.expectSound();
  });
});
