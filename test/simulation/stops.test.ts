import { describe, expect, it } from 'vitest';
import { ModelError } from '../../src/model.ts';
import { RunWorld } from '../support/run-world.ts';

/**
 * A stop can come at any moment and from four sides. Whatever it meets, the run ends once, for the
 * first cause, with everything it had open told as closed.
 */

describe('a run that is left alone', () => {
  it('finishes once, with its usage and nothing left behind', async () => {
    const world = new RunWorld();
    const run = await world.start();
    world.model.turn.say('Hi').say(' there').finish();
    expect(await run.types()).toEqual([
      'started',
      'observer_attached',
      'session_info',
      'text_delta',
      'text_delta',
      'usage',
      'finished',
    ]);
    expect(await run.event('finished')).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 2,
      total_tokens: 12,
      end: { by: 'agent' },
    });
    await world.expectSound();
  });

  it('asks again with the results of its tools, in the order of the calls', async () => {
    const world = new RunWorld({ tools: ['left', 'right'] });
    const run = await world.start();
    world.model.turn.call('left', { n: 1 }, 'a').call('right', { n: 2 }, 'b').finish('tool_calls');
    await world.clock.settle();
    expect(world.tools.executions.map((execution) => execution.args)).toEqual([{ n: 1 }, { n: 2 }]);
    world.tools.last('right').answer('R');
    await world.clock.settle();
    world.tools.last('left').answer('L');
    await world.clock.settle();
    expect(world.model.turn.request.messages.slice(-3)).toEqual([
      expect.objectContaining({ role: 'assistant' }),
      { role: 'tool', toolCallId: 'a', content: 'L' },
      { role: 'tool', toolCallId: 'b', content: 'R' },
    ]);
    world.model.turn.say('Done').finish();
    expect(await run.event('finished')).toMatchObject({ total_tokens: 24 });
    await world.expectSound();
  });

  it('runs as many tools at once as it may and no more (R8)', async () => {
    const world = new RunWorld({ tools: ['work'], limits: { parallelToolsMax: 2 } });
    const run = await world.start();
    for (const id of ['a', 'b', 'c']) world.model.turn.call('work', {}, id);
    world.model.turn.finish('tool_calls');
    await world.clock.settle();
    expect(world.tools.executions).toHaveLength(2);
    world.tools.executions[0]?.answer('1');
    await world.clock.settle();
    expect(world.tools.executions).toHaveLength(3);
    for (const execution of world.tools.executions) execution.answer('x');
    await world.clock.settle();
    world.model.turn.say('ok').finish();
    await run.event('finished');
    await world.expectSound();
  });
});

describe('a stop during the model stream', () => {
  it('closes the request and ends for the reader that left (INV-15)', async () => {
    const world = new RunWorld();
    const run = await world.start();
    world.model.turn.say('Half');
    await run.release();
    expect(world.model.turn.signal.aborted).toBe(true);
    expect(await run.types()).toEqual([
      'started',
      'observer_attached',
      'session_info',
      'text_delta',
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'stopping',
      'obligation',
      'obligation',
      'cancelled',
    ]);
    expect(await run.event('cancelled')).toMatchObject({
      reason: 'unclaimed',
      end: { by: 'client' },
    });
    await world.expectSound();
  });

  it('drops what the model still sends (INV-23)', async () => {
    const world = new RunWorld();
    world.model.deaf = true;
    const run = await world.start();
    await run.cancel('enough');
    world.model.turn.say('too late');
    world.model.turn.close();
    await world.clock.settle();
    expect(await run.types()).not.toContain('text_delta');
    expect(await run.event('cancelled')).toMatchObject({ reason: 'external', message: 'enough' });
    await world.expectSound();
  });

  it('abandons a request that does not close within its bound (INV-17)', async () => {
    const world = new RunWorld({ limits: { releaseMs: 5_000 } });
    world.model.deaf = true;
    const run = await world.start();
    await run.cancel();
    expect((await run.record()).state).toBe('stopping');
    await world.clock.advance(5_000);
    const states = (await run.events()).flatMap((event) =>
      event.type === 'obligation' ? [`${event.what} ${event.state} ${event.waited_ms}`] : [],
    );
    expect(states).toEqual(['model asked 0', 'model abandoned 5000']);
    expect((await run.record()).state).toBe('cancelled');
    world.model.turn.close();
    await world.expectSound();
  });

  it('keeps the first cause and takes the later ones for notes (INV-02, INV-33)', async () => {
    const world = new RunWorld();
    world.model.deaf = true;
    const run = await world.start();
    await run.cancel('first');
    await run.cancel('second');
    await run.release();
    world.model.turn.close();
    await world.clock.settle();
    expect(await run.event('cancelled')).toMatchObject({ reason: 'external', message: 'first' });
    expect((await run.types()).filter((type) => type === 'stopping')).toHaveLength(1);
    await world.expectSound();
  });

  it('changes nothing once the run has ended (INV-47)', async () => {
    const world = new RunWorld();
    const run = await world.start();
    world.model.turn.say('x').finish();
    await world.clock.settle();
    const before = await run.record();
    await run.cancel('late');
    expect(await run.record()).toEqual(before);
    expect(before.state).toBe('finished');
    await world.expectSound();
  });
});

