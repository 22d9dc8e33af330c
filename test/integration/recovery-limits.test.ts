import { describe, expect, it } from 'vitest';
import type { UpstreamRequest } from '../../src/testing/fake-upstream.ts';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import { DONE, STEPS_TOML } from '../support/fault-steps.ts';
import {
  askedOf,
  type How,
  readRun,
  recordOf,
  startRun,
  toolCall,
  wholeRun,
  witnesses,
} from '../support/fault-world.ts';
import { type ProcessWorld, processWorlds, type ServerProcess } from '../support/system-process.ts';
import { expectSoundStore, readSessions } from '../support/system-store.ts';

/** What bounds the ways back of a run that was lost with its process. */

const start = processWorlds();
const witness = witnesses();
const SECRET = 'sk-system-test-0123456789';
const RESUME = '[runtime.crash]\nrecover = "resume"';
const BACK_MAX = 3;

/** The model asks for this tool until it has had an answer to it. */
const asking = (how: How, name: string) => (request: UpstreamRequest) => {
  const { turn, messages } = askedOf(request);
  const answered = messages.some(({ role, content }) => role === 'tool' && content === 'x is done');
  if (answered) return DONE;
  const call = { ...toolCall('x', how, name), id: `call_${turn}` };
  return { steps: reply({ toolCalls: [call] }) };
};

/** Starts processes on the world's data until one of them brings nothing back. */
async function untilOneLives(world: ProcessWorld): Promise<ServerProcess> {
  for (;;) {
    const server = await world.again();
    const { fate } = await server.logged('A lost run has been settled');
    if (fate !== 'resumed') return server;
    expect(await server.exit()).toEqual([null, 'SIGKILL']);
  }
}

describe('a run that takes its process with it each time', () => {
  it.each([
    ['by a tool that may be repeated', 'work_again'],
    ['by a tool that the model asks for again', 'work'],
  ])(
    '%s comes back three times and no more',
    async (_how, tool) => {
      const seen = witness();
      const toml = [STEPS_TOML, RESUME, seen.toml].join('\n');
      const world = await start({ toml, respond: asking('kill', tool) });
      const run = await startRun(world.server, {
        prompt: 'Die',
        session_id: 's',
        liveness: { policy: 'continue' },
      });
      expect(await world.server.exit()).toEqual([null, 'SIGKILL']);
      const lived = await untilOneLives(world);
      expect(seen.count('x')).toBe(1 + BACK_MAX);
      expect(world.upstream.faults).toEqual([]);
      lived.signal('SIGTERM');
      expect(await lived.exit()).toEqual([0, null]);
      const [session] = await readSessions(world.dataDir);
      const states = session?.records.map(({ state }) => state);
      expect(states).toEqual(['failed', ...Array(BACK_MAX).fill('parked')]);
      expect(session?.records[0]?.end?.error).toMatchObject({ code: 'owner_lost' });
      expect(session?.records.at(-1)?.run_id).toBe(run.run_id);
      await expectSoundStore(world.dataDir, SECRET);
    },
    120_000,
  );
});

describe('a run that was on its way out', () => {
  it('for the end of its server does not come back when that is killed', async () => {
    const seen = witness();
    const toml = [STEPS_TOML, RESUME, seen.toml].join('\n');
    const world = await start({ grace: 0, toml, respond: asking('deaf', 'work') });
    const { run_id: runId } = await startRun(world.server, { prompt: 'Hold', session_id: 's' });
    const reader = readRun(world.server, runId);
    await reader.until(({ body }) => body.includes('"Noted"'));
    world.server.signal('SIGTERM');
    await reader.until(({ body }) => body.includes('"stopping"'));
    await world.server.kill();
    const server = await world.again();
    const entries = await wholeRun(server, runId);
    expect(entries.at(-1)?.payload.event).toMatchObject({
      type: 'failed',
      error: { code: 'owner_lost' },
    });
    const stop = entries.find(({ payload }) => payload.event.type === 'stopping');
    const { end } = await recordOf(server, runId);
    expect(end?.evidence).toContain(stop?.seq);
    expect(seen.count('x')).toBe(1);
    server.signal('SIGTERM');
    expect(await server.exit()).toEqual([0, null]);
    await expectSoundStore(world.dataDir, SECRET);
  }, 60_000);
});
