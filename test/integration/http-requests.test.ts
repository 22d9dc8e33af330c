import type Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { type HttpWorld, type HttpWorldOptions, httpWorld } from '../support/http-world.ts';
import { RawConnection } from '../support/raw-client.ts';

/** What counts as under way: a peer that sends no end, or takes none, must not count for ever. */

const CHAT = '/v1/chat/completions';

const opened: HttpWorld[] = [];

async function world(options: HttpWorldOptions = {}): Promise<HttpWorld> {
  const made = await httpWorld(options);
  opened.push(made);
  return made;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('a request that is half sent', () => {
  const head = [`POST ${CHAT} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json'];

  it.each([
    ['a length', 'Content-Length: 9', '{"a":', '[1]}'],
    ['chunks', 'Transfer-Encoding: chunked', '5\r\n{"a":\r\n', '4\r\n[1]}\r\n0\r\n\r\n'],
    ['nothing yet', 'Content-Length: 9', '', '{"a":[1]}'],
  ])('holds up no shutdown before its last byte (%s)', async (_how, framing, part, rest) => {
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    const { promise: release, resolve: go } = Promise.withResolvers<void>();
    const chat: Koa.Middleware = async (ctx) => {
      resolve();
      await release;
      ctx.body = { got: ctx.request.body };
    };
    const { port, handle, server } = await world({ chat });
    const client = await RawConnection.open(port);
    client.write([...head, framing, 'Expect: 100-continue', '', part].join('\r\n'));
    await client.until(({ text }) => text.includes('100 Continue'));
    await nextTurn();
    expect([handle.tracked, server.inFlight(9).count]).toEqual([0, 0]);
    client.write(rest);
    await reached;
    expect([handle.tracked, server.inFlight(9).count]).toEqual([1, 1]);
    go();
    await client.until(({ text }) => text.includes('{"got":{"a":[1]}}'));
    while (handle.tracked > 0) await nextTurn();
  });
});

describe('a response that nobody reads', () => {
  const HUGE = 'x'.repeat(24_000_000);
  const chat: Koa.Middleware = (ctx) => {
    ctx.body = { HUGE };
  };

  async function unread() {
    const made = await world({ chat });
    const client = await RawConnection.open(made.port);
    client.socket.pause();
    client.write(`POST ${CHAT} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    while (made.handle.tracked === 0) await nextTurn();
    for (let turn = 0; turn < 200; turn++) await nextTurn();
    return { ...made, client };
  }

  it('is cut, so that it holds up no shutdown', async () => {
    const { handle, clock, lines } = await unread();
    for (let check = 0; check < 5; check++) await clock.advance(7_500);
    while (handle.tracked > 0) await nextTurn();
    const warnings = lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ fields }) => fields)).toEqual([{ method: 'POST', path: CHAT }]);
    expect(clock.pending).toEqual([]);
  });

  it('is not cut when its reader is only slow', async () => {
    const { handle, clock, client } = await unread();
    for (let part = 1; part <= 3; part++) {
      await clock.advance(25_000);
      const before = client.received;
      client.socket.resume();
      await client.until(({ received }) => received > before + 5_000_000);
      client.socket.pause();
    }
    expect(handle.tracked).toBe(1);
    client.socket.resume();
    await client.until(({ received }) => received > HUGE.length);
    while (handle.tracked > 0) await nextTurn();
    expect(clock.pending).toEqual([]);
  });
});
