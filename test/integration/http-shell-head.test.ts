import { once } from 'node:events';
import net from 'node:net';
import type Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { type HttpWorld, type HttpWorldOptions, httpWorld } from '../support/http-world.ts';
import { RawConnection } from '../support/raw-client.ts';

/**
 * Heads of requests that Node would answer by itself, without a body, or hand over as they are. One
 * of them once took the process down: a target that no parser of URLs takes.
 */

const CHAT = '/v1/chat/completions';

const opened: HttpWorld[] = [];

async function world(options: HttpWorldOptions = {}): Promise<HttpWorld> {
  const made = await httpWorld(options);
  opened.push(made);
  return made;
}

/** A chat route that gives the parsed body back. */
const echo: Koa.Middleware = (ctx) => {
  ctx.body = { got: ctx.request.body };
};

/** A connection that has sent a head, and a body behind it. */
async function send(port: number, lines: readonly string[], body = ''): Promise<RawConnection> {
  const client = await RawConnection.open(port);
  client.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  return client;
}

const hasAnswer = ({ text }: RawConnection): boolean => text.includes('}}');

const errorOf = ({ body }: RawConnection) =>
  (JSON.parse(body) as { error: Record<string, unknown> }).error;

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('a head that is refused', () => {
  it.each([
    ['no host', ['GET /health HTTP/1.1'], 400, 'invalid_request_error'],
    [
      'two hosts',
      ['GET /health HTTP/1.1', 'Host: localhost', 'Host: localhost'],
      400,
      'invalid_request_error',
    ],
    [
      'an expectation nobody knows',
      ['GET /health HTTP/1.1', 'Host: localhost', 'Expect: banana'],
      417,
      'expectation_failed',
    ],
    [
      'a target that is no URL',
      [`GET ${['http:', '', '[bad', 'health'].join('/')} HTTP/1.1`, 'Host: localhost'],
      400,
      'invalid_request_error',
    ],
    [
      'a target without a host',
      ['GET file:///health HTTP/1.1', 'Host: localhost'],
      400,
      'invalid_request_error',
    ],
    [
      'a tunnel',
      ['CONNECT example.org:443 HTTP/1.1', 'Host: localhost'],
      405,
      'method_not_allowed',
    ],
    ['an empty host', ['GET /health HTTP/1.1', 'Host:'], 421, 'misdirected_request'],
    [
      'a foreign host in its target',
      ['GET http://evil.example/health HTTP/1.1', 'Host: localhost'],
      421,
      'misdirected_request',
    ],
  ])('for %s is answered in JSON', async (_what, head, status, code) => {
    const { port, lines } = await world();
    const client = await send(port, head);
    await client.until(hasAnswer);
    expect(client.headers).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(client.headers).toMatch(/^content-type: application\/json/im);
    expect(errorOf(client)['code']).toBe(code);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    client.socket.destroy();
  });

  it('for a tunnel names the methods there are, and its connection ends', async () => {
    const { port } = await world();
    const client = await send(port, ['CONNECT example.org:443 HTTP/1.1', 'Host: localhost']);
    await client.ended;
    expect(client.headers).toContain('Allow: GET, HEAD, POST');
  });

  it('for a tunnel holds no connection for a peer that does not close its side', async () => {
    const { port, server } = await world();
    const peer = net.connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    peer.write('CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(peer.resume(), 'end');
    await server.close();
    peer.destroy();
  });
});

describe('a head that is taken', () => {
  it('may have no host in HTTP/1.0, where an expectation means nothing', async () => {
    const { port } = await world();
    const client = await send(port, ['GET /health HTTP/1.0', 'Expect: banana']);
    await client.ended;
    expect(client.headers).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('may have a URL as its target, whose host counts and not the header', async () => {
    const { port } = await world();
    const head = ['GET http://localhost:80/aura/info?detail=x HTTP/1.1', 'Host: evil.example'];
    const client = await send(port, head);
    await client.until(hasAnswer);
    expect(String(errorOf(client)['message'])).toContain("unknown detail 'x'");
    client.socket.destroy();
  });
});

describe('a peer that asks before it sends its body', () => {
  const asking = (...more: string[]) => [
    `POST ${CHAT} HTTP/1.1`,
    'Host: localhost',
    'Expect: 100-continue',
    ...more,
  ];

  it('is told to go on, and answered', async () => {
    const { port } = await world({ chat: echo });
    const head = asking('Content-Type: application/json', 'Content-Length: 7');
    const client = await send(port, head);
    await client.until(({ text }) => text === 'HTTP/1.1 100 Continue\r\n\r\n');
    client.write('{"a":1}');
    await client.until(hasAnswer);
    expect(client.text).toContain('{"got":{"a":1}}');
    client.socket.destroy();
  });

  it.each([
    ['a type', ['Content-Type: text/plain', 'Content-Length: 7'], 415],
    ['a size', ['Content-Type: application/json', 'Content-Length: 2097153'], 413],
    [
      'an encoding',
      ['Content-Type: application/json', 'Content-Encoding: zip', 'Content-Length: 7'],
      415,
    ],
    ['a page', ['Content-Length: 7', 'Origin: https://evil.example'], 403],
  ])('is refused at once for %s', async (_what, more, status) => {
    const { port } = await world({ chat: echo });
    const client = await send(port, asking(...more));
    await client.until(hasAnswer);
    expect(client.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(client.headers).toContain('Connection: close');
    client.socket.end();
    await client.ended;
  });
});
