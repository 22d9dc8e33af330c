/**
 * The stream frames its chunks of the response itself, because Node's way costs four buffers each.
 * A length that is wrong by one byte breaks every answer after it.
 */
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { dataFrame } from '../../src/http/frame.ts';
import type { SseStream } from '../../src/http/sse.ts';
import { ask, RawConnection } from '../support/raw-client.ts';
import { type SseWorld, sseWorld } from '../support/sse-world.ts';

const FRAMES = ['plain', 'Hél', '語😀', 'lo', '\u{2028}'].map((value) =>
  dataFrame(JSON.stringify(value)),
);

let world: SseWorld | undefined;

afterEach(async () => {
  await world?.close();
  world = undefined;
});

/** Each frame in a write of its own, then the end. */
async function sendAll(stream: SseStream, frames: readonly string[], last: string): Promise<void> {
  for (const frame of frames) {
    stream.send(frame);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.finish(last);
}

describe('the chunks of a stream', () => {
  it('hold every byte, also of characters that take several', async () => {
    world = await sseWorld((stream) => sendAll(stream, FRAMES, 'data: 終\n\n'));
    const answer = await ask({ port: world.port, path: '/' });
    expect(answer.headers['transfer-encoding']).toBe('chunked');
    expect(answer.text).toBe(`${FRAMES.join('')}data: 終\n\n`);
  });

  it('keep their length when two halves of a character meet in one write', async () => {
    world = await sseWorld((stream) => {
      stream.send('data: \u{d83d}');
      stream.send('\u{de00}\n\n');
      stream.finish('');
    });
    const answer = await ask({ port: world.port, path: '/' });
    expect(answer.text).toBe('data: 😀\n\n');
  });

  it('leave the connection ready for the next request', async () => {
    world = await sseWorld((stream) => sendAll(stream, FRAMES, 'data: end\n\n'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let round = 0; round < 3; round += 1) {
      const request = get({ port: world.port, host: '127.0.0.1', agent });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      expect(await text(response)).toBe(`${FRAMES.join('')}data: end\n\n`);
    }
    agent.destroy();
    expect(world.sockets).toHaveLength(1);
  });

  it('end a response that has no frame at all', async () => {
    world = await sseWorld((stream) => stream.finish(''));
    const answer = await ask({ port: world.port, path: '/' });
    expect([answer.status, answer.text]).toEqual([200, '']);
  });

  it('are not there for a peer of HTTP/1.0, which reads until the connection ends', async () => {
    world = await sseWorld((stream) => sendAll(stream, FRAMES, 'data: end\n\n'));
    const client = await RawConnection.open(world.port);
    client.write('GET / HTTP/1.0\r\nHost: localhost\r\n\r\n');
    await client.ended;
    expect(client.headers).not.toMatch(/transfer-encoding/i);
    expect(client.body).toBe(`${FRAMES.join('')}data: end\n\n`);
  });
});
