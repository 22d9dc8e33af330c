import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import { processWorlds, type ServerProcess } from '../support/system-process.ts';

/** Real processes whose data directory is not theirs alone, or not there any more. */

const start = processWorlds();
const SHARED = 'Another live process uses the same data directory';

const warned = ({ log }: ServerProcess): readonly unknown[] =>
  log.filter(({ msg, level }) => level === 'warn' && msg.startsWith(SHARED));

describe('a data directory', () => {
  it('that a live process uses is started on with a warning, before either has a run', async () => {
    const world = await start();
    const second = await world.again();
    expect(await second.logged(SHARED)).toMatchObject({ level: 'warn', others: 1 });
    expect(warned(world.server)).toEqual([]);
    world.answer({ steps: reply({ text: ['Hello'] }) }, { steps: reply({ text: ['There'] }) });
    for (const server of [world.server, second]) {
      const chat = server.chat('s');
      await chat.all();
      expect(chat.finishReasons).toEqual(['stop']);
    }
    for (const server of [world.server, second]) {
      server.signal('SIGTERM');
      expect(await server.exit()).toEqual([0, null]);
    }
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'that a process left by %s is started on without one',
    async (signal) => {
      const world = await start();
      world.server.signal(signal);
      await world.server.exit();
      const next = await world.again();
      expect(await next.ask('/health').status()).toBe(200);
      expect(warned(next)).toEqual([]);
    },
  );

  it('whose database is deleted makes the server say so, and take no more runs', async () => {
    const world = await start();
    const { server } = world;
    world.answer({ steps: reply({ text: ['Hello'] }) });
    await server.chat('s').all();
    rmSync(join(world.dataDir, 'runwarden.db'));
    const health = await server.ask('/health').json();
    expect(health).toMatchObject({
      status: 'degraded',
      session_store: { ping: { ok: false, error: expect.stringContaining('deleted or replaced') } },
    });
    expect(JSON.stringify(health)).not.toContain(world.dataDir);
    const chat = server.chat('t');
    expect(await chat.status()).toBe(503);
    expect(await chat.json()).toMatchObject({ error: { code: 'store_unavailable' } });
    const told = await server.logged('The store refuses writes');
    expect(JSON.stringify(told)).toContain('deleted or replaced');
  });
});
