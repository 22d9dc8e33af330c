import { describe, expect, it } from 'vitest';
import { delta, finish, reply } from '../../src/testing/fake-upstream-steps.ts';
import {
  Heard,
  openAiWorld,
  raw,
  request,
  type Respond,
  stepsOf,
} from '../support/openai-world.ts';

const start = openAiWorld();

describe('openai provider: abort', () => {
  const reason = new Error('stopped');

  it.each([
    ['before the head of the response', () => new Promise<never>(() => {}), ''],
    ['in a silence', stepsOf(delta({ content: 'x' }), { kind: 'stall' }), 'x'],
    [
      'in a flood',
      stepsOf(...Array.from({ length: 5_000 }, () => delta({ content: 'x' })), { kind: 'stall' }),
      'xxx',
    ],
    [
      'after the finish reason',
      stepsOf(delta({ content: 'x' }), finish('stop'), { kind: 'stall' }),
      'x',
    ],
    [
      'in the body of an error',
      () => ({ status: 500, steps: [raw('x'), { kind: 'stall' } as const] }),
      '',
    ],
  ] as [string, Respond, string][])(
    "rejects with the signal's reason after the socket is closed, %s",
    async (_what, respond, content) => {
      const { upstream: up, provider } = await start(respond);
      const stop = new AbortController();
      const heard = new Heard();
      const reached = heard.reaches(content);
      const done = provider.stream(request, heard, stop.signal);
      const received = await up.request(0);
      await reached;
      stop.abort(reason);
      await expect(done).rejects.toBe(reason);
      const texts = heard.texts.length;
      await received.closed;
      expect(heard.texts).toHaveLength(texts);
      expect(await received.answered).toBe('broken');
    },
  );

  it('does not settle before the socket is closed', async () => {
    const { upstream: up, provider } = await start(
      stepsOf(delta({ content: 'x' }), { kind: 'stall' }),
    );
    const stop = new AbortController();
    const heard = new Heard();
    const order: string[] = [];
    const reached = heard.reaches('x');
    const done = provider.stream(request, heard, stop.signal).catch(() => order.push('settled'));
    await reached;
    stop.abort(reason);
    await Promise.resolve();
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(order).toEqual([]);
    await done;
    await up.requests[0]?.closed;
  });

  it('sends nothing when it is aborted already', async () => {
    const { upstream: up, provider } = await start(() => ({ steps: reply({ text: ['x'] }) }));
    await expect(provider.stream(request, new Heard(), AbortSignal.abort(reason))).rejects.toBe(
      reason,
    );
    const stop = new AbortController();
    const started = provider.stream(request, new Heard(), stop.signal);
    stop.abort(reason);
    await expect(started).rejects.toBe(reason);
    expect(up.requests).toEqual([]);
  });

  it('is heard while the socket is paused', async () => {
    const { upstream: up, provider } = await start(
      stepsOf(...Array.from({ length: 50 }, () => delta({ content: 'x'.repeat(10_000) })), {
        kind: 'done',
      }),
    );
    const stop = new AbortController();
    const heard = new Heard();
    heard.room = new Promise(() => {});
    const reached = heard.reaches('x');
    const done = provider.stream(request, heard, stop.signal);
    await reached;
    stop.abort(reason);
    await expect(done).rejects.toBe(reason);
    await up.requests[0]?.closed;
  });

  it('changes nothing after the answer is whole', async () => {
    const { upstream: up, provider } = await start(() => ({ steps: reply({ text: ['x'] }) }));
    const stop = new AbortController();
    await provider.stream(request, new Heard(), stop.signal);
    stop.abort(reason);
    expect(await up.requests[0]?.answered).toBe('whole');
  });
});
