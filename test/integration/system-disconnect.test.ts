import { describe, expect, it } from 'vitest';
import { delta, reply } from '../../src/testing/fake-upstream-steps.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** The caller goes away. Whatever the run waits for hears of it, and the record says why it ended. */

const start = systemWorlds();
const GATED: SystemOptions = {
  mcp: ['web'],
  toml: '[hitl]\nrequire_approval = ["echo"]\nroute = { mode = "conversational" }',
};
const IN_SESSION = { 'X-Chat-Session-Id': 's' };
const STALLED = { steps: [delta({ content: 'Half' }), { kind: 'stall' } as const] };
const calling = (name: string, args = {}) => ({
  steps: reply({ toolCalls: [{ id: 'call_1', name, arguments: args }] }),
});

/** A chat of the session "s". */
const chatOf = (world: SystemWorld, stream: boolean): Exchange =>
  world.chat({ stream }, IN_SESSION);

async function expectUnclaimed(world: SystemWorld): Promise<void> {
  expect(await world.ended('s')).toMatchObject({
    state: 'cancelled',
    claims: [],
    end: { by: 'client', reason: 'unclaimed' },
  });
  // What the next caller gets is in order.
  world.answer({ steps: reply({ text: ['Fine'] }) });
  const next = world.chat();
  await next.all();
  expect(next.text).toBe('Fine');
}

describe.each([
  { how: 'a stream', stream: true },
  { how: 'a request that is not streamed', stream: false },
])('leaving $how', ({ stream }) => {
  it('while the model answers closes the upstream’s socket (INV-15)', async () => {
    const world = await start();
    world.answer(STALLED);
    const chat = chatOf(world, stream);
    const request = await world.upstream.request(0);
    await world.event('s', 'text_delta');
    await chat.leave();
    await request.closed;
    expect(await request.answered).toBe('broken');
    await expectUnclaimed(world);
    expect((await world.journal('s')).map(({ type }) => type)).toEqual([
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
  });

  it('before the first chunk closes the upstream’s socket', async () => {
    const world = await start();
    world.answer({ steps: [{ kind: 'stall' }] });
    const chat = chatOf(world, stream);
    const request = await world.upstream.request(0);
    await chat.leave();
    await request.closed;
    await expectUnclaimed(world);
  });

  it('during a tool tells its server, with the reason', async () => {
    const world = await start({ mcp: ['web'] });
    world.answer(calling('waits'));
    const chat = chatOf(world, stream);
    await world.event('s', 'tool_progress');
    await chat.leave();
    await world.web.until(() => world.web.cancelled.length > 0);
    expect(world.web.cancelled).toEqual(['client disconnected']);
    await expectUnclaimed(world);
    expect(await world.event('s', 'tool_complete')).toMatchObject({ success: false });
    const notes = world.web.seen.filter(({ rpc }) => rpc === 'notifications/cancelled');
    expect(notes).toHaveLength(1);
    // The next run of `expectUnclaimed` was given a fresh connection, not the one that was left.
    expect(world.web.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2);
  });

  it('in setup, before any header, starts no model call (INV-21)', async () => {
    let hangs = true;
    const world = await start({
      mcp: ['web'],
      web: { intercept: ({ rpc }) => hangs && rpc === 'tools/list' },
    });
    const chat = chatOf(world, stream);
    await world.web.until(() => world.web.seen.some(({ rpc }) => rpc === 'tools/list'));
    await chat.leave();
    await world.event('s', 'cancelled');
    expect(world.upstream.requests).toEqual([]);
    hangs = false;
    await expectUnclaimed(world);
  });
});

describe('leaving a stream', () => {
  it('during an approval withdraws the question, and the tool is never executed (H-12)', async () => {
    const world = await start(GATED);
    world.answer(calling('echo', { said: 'x' }));
    const chat = chatOf(world, true);
    await chat.until(() => chat.data('aura.approval_pending').length > 0);
    const id = String(chat.data('aura.approval_pending')[0]?.['decision_id']);
    await chat.leave();
    expect(await world.event('s', 'approval_completed')).toMatchObject({
      outcome: { kind: 'cancelled', reason: 'unclaimed' },
    });
    const late = world.ask(`/v1/approvals/${id}`, { method: 'POST', body: { approved: true } });
    expect(await late.status()).toBe(404);
    await expectUnclaimed(world);
    expect(world.web.seen.filter(({ rpc }) => rpc === 'tools/call')).toEqual([]);
  });

  it('during several tools at once reaches each of them', async () => {
    const world = await start({ mcp: ['web', 'demo'] });
    const calls = [
      { id: 'a', name: 'waits', arguments: {} },
      { id: 'b', name: 'waits', arguments: {} },
      { id: 'c', name: 'slow_count', arguments: { to: 1_000, delay_ms: 20 } },
    ];
    world.answer({ steps: reply({ toolCalls: calls }) });
    const chat = chatOf(world, true);
    const running = new Set<string>();
    await world.entry('s', (event) => {
      if (event.type === 'tool_progress') running.add(event.tool_id);
      return running.size === calls.length;
    });
    await chat.leave();
    await world.web.until(() => world.web.cancelled.length === 2);
    await expectUnclaimed(world);
    const closed = (await world.journal('s')).flatMap((event) =>
      event.type === 'tool_complete' ? [`${event.tool_id} ${event.success}`] : [],
    );
    expect(new Set(closed)).toEqual(new Set(['a false', 'b false', 'c false']));
    expect(closed).toHaveLength(calls.length);
  });

  it('of two in one session stops the one that was left and not its sibling', async () => {
    const world = await start();
    const { promise: open, resolve: go } = Promise.withResolvers<void>();
    const slow = {
      steps: [delta({ content: 'a' }), { kind: 'gate', open } as const, ...reply({ text: ['b'] })],
    };
    world.answer(STALLED, slow);
    const left = chatOf(world, true);
    await left.until(({ text }) => text === 'Half');
    const stays = chatOf(world, true);
    await stays.until(({ text }) => text === 'a');
    await left.leave();
    await expectUnclaimed(world);
    go();
    await stays.all();
    expect(stays.text).toBe('ab');
    expect(await world.record(await stays.runId())).toMatchObject({ state: 'finished' });
  });
});
