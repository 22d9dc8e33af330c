import { describe, expect, it } from 'vitest';
import { delta, reply } from '../../src/testing/fake-upstream-steps.ts';
import { SupervisorError } from '../../src/errors.ts';
import { systemWorlds } from '../support/system-world.ts';

/** Two servers on one data directory: a session has one writer at a time, everything else is shared. */

const start = systemWorlds();
const IN_SESSION = { 'X-Chat-Session-Id': 's' };

async function two() {
  const first = await start();
  const second = await start({ dataDir: first.dataDir });
  const { promise: open, resolve: go } = Promise.withResolvers<void>();
  const gate = { kind: 'gate', open } as const;
  first.answer({ steps: [delta({ content: 'a' }), gate, ...reply({ text: ['b'] })] });
  const chat = first.chat({}, IN_SESSION);
  await chat.until(({ text }) => text === 'a');
  return { first, second, chat, go };
}

describe('a session that another server holds', () => {
  it.each([true, false])('is refused with 409 and no retry (stream: %s)', async (stream) => {
    const { second, chat, go } = await two();
    const refused = second.chat({ stream }, IN_SESSION);
    expect(await refused.status()).toBe(409);
    expect(await refused.header('x-should-retry')).toBe('false');
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'session_held',
        type: 'session_held',
        message: expect.stringContaining('"s"'),
      },
    });
    go();
    await chat.all();
    expect(chat.text).toBe('ab');
  });

  it('does not keep the other server from other sessions', async () => {
    const { second, chat, go } = await two();
    second.answer({ steps: reply({ text: ['Fine'] }) });
    const other = second.chat();
    await other.all();
    expect(other.text).toBe('Fine');
    go();
    await chat.all();
  });

  it('is free as soon as its run has ended, and goes on densely (INV-52)', async () => {
    const { first, second, chat, go } = await two();
    go();
    await chat.all();
    // The right to write is given back just behind the run's last entry.
    second.answer({ steps: reply({ text: ['Next'] }) });
    let next = second.chat({}, IN_SESSION);
    while ((await next.status()) === 409) next = second.chat({}, IN_SESSION);
    await next.all();
    expect(next.text).toBe('Next');
    expect(await first.record(await next.runId())).toMatchObject({ state: 'finished' });
    const reader = first.ask(`/v1/runs/${await next.runId()}/events`);
    await reader.all();
    expect(reader.frames.at(-1)?.data).toContain('"type":"finished"');
  });

  it('can be read through the other one when its run has ended', async () => {
    const { second, chat, go } = await two();
    go();
    await chat.all();
    const events = second.ask(`/v1/runs/${await chat.runId()}/events`);
    await events.all();
    expect(events.frames.at(-1)?.data).toContain('"type":"finished"');
  });
});

describe('an address that is taken', () => {
  it('is an error that names it, and leaves the store free', async () => {
    const first = await start();
    const port = new URL(first.url).port;
    const second = start({ dataDir: first.dataDir, flags: { port } });
    await expect(second).rejects.toBeInstanceOf(SupervisorError);
    await expect(second).rejects.toMatchObject({
      code: 'cannot_listen',
      message: expect.stringContaining(port),
    });
    first.answer({ steps: reply({ text: ['Fine'] }) });
    const chat = first.chat();
    await chat.all();
    expect(chat.text).toBe('Fine');
  });
});
