/**
 * `koa-sse-stream` 0.2.0 leaks timers and places, loses ids, turns data into comments, ignores
 * back-pressure and never ends. Each test here is one of those faults, seen from the socket.
 */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { dataFrame, HEARTBEAT } from '../../src/http/frame.ts';
import { SseStream } from '../../src/http/sse.ts';
import { SsePool } from '../../src/http/sse-pool.ts';
import { ask, RawConnection } from '../support/raw-client.ts';
import { type SseWorld, type SseWorldOptions, sseWorld } from '../support/sse-world.ts';

const opened: { close(): Promise<void> }[] = [];

async function world(
  handler: Parameters<typeof sseWorld>[0],
  options: SseWorldOptions = {},
): Promise<SseWorld> {
  const made = await sseWorld(handler, options);
  opened.push(made);
  return made;
}

/** A server whose one stream the test holds in its hand. */
async function openStream(options: SseWorldOptions = {}) {
  const { promise: held, resolve } = Promise.withResolvers<SseStream>();
  const made = await world((stream) => resolve(stream), options);
  const client = await RawConnection.open(made.port);
  client.get('/');
  return { ...made, client, stream: await held };
}

const errorWith = (code: string): Error => Object.assign(new Error(code), { code });

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('a stream of server-sent events', () => {
  it('sends exactly its headers and no greeting', async () => {
    const { client } = await openStream();
    await client.until(({ text }) => text.includes('\r\n\r\n'));
    const names = client.headers.split('\r\n').slice(1).sort();
    expect(client.headers).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(
      names.filter((line) => !/^(Date|Connection|Keep-Alive|Transfer-Encoding)/.test(line)),
    ).toEqual([
      'Cache-Control: no-cache',
      'Content-Type: text/event-stream',
      'X-Accel-Buffering: no',
    ]);
    expect(client.body).toBe('');
  });

  it('sends the headers of the caller with its own', async () => {
    const { client } = await openStream({ before: (ctx) => ctx.set('X-Run-Id', 'r1') });
    await client.until(({ text }) => text.includes('\r\n\r\n'));
    expect(client.headers).toContain('X-Run-Id: r1');
    expect(client.headers).toContain('X-Accel-Buffering: no');
  });

  it('sends headers and frames while the handler is still at work', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const made = await world((stream) => {
      stream.send(dataFrame('1'));
      return never;
    });
    const client = await RawConnection.open(made.port);
    client.get('/');
    await client.until(({ unchunked }) => unchunked === 'data: 1\n\n');
  });

  it('sends all frames of one tick in one chunk', async () => {
    const { client, stream } = await openStream();
    stream.send(dataFrame('1'));
    stream.send(dataFrame('2'));
    await client.until(({ body }) => body !== '');
    expect(client.body).toBe('12\r\ndata: 1\n\ndata: 2\n\n\r\n');
  });

  it('ends the response with what is pending and its last frame in one write', async () => {
    const writes: string[] = [];
    const { client, stream } = await openStream({
      onSocket: (socket) => {
        const { _writev, _write } = socket;
        socket._writev = function (chunks, done) {
          writes.push(chunks.map(({ chunk }) => String(chunk)).join(''));
          _writev?.call(this, chunks, done);
        };
        socket._write = function (chunk, encoding, done) {
          writes.push(String(chunk));
          _write.call(this, chunk, encoding, done);
        };
      },
    });
    await client.until(({ text }) => text.includes('\r\n\r\n'));
    writes.length = 0;
    stream.send(dataFrame('1'));
    stream.finish('data: [DONE]\n\n');
    await client.until(({ body }) => body.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toBe('data: 1\n\ndata: [DONE]\n\n');
    expect(writes).toEqual([client.body]);
  });

  it('keeps the connection for the next request after it has finished', async () => {
    const made = await world((stream) => stream.finish(dataFrame('1')));
    const client = await RawConnection.open(made.port);
    client.get('/');
    await client.until(({ text }) => text.split('0\r\n\r\n').length === 2);
    client.get('/');
    await client.until(({ text }) => text.split('0\r\n\r\n').length === 3);
    expect(made.sockets).toHaveLength(1);
  });

  it('takes nothing after it has finished, and finishes once', async () => {
    const { client, stream } = await openStream();
    stream.finish(dataFrame('last'));
    stream.finish(dataFrame('again'));
    expect(stream.send(dataFrame('late'))).toBe(false);
    expect(stream.closed).toBe(true);
    await client.until(({ body }) => body.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toBe('data: last\n\n');
  });

  it('can finish without a last frame', async () => {
    const { client, stream } = await openStream();
    stream.finish('');
    await client.until(({ body }) => body === '0\r\n\r\n');
  });

  it.each([
    ['end', (stream: SseStream) => stream.end(dataFrame('bye'))],
    ['sendEnd', (stream: SseStream) => stream.sendEnd(dataFrame('bye'))],
  ])('really ends by the inherited %s', async (_name, end) => {
    const { client, stream } = await openStream();
    end(stream);
    await client.until(({ body }) => body.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toBe('data: bye\n\n');
  });

  it('sends what is piped into it as it is', async () => {
    const { client, stream } = await openStream();
    // The stream is a Transform of Node; its declared type shows only what is ours.
    Readable.from([dataFrame(': a'), dataFrame('b', { id: 0 })]).pipe(
      stream as unknown as NodeJS.WritableStream,
    );
    await client.until(({ body }) => body.endsWith('0\r\n\r\n'));
    expect(client.unchunked).toBe('data: : a\n\ndata: b\nid: 0\n\n');
  });

  it('refuses an object that is piped into it instead of writing its name', async () => {
    const { client, stream, appErrors } = await openStream();
    Readable.from([{ data: 1 }]).pipe(stream as unknown as NodeJS.WritableStream);
    await client.ended;
    expect(client.text).not.toContain('[object');
    expect(String(appErrors)).toContain('dataFrame');
  });

  it('tells once that it closed, and whether the peer got it all', async () => {
    const finished = await openStream();
    const ends: boolean[] = [];
    const over = new Promise<void>((resolve) => {
      finished.stream.onClose((complete) => {
        ends.push(complete);
        resolve();
      });
    });
    finished.stream.finish('');
    await over;
    const left = await openStream();
    const gone = new Promise<boolean>((resolve) => left.stream.onClose(resolve));
    left.client.socket.destroy();
    expect([...ends, await gone]).toEqual([true, false]);
    const late = new Promise<boolean>((resolve) => left.stream.onClose(resolve));
    expect(await late).toBe(false);
  });
});

describe('an error that reaches Koa under a stream', () => {
  it.each([
    ['is told to the app', new Error('odd'), 1],
    ['is no error when it says that the peer left', errorWith('ECONNRESET'), 0],
  ])('%s, and the response is cut', async (_what, error, told) => {
    const made = await world((_stream, ctx) => ctx.onerror(error));
    const client = await RawConnection.open(made.port);
    client.get('/');
    await client.ended;
    expect([made.appErrors.length, made.pool.live]).toEqual([told, 0]);
  });
});

describe('the place of a stream', () => {
  it('is given back when the handler throws, and the response is cut', async () => {
    const made = await world(() => {
      throw new Error('bug');
    });
    const client = await RawConnection.open(made.port);
    client.get('/');
    await client.ended;
    expect(client.text).not.toContain('0\r\n\r\n');
    expect(made.pool.live).toBe(0);
    expect(made.logged).toHaveLength(1);
  });

  it('is given back once when the stream is closed twice', async () => {
    const { pool, client, stream } = await openStream();
    await client.until(({ text }) => text.includes('\r\n\r\n'));
    const other = pool.take();
    stream.destroy();
    stream.destroy();
    await client.ended;
    expect(pool.live).toBe(1);
    other();
  });

  it('is given back when the stream cannot be opened', async () => {
    const made = await world(() => {}, {
      before: (ctx) => {
        const { set } = ctx;
        ctx.set = () => {
          ctx.set = set;
          throw new Error('odd');
        };
      },
    });
    expect((await ask({ port: made.port, path: '/' })).status).toBe(500);
    expect(made.pool.live).toBe(0);
  });

  it('is refused with 503 when there is none', async () => {
    const pool = new SsePool({ streamsMax: 1 });
    const { port } = await openStream({ pool });
    const refused = await ask({ port, path: '/' });
    expect(refused.status).toBe(503);
    expect(refused.headers['content-type']).toMatch(/^application\/json/);
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    expect(JSON.parse(refused.text).error.code).toBe('too_many_streams');
  });

  it('is given back when the peer has left before the stream opens', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { promise: over, resolve: tell } = Promise.withResolvers<boolean>();
    const made = await world((stream) => stream.onClose(tell), {
      before: async (ctx) => {
        resolve();
        await once(ctx.res, 'close');
      },
    });
    const client = await RawConnection.open(made.port);
    client.get('/');
    await asked;
    client.socket.destroy();
    expect(await over).toBe(false);
    expect([made.pool.live, made.clock.pending, made.appErrors]).toEqual([0, [], []]);
  });

  it('is not taken for a response that has begun', async () => {
    const made = await world((stream, ctx) => {
      expect(() => SseStream.open(ctx, { ...options(), pool: made.pool })).toThrow(/has begun/);
      stream.finish(`data: ${made.pool.live}\n\n`);
    });
    const options = () => ({ clock: made.clock, heartbeatMs: 1, bufferBytesMax: 1, stallMs: 1 });
    const answer = await ask({ port: made.port, path: '/' });
    expect(answer.text).toBe('data: 1\n\n');
  });
});

describe('time in a stream', () => {
  it('beats at once and then at each interval, in comments of one newline', async () => {
    const { client, stream, clock } = await openStream();
    stream.heartbeats();
    await client.until(({ unchunked }) => unchunked === HEARTBEAT);
    await clock.advance(14_999);
    stream.send(dataFrame('1'));
    await clock.advance(1);
    await client.until(({ unchunked }) => unchunked === `${HEARTBEAT}data: 1\n\n${HEARTBEAT}`);
    await clock.advance(15_000);
    await client.until(({ unchunked }) => unchunked.split(HEARTBEAT).length === 4);
  });

  it('leaves no timer behind, neither of its own nor of the library', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout');
    const log = vi.spyOn(console, 'log');
    const before = timers().length;
    const { client, stream, clock } = await openStream();
    stream.heartbeats();
    stream.send(dataFrame('1'));
    const over = new Promise<boolean>((resolve) => stream.onClose(resolve));
    stream.finish('');
    await client.until(({ body }) => body.endsWith('0\r\n\r\n'));
    await over;
    client.socket.destroy();
    await client.ended;
    expect(clock.pending).toEqual([]);
    expect(timers().length - before).toBeLessThanOrEqual(1); // Node's own, for idle connections.
    expect(log).not.toHaveBeenCalled();
  });
});
