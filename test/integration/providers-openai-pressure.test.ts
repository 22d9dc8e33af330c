import { describe, expect, it } from 'vitest';
import { delta, finish, reply } from '../../src/testing/fake-upstream-steps.ts';
import { Heard, never, openAiWorld, request, stepsOf } from '../support/openai-world.ts';

const start = openAiWorld();

describe('openai provider: back-pressure', () => {
  const megabyte = 'x'.repeat(1_048_576);

  it('stops reading while the sink is full, and reads on when there is room', async () => {
    let written = 0;
    const { provider } = await start(() => ({
      steps: (function* () {
        for (; written < 30; written += 1) yield delta({ content: megabyte });
        yield finish('stop');
        yield { kind: 'done' } as const;
      })(),
    }));
    const heard = new Heard();
    const room = Promise.withResolvers<void>();
    heard.room = room.promise;
    const done = provider.stream(request, heard, never);
    // The upstream is stuck when several turns of the loop move nothing more.
    for (let last = -1, same = 0; same < 50; last = written) {
      await new Promise((resolve) => setImmediate(resolve));
      same = written === last ? same + 1 : 0;
    }
    expect(written).toBeLessThan(30);
    expect(heard.texts.length).toBeLessThan(30);
    heard.room = undefined;
    room.resolve();
    await done;
    expect(heard.content).toHaveLength(30 * megabyte.length);
  });

  it('reads what was left when the upstream closed the connection meanwhile', async () => {
    const { upstream: up, provider } = await start(() => ({
      headers: { connection: 'close' },
      steps: reply({ text: Array.from({ length: 40 }, (_, i) => `${i} `.repeat(50)) }),
    }));
    const heard = new Heard();
    const room = Promise.withResolvers<void>();
    heard.room = room.promise;
    const done = provider.stream(request, heard, never);
    const received = await up.request(0);
    await received.answered;
    await received.closed;
    heard.room = undefined;
    room.resolve();
    await done;
    expect(heard.texts).toHaveLength(40);
    expect(heard.reasons).toEqual(['stop']);
  });

  it('rejects with what the wait for room rejects with', async () => {
    const { provider } = await start(stepsOf(delta({ content: 'x' }), { kind: 'stall' }));
    const heard = new Heard();
    const gone = new Error('the reader is gone');
    const room = Promise.withResolvers<void>();
    heard.room = room.promise;
    const reached = heard.reaches('x');
    const done = provider.stream(request, heard, never);
    await reached;
    room.reject(gone);
    await expect(done).rejects.toBe(gone);
  });
});
