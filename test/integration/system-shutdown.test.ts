import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { delta, reply } from '../../src/testing/fake-upstream-steps.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { type ProcessWorld, processWorlds, type ServerProcess } from '../support/system-process.ts';
import { readSessions } from '../support/system-store.ts';

/** The way out of a real process on real signals. */

const start = processWorlds();
const STALLED = { steps: [delta({ content: 'Half' }), { kind: 'stall' } as const] };
const CLEAN = { clean_shutdown: true, unaborted_tasks: false };
const DEAF_SERVER = fileURLToPath(new URL('../support/system-deaf-server.ts', import.meta.url));

async function expectClean(server: ServerProcess): Promise<void> {
  expect(await server.exit()).toEqual([0, null]);
  expect(await server.logged('shutdown complete')).toMatchObject(CLEAN);
}

/** Every run has its end, and every journal keeps its invariants. */
async function expectSound({ dataDir }: ProcessWorld): Promise<void> {
  const sessions = await readSessions(dataDir);
  expect(sessions.length).toBeGreaterThan(0);
  for (const { entries } of sessions) expect(checkJournal(entries, { ended: true })).toEqual([]);
}

/** A chat whose answer goes on when `go` is called. */
async function openChat(world: ProcessWorld) {
  const { promise: open, resolve: go } = Promise.withResolvers<void>();
  const gate = { kind: 'gate', open } as const;
  world.answer({ steps: [delta({ content: 'a' }), gate, ...reply({ text: ['b'] })] });
  const chat = world.server.chat('s');
  await chat.until(({ text }) => text === 'a');
  return { chat, go };
}

