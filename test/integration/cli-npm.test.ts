import { describe, expect, it } from 'vitest';
import { demoProcesses, readUntil, typed } from '../support/demo-process.ts';
import { ROOT } from '../conformance/architecture-sources.ts';

/**
 * Hazard: between a person and the server stand npm and a shell. A signal to npm alone must reach the
 * server, and one to the whole group, which npm passes on as well, must not count twice.
 */

const start = demoProcesses(ROOT);
const npmStart = () => start('npm', ['start', '--silent', '--']);

/** A server with a stream in flight, which goes on for a second or two. */
async function busy() {
  const server = await npmStart();
  const slow = await typed(server.commands.find((line) => line.includes('count slowly')));
  const reading = await readUntil(slow, (text) => text.includes('slow_count'));
  return { server, rest: reading.rest };
}

describe('the server under npm', () => {
  it.each([['SIGTERM'], ['SIGINT']] as const)(
    'ends in order when npm alone is sent %s',
    async (signal) => {
      const { server, rest } = await busy();
      server.child.kill(signal);
      expect(await rest()).toMatch(/"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/);
      expect(await server.ended).toEqual([0, null]);
      expect(server.log).toContain(`Received ${signal}, initiating graceful shutdown`);
    },
  );

  it('takes Ctrl-C once, though terminal and npm both tell it', async () => {
    const { server, rest } = await busy();
    // What the terminal sends comes first here: at the same time the system may make one of the two.
    process.kill(server.pid(), 'SIGINT');
    await server.logged('Received SIGINT');
    server.child.kill('SIGINT');
    expect(await rest()).toMatch(/"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/);
    expect(await server.ended).toEqual([0, null]);
    expect(server.log.filter((line) => line.startsWith('Received'))).toHaveLength(1);
  });

  it('ends with 0 after Ctrl-C when nothing is in flight', async () => {
    const server = await npmStart();
    // It has one: it has printed what to type.
    process.kill(-(server.child.pid as number), 'SIGINT');
    expect(await server.ended).toEqual([0, null]);
  });
});
