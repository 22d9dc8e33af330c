import { setTimeout as pass } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { delta, finish, reply, toolCallParts } from '../../src/testing/fake-upstream-steps.ts';
import { DONE } from '../support/fault-steps.ts';
import {
  askedOf,
  continuedBy,
  entriesOf,
  readRun,
  recordOf,
  startRun,
  toolCall,
  wholeRun,
  witnesses,
} from '../support/fault-world.ts';
import { processWorlds, type ServerProcess } from '../support/system-process.ts';
import { expectSoundStore, readSessions } from '../support/system-store.ts';

/**
 * A process stands still for longer than anything in it may take, as one that is swapped out or
 * whose machine sleeps. Time itself is what these tests are about, so they let it pass.
 */

const start = processWorlds();
const witness = witnesses();
const SECRET = 'sk-system-test-0123456789';
const HALF = { steps: [delta({ content: 'Half' }), { kind: 'stall' } as const] };
/** The leases of a process that stands still have expired. */
const LEASE_MS = 15_000;

async function frozen(server: ServerProcess, ms: number): Promise<void> {
  server.signal('SIGSTOP');
  await pass(ms);
  server.signal('SIGCONT');
}

async function expectClean(server: ServerProcess, dataDir: string): Promise<void> {
  server.signal('SIGTERM');
  expect(await server.exit()).toEqual([0, null]);
  await expectSoundStore(dataDir, SECRET);
}

describe('a process that stood still', () => {
  it.each([
    { which: 'total', timeout_ms: 700, answer: HALF, env: '' },
    { which: 'step', timeout_ms: 1_300, answer: HALF, env: 'step_secs = 0.6' },
  ])('ends a run for its $which deadline, once', async ({ which, timeout_ms, answer, env }) => {
    const toml = `[runtime.timeouts]\nstep_allowance_secs = 0\n${env}`;
    const world = await start({ toml, respond: () => answer });
    const { server } = world;
    const { run_id: runId } = await startRun(server, { prompt: 'Go', session_id: 's', timeout_ms });
    const reader = readRun(server, runId);
    await reader.until(({ body }) => body.includes('Half'));
    await frozen(server, 2_000);
    await reader.all();
    const events = entriesOf(reader).map(({ payload }) => payload.event);
    const ends = events.filter((event) => 'end' in event);
    expect(ends).toMatchObject([{ type: 'cancelled', reason: 'deadline', which }]);
    expect(await recordOf(server, runId)).toMatchObject({ state: 'cancelled', end: { which } });
    expect(await (await world.upstream.request(0)).answered).toBe('broken');
    await expectClean(server, world.dataDir);
  });

  it('gives a tool its deadline once, and the run goes on', async () => {
    const seen = witness();
    const world = await start({
      toml: `${seen.toml}\n[runtime.timeouts]\ntool_secs = 0.5`,
      respond: (request) =>
        askedOf(request).turn === 0
          ? { steps: reply({ toolCalls: [toolCall('x', 'hold')] }) }
          : DONE,
    });
    const { server } = world;
    const { run_id: runId } = await startRun(server, { prompt: 'Go', session_id: 's' });
    await readRun(server, runId).until(({ body }) => body.includes('"Noted"'));
    await frozen(server, 2_000);
    const events = (await wholeRun(server, runId)).map(({ payload }) => payload.event);
    const ends = events.filter(({ type }) => type === 'tool_complete');
    expect(ends).toMatchObject([{ tool_id: 'x', success: false }]);
    expect(events.at(-1)?.type).toBe('finished');
    expect(seen.count('x')).toBe(1);
    await expectClean(server, world.dataDir);
  });
});

describe('a process that stood still while another one took its session', () => {
  it(
    'writes nothing over the new owner and does nothing any more (INV-56, INV-58)',
    async () => {
      const seen = witness();
      const thawed = Promise.withResolvers<void>();
      const resumed = Promise.withResolvers<void>();
      const late = toolCallParts(toolCall('late', 'quick'), 0);
      const answers = [
        [{ kind: 'gate', open: thawed.promise } as const, ...late, finish('tool_calls')],
        [{ kind: 'gate', open: resumed.promise } as const, finish('stop')],
      ];
      const world = await start({
        toml: `${seen.toml}\n[runtime.crash]\nrecover = "resume"`,
        respond: () => {
          const rest = answers.shift();
          return rest === undefined ? DONE : { steps: [delta({ content: 'Half' }), ...rest] };
        },
      });
      const old = world.server;
      const run = await startRun(old, { prompt: 'Go', session_id: 's' });
      const reader = readRun(old, run.run_id);
      await reader.until(({ body }) => body.includes('Half'));
      old.signal('SIGSTOP');
      const owner = await world.again();
      await owner.logged('A lost run has been settled');
      const next = await continuedBy(owner, run);
      const before = await wholeRun(owner, run.run_id);
      old.signal('SIGCONT');
      thawed.resolve();
      // It hears that it is not the owner any more, and its reader does too.
      await reader.closed;
      expect(await recordOf(old, run.run_id)).toMatchObject({
        state: 'parked',
        continued_by: next,
      });
      resumed.resolve();
      const after = await wholeRun(owner, next);
      expect(after.at(-1)?.payload.event.type).toBe('finished');
      expect(await wholeRun(owner, run.run_id)).toEqual(before);
      expect(before.at(-1)?.payload.event).toMatchObject({ type: 'parked', reason: 'owner_lost' });
      expect(seen.count('late')).toBe(0);
      const last = await startRun(old, { prompt: 'Again', session_id: 's' });
      await wholeRun(old, last.run_id);
      for (const server of [old, owner]) {
        server.signal('SIGTERM');
        expect(await server.exit()).toEqual([0, null]);
      }
      await expectSoundStore(world.dataDir, SECRET);
      const [session] = await readSessions(world.dataDir);
      expect(session?.records.map(({ state }) => state)).toEqual([
        'finished',
        'finished',
        'parked',
      ]);
    },
    LEASE_MS + 45_000,
  );
});
