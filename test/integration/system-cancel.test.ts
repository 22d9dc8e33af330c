import { describe, expect, it } from 'vitest';
import { delta, reply } from '../../src/testing/fake-upstream-steps.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** Somebody other than the reader ends a run: `POST /v1/runs/{id}/cancel`. */

const start = systemWorlds();
const IN_SESSION = { 'X-Chat-Session-Id': 's' };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const STALLED = { steps: [delta({ content: 'Half' }), { kind: 'stall' } as const] };

async function running(world: SystemWorld): Promise<Exchange> {
  world.answer(STALLED);
  const chat = world.chat({}, IN_SESSION);
  await chat.until(({ text }) => text === 'Half');
  return chat;
}

function cancel(world: SystemWorld, runId: string, query = '', body?: unknown): Exchange {
  return world.ask(`/v1/runs/${runId}/cancel${query}`, { method: 'POST', body });
}

describe('a cancel', () => {
  it('is answered with the record that says stopping, and ends the stream of the reader', async () => {
    const world = await start();
    const chat = await running(world);
    const answer = cancel(world, await chat.runId(), '', { message: 'enough' });
    expect(await answer.json()).toMatchObject({ run_id: await chat.runId() });
    expect([200, 202]).toContain(await answer.status());
    await chat.all();
    expect(chat.error).toMatchObject({
      code: 'run_cancelled',
      message: expect.stringContaining('enough'),
    });
    expect(await (await world.upstream.request(0)).answered).toBe('broken');
    expect(await world.event('s', 'cancelled')).toMatchObject({
      reason: 'external',
      message: 'enough',
    });
  });

  it('that waits is answered after the terminal entry', async () => {
    const world = await start();
    const chat = await running(world);
    const answer = cancel(world, await chat.runId(), '?wait=true');
    expect(await answer.status()).toBe(200);
    const record = await answer.json();
    expect(record).toMatchObject({
      state: 'cancelled',
      end: { reason: 'external', by: 'operator' },
    });
    expect(record).toEqual(await world.record(await chat.runId()));
    await chat.all();
  });

  it('that waits for a deaf tool is answered when the run has ended, with 202 until then', async () => {
    const toml = '[runtime.timeouts]\ntool_stop_grace_secs = 1.5';
    const world = await start({ mcp: ['demo'], toml });
    const deaf = { id: 'call_1', name: 'ignores_cancel', arguments: { seconds: 600 } };
    world.answer({ steps: reply({ toolCalls: [deaf] }) });
    const chat = world.chat({}, IN_SESSION);
    await world.event('s', 'tool_start');
    const [soon, late] = [
      cancel(world, await chat.runId()),
      cancel(world, await chat.runId(), '?wait=true'),
    ];
    expect(await soon.status()).toBe(202);
    expect(await soon.json()).toMatchObject({ state: 'stopping', ended_at: null });
    expect(await late.json()).toMatchObject({ state: 'cancelled' });
    expect(await world.event('s', 'tool_complete')).toMatchObject({
      success: false,
      effect: 'unknown',
    });
    await chat.all();
  });

  it('that comes twice, or several times at once, ends the run once', async () => {
    const world = await start();
    const chat = await running(world);
    const runId = await chat.runId();
    const answers = ['first', 'second', 'third'].map((message) =>
      cancel(world, runId, '?wait=true', { message }),
    );
    const records = await Promise.all(answers.map((answer) => answer.json()));
    expect(records[1]).toEqual(records[0]);
    expect(records[2]).toEqual(records[0]);
    await chat.all();
    const types = (await world.journal('s')).map(({ type }) => type);
    expect(types.filter((type) => type === 'cancelled')).toHaveLength(1);
    expect(types.filter((type) => type === 'stopping')).toHaveLength(1);
  });

  it('of a run that has ended is 200 and changes nothing (INV-47)', async () => {
    const world = await start();
    world.answer({ steps: reply({ text: ['Done'] }) });
    const chat = world.chat();
    await chat.all();
    const before = await world.record(await chat.runId());
    const answer = cancel(world, await chat.runId());
    expect(await answer.status()).toBe(200);
    expect(await answer.json()).toEqual(before);
    expect(before.state).toBe('finished');
  });

  it('of a run nobody knows is 404 and leaves nothing that could hit a later one (INV-09)', async () => {
    const world = await start();
    const answer = cancel(world, UNKNOWN);
    expect(await answer.status()).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: 'not_found' } });
    expect(await world.ask(`/v1/runs/${UNKNOWN}`).status()).toBe(404);
  });

  it('with a wrong body is 400 and stops nothing', async () => {
    const world = await start();
    const chat = await running(world);
    const answer = cancel(world, await chat.runId(), '', { reason: 'x' });
    expect(await answer.status()).toBe(400);
    expect(await world.record(await chat.runId())).toMatchObject({ state: 'running' });
    await chat.leave();
    await world.ended('s');
  });
});