describe('a stop during tools', () => {
  it('tells the tool at once, closes the call and starts nothing more (INV-16, INV-18, INV-19, INV-37)', async () => {
    const world = new RunWorld({ tools: ['work'], limits: { parallelToolsMax: 1 } });
    const run = await world.start();
    world.model.turn.call('work', {}, 'a').call('work', {}, 'b').finish('tool_calls');
    await world.clock.settle();
    await run.cancel();
    expect(world.tools.last('work').context.signal.aborted).toBe(true);
    expect(world.tools.executions).toHaveLength(1);
    expect(world.model.turns).toHaveLength(1);
    const closed = (await run.events()).filter((event) => event.type === 'tool_complete');
    expect(closed.map((event) => [event.tool_id, event.success])).toEqual([
      ['b', false],
      ['a', false],
    ]);
    await world.expectSound();
  });

  it('abandons a deaf tool after its grace and says that its effect is unknown (INV-17, H-9)', async () => {
    const world = new RunWorld({ tools: ['deaf'], limits: { toolStopGraceMs: 5_000 } });
    world.tools.deaf.add('deaf');
    const run = await world.start();
    world.model.turn.call('deaf').finish('tool_calls');
    await world.clock.settle();
    await run.cancel();
    await world.clock.advance(4_999);
    expect((await run.record()).state).toBe('stopping');
    await world.clock.advance(1);
    expect(await run.event('tool_complete')).toMatchObject({ success: false, effect: 'unknown' });
    expect((await run.record()).state).toBe('cancelled');
    world.tools.last('deaf').answer('too late');
    await world.expectSound();
    expect((await run.types()).at(-1)).toBe('cancelled');
  });

  it('cancels an open approval and runs nothing (TC6, H-12)', async () => {
    const world = new RunWorld({ tools: ['danger'], requireApproval: ['danger'] });
    const run = await world.start();
    world.model.turn.call('danger').finish('tool_calls');
    await world.clock.settle();
    const { decision_id } = await run.event('approval_pending');
    await run.release();
    expect(await run.event('approval_completed')).toMatchObject({
      outcome: { kind: 'cancelled', reason: 'unclaimed' },
    });
    expect(await world.supervisor.decide(decision_id, { approved: true })).toBe('unknown');
    expect(world.tools.executions).toEqual([]);
    await world.expectSound();
  });
});

describe('a failure', () => {
  it('of the provider ends the run with its code and keeps the partial text', async () => {
    const world = new RunWorld();
    const run = await world.start();
    world.model.turn.say('Half');
    world.model.turn.fail(
      new ModelError({ code: 'provider_error', message: 'It broke.', retryable: true }),
    );
    expect(await run.event('failed')).toMatchObject({
      error: { code: 'provider_error' },
      end: { by: 'provider' },
    });
    expect(await run.types()).toContain('text_delta');
    await world.expectSound();
  });

  it('keeps how long the provider asked to be left alone', async () => {
    const world = new RunWorld();
    const run = await world.start();
    const told = { code: 'provider_rate_limited', message: 'Later.', retryable: true };
    world.model.turn.fail(new ModelError({ ...told, status: 429, retryAfterMs: 60_000 }));
    expect((await run.event('failed')).error).toEqual({ ...told, retry_after_ms: 60_000 });
    expect((await run.record()).end?.error).toEqual(told);
    await world.expectSound();
  });

  it('before the first chunk is tried again, three times in all (TU2)', async () => {
    const world = new RunWorld();
    const run = await world.start();
    const busy = () =>
      new ModelError({ code: 'provider_error', message: 'Busy.', retryable: true, status: 503 });
    for (const attempts of [1, 2, 3]) {
      expect(world.model.turns).toHaveLength(attempts);
      world.model.turn.fail(busy());
      await world.clock.advance(10_000);
    }
    expect(world.model.turns).toHaveLength(3);
    expect(await run.event('failed')).toMatchObject({ error: { code: 'provider_error' } });
    await world.expectSound();
  });

  it('of a tool is a result that the model reads, and the loop goes on (INV-31)', async () => {
    const world = new RunWorld({ tools: ['work'] });
    const run = await world.start();
    world.model.turn.call('work', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    world.tools.last('work').fail('no');
    await world.clock.settle();
    expect(world.model.turn.request.messages.at(-1)).toEqual({
      role: 'tool',
      toolCallId: 'a',
      content: 'Tool returned an error: no',
    });
    world.model.turn.say('sorry').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('to name a tool, or to write its arguments, is a result too', async () => {
    const world = new RunWorld({ tools: ['work'] });
    const run = await world.start();
    world.model.turn.call('nothing', {}, 'a').call('work', 'not json', 'b').finish('tool_calls');
    await world.clock.settle();
    expect(world.tools.executions).toEqual([]);
    const results = world.model.turn.request.messages.slice(-2).map((message) => message.content);
    expect(results[0]).toContain('tool not found: nothing');
    expect(results[1]).toContain('JsonError');
    world.model.turn.say('ok').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('to stop asking for tools ends the run at its turn limit', async () => {
    const world = new RunWorld({ tools: ['work'], limits: { turnsMax: 2 } });
    const run = await world.start();
    for (const id of ['a', 'b']) {
      world.model.turn.call('work', {}, id).finish('tool_calls');
      await world.clock.settle();
      if (id === 'a') world.tools.last('work').answer('again');
      await world.clock.settle();
    }
    expect(world.tools.executions).toHaveLength(1);
    expect(await run.event('failed')).toMatchObject({ error: { code: 'turn_limit' } });
    await world.expectSound();
  });
});
