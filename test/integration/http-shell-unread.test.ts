import type Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { type HttpWorld, httpWorld } from '../support/http-world.ts';
import { RawConnection } from '../support/raw-client.ts';

/**
 * An answer that goes out before the request has come. The peer must be able to read it, however it
 * sends, and the connection must end: the server cannot know where the next request would begin,
 * and a connection that is neither read nor closed hangs for whoever reuses it.
 */

const CHAT = '/v1/chat/completions';
const JSON_TYPE = 'Content-Type: application/json';
const LINGER_MS = 2_000;

const opened: HttpWorld[] = [];

async function world(): Promise<HttpWorld> {
  const chat: Koa.Middleware = (ctx) => {
    ctx.body = {};
  };
  const made = await httpWorld({ chat });
  opened.push(made);
  return made;
}

async function send(port: number, headers: readonly string[], body = ''): Promise<RawConnection> {
  const client = await RawConnection.open(port);
  client.write([`POST ${CHAT} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n'));
  return client;
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const END = '0\r\n\r\n';
/** Over the limit of 2 MiB. */
const HUGE = 'x'.repeat(2_200_000);

const hasAnswer = ({ text }: RawConnection): boolean => text.includes('}}');
const statusOf = ({ text }: RawConnection): number => Number(text.slice(9, 12));
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

/** Refused before the body has come; each body goes on behind what is sent here. */
const REFUSED = [
  ['too large, chunked', 413, [JSON_TYPE, 'Transfer-Encoding: chunked'], chunk(HUGE)],
  ['too large, declared', 413, [JSON_TYPE, 'Content-Length: 3000000'], HUGE],
  ['of another type, chunked', 415, ['Transfer-Encoding: chunked'], chunk('{')],
  ['of another type, declared', 415, ['Content-Length: 3000000'], '{'],
  ['behind a strange expectation', 417, ['Expect: x', 'Content-Length: 9'], '{'],
] as const;

describe('a body that is not read', () => {
  it.each(REFUSED)(
    '(%s) is refused with %i, and the connection ends when it has come',
    async (_what, status, headers, body) => {
      const { port, clock } = await world();
      const client = await send(port, headers, body);
      await client.until(hasAnswer);
      expect(statusOf(client)).toBe(status);
      expect(client.headers).toContain('Connection: close');
      expect(Number(/content-length: (\d+)/i.exec(client.headers)?.[1])).toBe(client.body.length);
      const length = Number(/Content-Length: (\d+)/.exec(headers.join())?.[1] ?? 0);
      client.write(length === 0 ? END : 'x'.repeat(length - body.length));
      await client.ended;
      expect(clock.pending).toEqual([]);
    },
  );

  it('is waited for no longer than a peer needs to read its answer', async () => {
    const { port, clock } = await world();
    const client = await send(port, [JSON_TYPE, 'Transfer-Encoding: chunked'], chunk(HUGE));
    await client.until(hasAnswer);
    await clock.advance(LINGER_MS - 1);
    await nextTurn();
    expect(client.socket.closed).toBe(false);
    await clock.advance(1);
    await client.ended;
  });

  it('ends with its peer, and leaves no timer behind', async () => {
    const { port, clock, handle } = await world();
    const client = await send(port, ['Transfer-Encoding: chunked'], chunk('{'));
    await client.until(hasAnswer);
    client.socket.destroy();
    while (handle.tracked > 0 || clock.pending.length > 0) await nextTurn();
  });

  it('of a HEAD request gets headers alone', async () => {
    const { port } = await world();
    const client = await RawConnection.open(port);
    const head = ['HEAD /nothing HTTP/1.1', 'Host: localhost', JSON_TYPE, 'Content-Length: 5'];
    client.write(`${head.join('\r\n')}\r\n\r\n`);
    await client.until(({ text }) => text.includes('\r\n\r\n'));
    client.write('12345');
    await client.ended;
    expect([statusOf(client), client.body]).toEqual([404, '']);
  });
});

describe('a body that has come', () => {
  it('or was none leaves the connection as it is when the path is not found', async () => {
    const { port } = await world();
    const client = await RawConnection.open(port);
    client.get('/nothing');
    await client.until(hasAnswer);
    expect([statusOf(client), client.headers.includes('Connection: close')]).toEqual([404, false]);
    client.get('/health');
    await client.until(({ text }) => text.includes('"healthy"'));
    client.socket.destroy();
  });

  it.each([
    ['is no JSON', 400, [JSON_TYPE, 'Content-Length: 1'], '{'],
    ['has another type', 415, ['Content-Length: 2'], '{}'],
  ])(
    'and %s is refused with %i on a connection that goes on',
    async (_what, status, headers, body) => {
      const { port } = await world();
      const client = await send(port, headers, body);
      await client.until(hasAnswer);
      expect(statusOf(client)).toBe(status);
      expect(client.headers).not.toContain('Connection: close');
      client.get('/health');
      await client.until(({ text }) => text.includes('"healthy"'));
      client.socket.destroy();
    },
  );
});
