import { describe, expect, it } from 'vitest';
import { RunWorld } from '../support/run-world.ts';

/** A person decides once; whatever else arrives finds that it came too late. */

async function waiting() {
  const world = new RunWorld({ tools: ['danger', 'safe'], requireApproval: ['danger'] });
  const run = await world.start();
  world.model.turn.call('danger', { path: 'x' }, 'a').finish('tool_calls');
  await world.clock.settle();
  const pending = await run.event('approval_pending');
  return { world, run, pending, id: pending.decision_id };
}

describe('a gated tool', () => {
  it.each(['{bad', '[1]', '{"n":1e400}'])(
    'is asked of nobody when its arguments are %s, which nothing can be executed with',
    async (text) => {
      const world = new RunWorld({ tools: ['danger'], requireApproval: ['danger'] });
      const run = await world.start();
      world.model.turn.call('danger', text, 'a').finish('tool_calls');
      await world.clock.settle();
      expect(await run.types()).not.toContain('approval_requested');
      expect(world.tools.executions).toEqual([]);
      expect(world.model.turn.request.messages.at(-1)?.content).toContain('not a JSON object');
      world.model.turn.say('ok').finish();
      await run.event('finished');
      await world.expectSound();
    },
  );

  it('runs after an explicit approval alone, and the record shows the order (TC1)', async () => {
    const { world, run, pending, id } = await waiting();
    expect(pending).toMatchObject({
      tool_name: 'danger',
      arguments: { path: 'x' },
      origin: { kind: 'config_gate', matched_pattern: 'danger' },
      scope: { kind: 'single', session_id: run.sessionId },
    });
    expect(world.tools.executions).toEqual([]);
    expect(await world.supervisor.decide(id, { approved: true })).toBe('recorded');
    await world.clock.settle();
    expect(world.tools.executions).toHaveLength(1);
    world.tools.last('danger').answer('done');
    await world.clock.settle();
    world.model.turn.say('ok').finish();
    const types = await run.types();
    const at = (type: string) => types.indexOf(type);
    expect(at('tool_requested')).toBeLessThan(at('approval_requested'));
    expect(at('approval_requested')).toBeLessThan(at('approval_pending'));
    expect(at('approval_completed')).toBeLessThan(at('tool_start'));
    await world.expectSound();
  });

  it('keeps a secret of the caller out of the reason, for the journal and the model', async () => {
    const world = new RunWorld({ tools: ['danger'], requireApproval: ['danger'] });
    const run = await world.start({ requestHeaders: { authorization: 'Bearer abcdef-123456' } });
    world.model.turn.call('danger', {}, 'a').finish('tool_calls');
    await world.clock.settle();
    const { decision_id: id } = await run.event('approval_pending');
    await world.supervisor.decide(id, { approved: false, reason: 'it says abcdef-123456' });
    await world.clock.settle();
    const { outcome } = await run.event('approval_completed');
    expect(outcome).toEqual({ kind: 'denied', reason: 'it says [redacted]' });
    expect(world.model.turn.request.messages.at(-1)?.content).toContain('it says [redacted]');
    world.model.turn.say('ok').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('does not run after a denial, and the model reads why', async () => {
    const { world, run, id } = await waiting();
    await world.supervisor.decide(id, { approved: false, reason: 'not today' });
    await world.clock.settle();
    expect(world.tools.executions).toEqual([]);
    expect(world.model.turn.request.messages.at(-1)?.content).toContain('not today');
    expect(await run.event('tool_complete')).toMatchObject({ success: true, approval: 'denied' });
    world.model.turn.say('ok').finish();
    await run.event('finished');
    await world.expectSound();
  });

  it('has one winner: the same decision again is repeated, another is unknown (AP1)', async () => {
    const { world, id } = await waiting();
    const answers = await Promise.all([
      world.supervisor.decide(id, { approved: true }),
      world.supervisor.decide(id, { approved: false }),
      world.supervisor.decide(id, { approved: true, reason: 'again' }),
    ]);
    expect(answers).toEqual(['recorded', 'unknown', 'repeated']);
    await world.clock.settle();
    expect(world.tools.executions).toHaveLength(1);
    world.tools.last('danger').answer('done');
    await world.clock.settle();
    world.model.turn.say('ok').finish();
    await world.clock.settle();
    expect(await world.supervisor.decide(id, { approved: true })).toBe('repeated');
    await world.expectSound();
  });

  it('is not run by a decision for somebody else', async () => {
    const { world, run } = await waiting();
    expect(await world.supervisor.decide('0190-unknown', { approved: true })).toBe('unknown');
    expect(world.tools.executions).toEqual([]);
    await run.cancel();
    await world.expectSound();
  });

  it('waits beside others that run, and both results reach the model', async () => {
    const world = new RunWorld({ tools: ['danger', 'safe'], requireApproval: ['danger'] });
    const run = await world.start();
    world.model.turn.call('danger', {}, 'a').call('safe', {}, 'b').finish('tool_calls');
    await world.clock.settle();
    world.tools.last('safe').answer('S');
    await world.clock.settle();
    expect((await run.record()).state).toBe('waiting');
    const { decision_id } = await run.event('approval_pending');
    await world.supervisor.decide(decision_id, { approved: true });
    await world.clock.settle();
    world.tools.last('danger').answer('D');
    await world.clock.settle();
    const results = world.model.turn.request.messages.slice(-2).map((message) => message.content);
    expect(results).toEqual(['D', 'S']);
    world.model.turn.say('ok').finish();
    await run.event('finished');
    await world.expectSound();
  });
});
