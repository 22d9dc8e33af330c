import { describe, expect, it } from 'vitest';
import { delta } from '../../src/testing/fake-upstream-steps.ts';
import { RawConnection } from '../support/raw-client.ts';
import { processWorlds } from '../support/system-process.ts';

/** Requests that are under way when a real process is told to stop. */

const start = processWorlds();
const STALLED = { steps: [delta({ content: 'Half' }), { kind: 'stall' } as const] };

describe('a signal', () => {
  it.each(['{', ''])('does not wait for a request of which only "%s" came', async (part) => {
    const { server } = await start();
    const client = await RawConnection.open(Number(new URL(server.url).port));
    const head = ['POST /v1/chat/completions HTTP/1.1', 'Host: 127.0.0.1'];
    const rest = ['Content-Type: application/json', 'Content-Length: 100', 'Expect: 100-continue'];
    client.write([...head, ...rest, '', part].join('\r\n'));
    await client.until(({ text }) => text.includes('100 Continue'));
    server.signal('SIGTERM');
    expect(await server.exit()).toEqual([0, null]);
    await client.ended;
    expect(server.log.find(({ msg }) => msg === 'shutdown complete')).toMatchObject({
      clean_shutdown: true,
      unaborted_tasks: false,
    });
  });

  it('leaves a word in the log of what held it up', async () => {
    const world = await start({ grace: 0.2 });
    const { server } = world;
    world.answer(STALLED);
    const chat = server.chat('s');
    await chat.until(({ text }) => text === 'Half');
    const runId = await chat.runId();
    server.signal('SIGTERM');
    await chat.all();
    expect(await server.exit()).toEqual([0, null]);
    const [told, ...more] = server.log.filter(({ msg }) => msg.startsWith('Still in flight'));
    expect(told).toMatchObject({
      level: 'warn',
      in_flight: 2,
      requests: 1,
      oldest: [{ method: 'POST', path: '/v1/chat/completions', run_id: runId }],
    });
    expect(more).toEqual([]);
  });
});