/** A dead process that nobody has collected yet still has its number; only Linux tells it apart. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return (
      process.platform !== 'linux' || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    );
  } catch {
    return false;
  }
}

describe('a signal', () => {
  it('ends an idle server with 0', async () => {
    const { server } = await start();
    server.signal('SIGINT');
    await expectClean(server);
    expect(await server.logged('Received SIGINT')).toBeDefined();
  });

  it('lets a stream finish, refuses everything new, and then leaves early', async () => {
    const world = await start();
    const { server } = world;
    const { chat, go } = await openChat(world);
    server.signal('SIGTERM');
    expect(await server.logged('Allowing 30s')).toMatchObject({ in_flight: expect.any(Number) });
    const refused = [server.ask('/health'), server.ask('/v1/models'), server.chat('s')];
    for (const request of refused) {
      expect(await request.status()).toBe(503);
      expect(Number(await request.header('retry-after'))).toBeGreaterThan(0);
      expect(await request.json()).toEqual({
        error: { message: 'Server is shutting down', type: 'service_unavailable' },
      });
    }
    go();
    await chat.all();
    expect(chat.text).toBe('ab');
    expect(chat.finishReasons).toEqual(['stop']);
    await expectClean(server);
    expect(server.log.map(({ msg }) => msg)).toContain(
      'All in-flight requests completed, shutting down early',
    );
    await expectSound(world);
  });

  it('lets an approval be answered and a run be cancelled while it waits (decision 35)', async () => {
    const toml = '[hitl]\nrequire_approval = ["add"]\nroute = { mode = "conversational" }';
    const world = await start({ mcp: ['demo'], toml });
    const { server } = world;
    const add = { id: 'call_1', name: 'add', arguments: { a: 1, b: 2 } };
    world.answer({ steps: reply({ toolCalls: [add] }) });
    const asks = server.chat('s');
    await asks.until(() => asks.data('aura.approval_pending').length > 0);
    world.answer(STALLED, { steps: reply({ text: ['Three'] }) });
    const hangs = server.chat('t');
    await hangs.until(({ text }) => text === 'Half');
    const id = String(asks.data('aura.approval_pending')[0]?.['decision_id']);
    server.signal('SIGTERM');
    await server.logged('Received SIGTERM');
    expect(await server.ask('/health').status()).toBe(503);
    const decision = { method: 'POST', body: { approved: true } };
    expect(await server.ask(`/v1/approvals/${id}`, decision).status()).toBe(204);
    await asks.all();
    expect(asks.text).toContain('Three');
    const cancel = `/v1/runs/${await hangs.runId()}/cancel?wait=true`;
    expect(await server.ask(cancel, { method: 'POST' }).status()).toBe(200);
    await hangs.all();
    expect(hangs.error).toMatchObject({ code: 'run_cancelled' });
    await expectClean(server);
    await expectSound(world);
  });

  it('tells the streams that are left after the grace, and still ends with 0', async () => {
    const world = await start({ grace: 0.3 });
    const { server } = world;
    world.answer(STALLED, STALLED);
    const chat = server.chat('s');
    const plain = server.chat('t', { stream: false });
    await chat.until(({ text }) => text === 'Half');
    const requests = [await world.upstream.request(0), await world.upstream.request(1)];
    server.signal('SIGTERM');
    await chat.all();
    expect(chat.error).toMatchObject({ code: 'shutdown' });
    expect(chat.body.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(chat.complete).toBe(true);
    expect(await plain.status()).toBe(503);
    expect(await plain.json()).toMatchObject({ error: { code: 'shutdown' } });
    for (const request of requests) expect(await request.answered).toBe('broken');
    await expectClean(server);
    expect(await server.logged('Grace period expired')).toBeDefined();
    await expectSound(world);
  });

  it('leaves nothing of a tool that ignores everything, and logs that it was left', async () => {
    const toml = `[mcp.servers.deaf]
transport = "stdio"
cmd = ${JSON.stringify([process.execPath, DEAF_SERVER])}
[runtime.timeouts]
tool_stop_grace_secs = 0.3`;
    const world = await start({ grace: 0, toml });
    const { server } = world;
    world.answer({ steps: reply({ toolCalls: [{ id: 'call_1', name: 'deaf', arguments: {} }] }) });
    const chat = server.chat('s', {}, { 'X-Aura-Custom-Events': 'true' });
    await chat.until(() => chat.data('aura.progress').length > 0);
    const pids = String(chat.data('aura.progress')[0]?.['message']).split(' ').map(Number);
    expect(pids).toHaveLength(2);
    server.signal('SIGTERM');
    await chat.all();
    expect(chat.data('aura.tool_complete')[0]).toMatchObject({ success: false, effect: 'unknown' });
    expect(chat.error).toMatchObject({ code: 'shutdown' });
    await expectClean(server);
    const orphan = server.log.find((entry) => entry['tool_call_id'] === 'call_1');
    expect(orphan).toMatchObject({ level: 'warn', tool: 'deaf' });
    expect(pids.filter(isAlive)).toEqual([]);
    await expectSound(world);
  });
});

describe('a second signal', () => {
  it.each([
    { first: 'SIGTERM', second: 'SIGINT', code: 130 },
    { first: 'SIGINT', second: 'SIGTERM', code: 143 },
  ] as const)('$second ends the process at once with $code', async ({ first, second, code }) => {
    const world = await start();
    const { server } = world;
    world.answer(STALLED);
    const chat = server.chat('s');
    await chat.until(({ text }) => text === 'Half');
    server.signal(first);
    await server.logged(`Received ${first}`);
    server.signal(second);
    expect(await server.exit()).toEqual([code, null]);
    await chat.closed;
    await expectSound(world);
  });

  it('tells every reader that is there, and the journal what was left open', async () => {
    const toml = '[hitl]\nrequire_approval = ["add"]\nroute = { mode = "conversational" }';
    const world = await start({ mcp: ['demo'], toml });
    const { server } = world;
    const add = { id: 'call_1', name: 'add', arguments: { a: 1, b: 2 } };
    world.answer(STALLED);
    const speaks = server.chat('s');
    await speaks.until(({ text }) => text === 'Half');
    const reads = server.ask(`/v1/runs/${await speaks.runId()}/events`);
    await reads.until(({ frames }) => frames.length > 0);
    world.answer({ steps: reply({ toolCalls: [add] }) });
    const asks = server.chat('t', {}, { 'X-Aura-Custom-Events': 'true' });
    await asks.until(() => asks.data('aura.approval_pending').length > 0);
    server.signal('SIGTERM');
    await server.logged('Received SIGTERM');
    server.signal('SIGINT');
    for (const chat of [speaks, asks]) {
      await chat.all();
      expect(chat.error).toMatchObject({ code: 'shutdown' });
      expect(chat.body.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(chat.complete).toBe(true);
    }
    await reads.all();
    expect(reads.frames.at(-1)?.data).toContain('"reason":"shutdown"');
    expect(await server.exit()).toEqual([130, null]);
    const messages = server.log.map(({ msg }) => msg);
    expect(messages.slice(messages.indexOf('shutdown complete') + 1)).toEqual([]);
    for (const { entries } of await readSessions(world.dataDir)) {
      const open = entries.filter(({ payload }) => payload.event.type === 'obligation');
      expect(open).toHaveLength(2);
      const stop = entries.find(({ payload }) => payload.event.type === 'stopping');
      expect(entries.at(-1)?.payload.event).toMatchObject({ end: { evidence: [stop?.seq] } });
    }
    await expectSound(world);
  });
});
