import { describe, expect, it } from 'vitest';
import { delta, finish } from '../../src/testing/fake-upstream-steps.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** Who may stop a run, and who hears of it. */

const start = systemWorlds();
const IN_SESSION = { 'X-Chat-Session-Id': 's' };

/** A run that has said something and goes on when `go` is called. */
async function running(world: SystemWorld): Promise<{ chat: Exchange; go: () => void }> {
  const { promise: open, resolve: go } = Promise.withResolvers<void>();
  world.answer({
    steps: [delta({ content: 'Half' }), { kind: 'gate', open }, finish('stop'), { kind: 'done' }],
  });
  const chat = world.chat({}, IN_SESSION);
  await chat.until(({ text }) => text === 'Half');
  return { chat, go };
}

describe('a stop', () => {
  it.each([
    ['a page of another origin', { Origin: 'https://evil.example' }, 403],
    ['a page that gave this server its own name', { Host: 'evil.example' }, 421],
  ])('by %s is refused and has no effect (INV-10)', async (_who, headers, status) => {
    const world = await start();
    const { chat, go } = await running(world);
    const runId = await chat.runId();
    const [record, journal] = [await world.record(runId), await world.journal('s')];
    const answer = world.ask(`/v1/runs/${runId}/cancel`, { method: 'POST', headers });
    expect(await answer.status()).toBe(status);
    expect(await answer.json()).toHaveProperty('error.message');
    const [{ deadlines: _were, ...before }, { deadlines: _are, ...after }] = [
      record,
      await world.record(runId),
    ];
    expect(after).toEqual(before);
    expect(await world.journal('s')).toEqual(journal);
    go();
    await chat.all();
    expect(chat.finishReasons).toEqual(['stop']);
    expect(await world.ended('s')).toMatchObject({ state: 'finished' });
  });

  it('ends the stream of every reader with what ended it (INV-62)', async () => {
    const world = await start();
    const { chat } = await running(world);
    const runId = await chat.runId();
    const readers = [0, 1].map(() => world.ask(`/v1/runs/${runId}/events`));
    await Promise.all(readers.map((reader) => reader.until(({ body }) => body.includes('Half'))));
    await world.ask(`/v1/runs/${runId}/cancel?wait=true`, { method: 'POST' }).all();
    await Promise.all([chat, ...readers].map((reader) => reader.all()));
    for (const reader of readers) {
      expect(reader.complete).toBe(true);
      expect(JSON.parse(reader.frames.at(-1)?.data ?? '')).toMatchObject({
        payload: { event: { type: 'cancelled', reason: 'external' } },
      });
    }
    expect(chat.complete).toBe(true);
    expect(chat.error).toMatchObject({ code: 'run_cancelled' });
    expect(chat.frames.at(-1)?.data).toBe('[DONE]');
  });
});
