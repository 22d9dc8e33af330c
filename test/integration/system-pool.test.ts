import { describe, expect, it } from 'vitest';
import { delta, reply } from '../../src/testing/fake-upstream-steps.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** MCP connections are shared by runs, counted, and closed when no run has used them for a while. */

const start = systemWorlds();
const IDLE_MS = 150;
const ECHO = { id: 'call_1', name: 'echo', arguments: { said: 'x' } };
const WAITS = { id: 'call_1', name: 'waits', arguments: {} };

const begin = (): Promise<SystemWorld> => start({ mcp: ['web'], mcpIdleMs: IDLE_MS });
const opened = (world: SystemWorld): number =>
  world.web.seen.filter(({ rpc }) => rpc === 'initialize').length;

/** One run that uses the tool once. */
async function useTool(world: SystemWorld): Promise<void> {
  world.respond = ({ body }) => {
    const { role } = (body['messages'] as { role: string }[]).at(-1) ?? {};
    return { steps: reply(role === 'tool' ? { text: ['Done'] } : { toolCalls: [ECHO] }) };
  };
  const chat = world.chat();
  await chat.all();
  expect(chat.text).toContain('Done');
}

/** Resolves when the server was told that the last session is over. */
const allClosed = (world: SystemWorld): Promise<void> =>
  world.web.until(() => world.mcpSessions.length === 0);

describe('the connection to an MCP server', () => {
  it('is shared by runs and closed when the last has long ended', async () => {
    const world = await begin();
    await Promise.all([useTool(world), useTool(world)]);
    expect(opened(world)).toBe(1);
    await allClosed(world);
    await useTool(world);
    expect(opened(world)).toBe(2);
    await allClosed(world);
  });

  it('stays open while a run holds it, used or not', async () => {
    const world = await begin();
    const { promise: open, resolve: go } = Promise.withResolvers<void>();
    world.answer({ steps: [delta({ content: 'a' }), { kind: 'gate', open }, ...reply({})] });
    const holder = world.chat();
    await holder.until(({ text }) => text === 'a');
    await useTool(world);
    // Far longer than a connection may be idle, by the model's own pace.
    const pause = { kind: 'delay', ms: IDLE_MS * 4 } as const;
    world.answer({ steps: [delta({ content: 'b' }), pause, ...reply({})] });
    await world.chat().all();
    await useTool(world);
    expect(opened(world)).toBe(1);
    go();
    await holder.all();
    await allClosed(world);
  });

  it.each([
    { how: 'a caller that leaves', toml: '', leaves: true },
    {
      how: 'a deadline',
      toml: '[runtime.timeouts]\nstep_secs = 1.5\nstep_allowance_secs = 0',
      leaves: false,
    },
  ])('is not passed on after $how', async ({ toml, leaves }) => {
    const world = await start({ mcp: ['web'], mcpIdleMs: IDLE_MS, toml });
    world.answer({ steps: reply({ toolCalls: [WAITS] }) });
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await world.event('s', 'tool_progress');
    if (leaves) await chat.leave();
    else await chat.all();
    expect(await world.ended('s')).toMatchObject({ state: 'cancelled' });
    await useTool(world);
    expect(opened(world)).toBe(2);
    await allClosed(world);
  });
});
