/**
 * A reader that is slow or gone must cost this connection and nothing else: not memory without
 * bound, not a socket for hours, not an error in the log.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { dataFrame } from '../../src/http/frame.ts';
import type { SseStream } from '../../src/http/sse.ts';
import { RawConnection } from '../support/raw-client.ts';
import { type SseWorld, type SseWorldOptions, sseWorld } from '../support/sse-world.ts';

/** More than the buffers of two sockets on loopback hold together. */
const HUGE = dataFrame('x'.repeat(24_000_000));

const opened: SseWorld[] = [];

async function openStream(options: SseWorldOptions = {}) {
  const { promise: held, resolve } = Promise.withResolvers<SseStream>();
  const made = await sseWorld((stream) => resolve(stream), options);
  opened.push(made);
  const client = await RawConnection.open(made.port);
  client.get('/');
  const stream = await held;
  await client.until(({ text }) => text.includes('\r\n\r\n'));
  const closed = new Promise<boolean>((tell) => stream.onClose(tell));
  return { ...made, client, stream, closed };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('a slow reader', () => {
  it('is told of by send, and by onDrain when it has caught up', async () => {
    const { client, stream } = await openStream({ bufferBytesMax: 2 * HUGE.length });
    client.socket.pause();
    let drains = 0;
    const drained = new Promise<void>((resolve) => {
      stream.onDrain(() => {
        drains += 1;
        resolve();
      });
    });
    expect(stream.send(HUGE)).toBe(false);
    await nextTurn();
    expect(stream.send(dataFrame('more'))).toBe(false);
    expect(drains).toBe(0);
    client.socket.resume();
    await drained;
    expect(stream.send(dataFrame('again'))).toBe(true);
    stream.finish('');
    await client.until(({ tail }) => tail.endsWith('0\r\n\r\n'));
    expect(client.tail).toContain('data: again\n\n');
  });

  it('does not hold up a writer for long when it reads after all', async () => {
    const { stream } = await openStream();
    const drained = new Promise<void>((resolve) => stream.onDrain(resolve));
    expect(stream.send(dataFrame('x'.repeat(70_000)))).toBe(false);
    await drained;
    expect(stream.send(dataFrame('1'))).toBe(true);
  });

  it('holds back what is piped into the stream', async () => {
    const { client, stream } = await openStream();
    client.socket.pause();
    const taken = new Promise<void>((resolve) => {
      const sink = stream as unknown as NodeJS.WritableStream;
      sink.write(HUGE, () => resolve());
    });
    let isTaken = false;
    void taken.then(() => {
      isTaken = true;
    });
    await nextTurn();
    expect(isTaken).toBe(false);
    client.socket.resume();
    await taken;
  });

  it('gets the last frame too, although it was full when the stream finished', async () => {
    const { client, stream, closed } = await openStream();
    client.socket.pause();
    stream.send(HUGE);
    await nextTurn();
    stream.finish('data: [DONE]\n\n');
    client.socket.resume();
    await client.until(({ tail }) => tail.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n'));
    expect(await closed).toBe(true);
  });
});

describe('the bytes held for a reader', () => {
  it('are bounded, and a writer that goes on is cut', async () => {
    const cuts: string[] = [];
    const { client, stream, closed, pool, appErrors } = await openStream({
      bufferBytesMax: 100_000,
      onCut: (because) => cuts.push(because),
    });
    client.socket.pause();
    stream.send(HUGE);
    await nextTurn();
    expect(stream.send(dataFrame('more'))).toBe(false);
    expect(stream.cutBecause).toBe('overflow');
    expect(await closed).toBe(false);
    expect(cuts).toEqual(['overflow']);
    expect([pool.live, appErrors]).toEqual([0, []]);
  });

  it.each(['x', '語'])('are counted in bytes within one tick too (%s)', async (letter) => {
    const { stream, closed } = await openStream({ bufferBytesMax: 100_000 });
    const frame = dataFrame(letter.repeat(300));
    const frameBytes = Buffer.byteLength(frame);
    let taken = 0;
    for (; stream.send(frame) || !stream.closed; taken += frameBytes) {
      expect(stream.bufferedBytes).toBe(taken + frameBytes);
    }
    expect(taken).toBeGreaterThan(100_000);
    expect(taken).toBeLessThanOrEqual(100_000 + frameBytes);
    expect(await closed).toBe(false);
  });

  it('may be one frame larger than the bound, so that every entry can be read', async () => {
    const { client, stream, closed } = await openStream({ bufferBytesMax: 1_000 });
    const frame = dataFrame('x'.repeat(50_000));
    stream.send(frame);
    stream.finish('');
    await client.until(({ tail }) => tail.endsWith('0\r\n\r\n'));
    expect([client.unchunked, await closed]).toEqual([frame, true]);
  });
});

describe('a heartbeat', () => {
  it('cuts no reader that is slow and alive, however much waits for it', async () => {
    const { client, stream, clock } = await openStream({ bufferBytesMax: 100_000 });
    client.socket.pause();
    stream.send(HUGE);
    stream.heartbeats();
    await stuck(stream, clock);
    const waiting = stream.bufferedBytes;
    for (let beat = 1; beat <= 3; beat++) {
      await clock.advance(15_000);
      const before = client.received;
      client.socket.resume();
      await client.until(({ received }) => received > before + 1_000_000);
      client.socket.pause();
    }
    expect([stream.cutBecause, stream.bufferedBytes <= waiting]).toEqual([undefined, true]);
    const drained = new Promise<void>((resolve) => stream.onDrain(resolve));
    client.socket.resume();
    await drained;
    await clock.advance(15_000);
    await client.until(({ tail }) => tail.includes(': heartbeat\n'));
    expect(client.text.split(': heartbeat\n')).toHaveLength(2);
  });
});

describe('a reader that is gone without a word', () => {
  it('is probed by TCP every 15 seconds', async () => {
    const calls: unknown[][] = [];
    await openStream({
      onSocket: (socket: Socket) => {
        const original = socket.setKeepAlive;
        socket.setKeepAlive = (...args: unknown[]) => {
          calls.push(args);
          return Reflect.apply(original, socket, args);
        };
      },
    });
    expect(calls.at(-1)).toEqual([true, 15_000]);
  });

  it('is cut when it has taken nothing for the stall time', async () => {
    const { client, stream, clock, closed, pool, appErrors } = await openStream({
      stallMs: 30_000,
    });
    client.socket.pause();
    stream.send(HUGE);
    await stuck(stream, clock);
    await clock.advance(29_900);
    expect(stream.closed).toBe(false);
    await clock.advance(7_600);
    expect(stream.cutBecause).toBe('stalled');
    expect(await closed).toBe(false);
    expect([pool.live, clock.pending, appErrors]).toEqual([0, [], []]);
  });

  it('is cut when it stops before the end of a finished stream', async () => {
    const { client, stream, clock, closed } = await openStream({ stallMs: 30_000 });
    client.socket.pause();
    stream.finish(HUGE);
    await stuck(stream, clock);
    await clock.advance(37_500);
    expect([stream.cutBecause, await closed]).toEqual(['stalled', false]);
  });

  it('is not taken for one that is slow inside a large write', async () => {
    const { client, stream, clock } = await openStream({ stallMs: 30_000 });
    client.socket.pause();
    stream.send(HUGE);
    await stuck(stream, clock);
    for (let part = 1; part <= 3; part++) {
      await clock.advance(25_000);
      const before = client.received;
      client.socket.resume();
      await client.until(({ received }) => received > before + 5_000_000);
      client.socket.pause();
    }
    expect(stream.cutBecause).toBeUndefined();
  });

  it('is left alone while nothing waits for it', async () => {
    const { client, stream, clock } = await openStream({ stallMs: 30_000 });
    stream.send(dataFrame('1'));
    await client.until(({ unchunked }) => unchunked !== '');
    await clock.advance(1_000_000);
    expect([stream.closed, clock.pending]).toEqual([false, []]);
  });
});

describe('a reader that leaves', () => {
  it.each([
    ['resets', (socket: Socket) => socket.resetAndDestroy()],
    ['closes', (socket: Socket) => socket.destroy()],
    ['ends its side', (socket: Socket) => socket.end()],
  ])('is no error when it %s, even under a writer', async (_how, leave) => {
    const { client, stream, closed, appErrors, logged, clock, pool } = await openStream();
    stream.heartbeats();
    leave(client.socket);
    while (!stream.closed) {
      stream.send(dataFrame('1'));
      await nextTurn();
    }
    expect(stream.send(dataFrame('2'))).toBe(false);
    stream.finish('data: [DONE]\n\n');
    expect(await closed).toBe(false);
    await nextTurn();
    expect([appErrors, logged, clock.pending, pool.live]).toEqual([[], [], [], 0]);
  });

  it.each([
    ['destroyed', (res: ServerResponse) => res.destroy(), false],
    ['ended', (res: ServerResponse) => res.end(), true],
  ])('is no error when the response is %s by another hand', async (_how, act, complete) => {
    let res: ServerResponse | undefined;
    const { client, stream, closed, appErrors } = await openStream({
      bufferBytesMax: 2 * HUGE.length,
      before: (ctx) => {
        res = ctx.res;
      },
    });
    client.socket.pause();
    stream.send(HUGE);
    await nextTurn();
    if (res !== undefined) act(res);
    stream.send(dataFrame('late'));
    await nextTurn();
    client.socket.resume();
    expect(await closed).toBe(complete);
    expect([appErrors, stream.closed]).toEqual([[], true]);
  });

  it('is no error when it leaves with bytes unread', async () => {
    const { client, stream, closed, appErrors } = await openStream();
    client.socket.pause();
    stream.send(HUGE);
    await nextTurn();
    client.socket.destroy();
    await once(client.socket, 'close');
    expect(await closed).toBe(false);
    expect(appErrors).toEqual([]);
  });
});

/** Waits until the kernel takes no more for a reader that is paused. */
async function stuck(stream: SseStream, clock: { settle(): Promise<void> }): Promise<void> {
  for (let left = -1; left !== stream.bufferedBytes || left === 0; ) {
    left = stream.bufferedBytes;
    for (let turn = 0; turn < 20; turn++) await clock.settle();
  }
}
