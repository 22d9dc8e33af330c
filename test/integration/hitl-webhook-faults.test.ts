import { getEventListeners, once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import { channelTo, contextOf, NOW_MS, QUESTION, SIGNING, world } from '../support/webhook-kit.ts';
import {
  answer,
  approve,
  closeMidBody,
  closeMidChunks,
  endlessBody,
  firstTimes,
  hangUp,
  held,
  hugeBody,
  silence,
  stallMidBody,
  status,
  tooLate,
  type WebhookReply,
} from '../support/webhook-replies.ts';
import { startTcpPeer, unusedPort } from '../support/webhook-receiver.ts';

/** Everything that a message must never repeat: the address, and what is in its path and query. */
const SECRETS = /127\.0\.0\.1|localhost|secret|hooks|ada/;

async function tcpPeer(serve: (socket: Socket) => void): Promise<number> {
  const { port, close } = await startTcpPeer(serve);
  onTestFinished(close);
  return port;
}

describe('webhook: connections that fail', () => {
  it('may ask again when the connection is refused', async () => {
    const { channel } = channelTo(`http://ada:secret@127.0.0.1:${await unusedPort()}/hooks`);
    const result = await channel.ask(QUESTION, contextOf());
    expect(result).toEqual({
      kind: 'failed',
      message: 'no connection to the webhook (ECONNREFUSED)',
      retryable: true,
    });
  });

  it('may ask again when the receiver has stopped to listen', async () => {
    const { receiver, channel } = await world();
    receiver.refuse();
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ retryable: true });
  });

  it('may ask again when the certificate is not trusted, and sends it nothing', async () => {
    const { receiver, channel } = await world({ tls: 'untrusted' });
    const result = await channel.ask(QUESTION, contextOf());
    expect(result).toMatchObject({ kind: 'failed', retryable: true });
    expect(result).toHaveProperty('message', expect.stringMatching(/^no connection.*SELF_SIGNED/));
    expect(receiver.requests).toHaveLength(0);
  });

  it('may ask again when the peer speaks no TLS', async () => {
    const port = await tcpPeer((socket) => socket.end('no TLS'));
    const { channel } = channelTo(`https://127.0.0.1:${port}/hooks`);
    const result = await channel.ask(QUESTION, contextOf());
    expect(result).toMatchObject({ kind: 'failed', retryable: true });
    expect(result).toHaveProperty('message', expect.stringMatching(/^no connection/));
  });

  it('waits for a connection five seconds and no longer, TLS included', async () => {
    const clock = createVirtualClock(NOW_MS);
    const taken = Promise.withResolvers<Socket>();
    const port = await tcpPeer((socket) => taken.resolve(socket));
    const { channel } = channelTo(`https://127.0.0.1:${port}/hooks`, { clock });
    const asked = channel.ask(QUESTION, contextOf());
    const socket = await taken.promise;
    socket.resume();
    const closed = once(socket, 'close');
    await clock.advance(4_999);
    expect(clock.pending).toHaveLength(1);
    await clock.advance(1);
    expect(await asked).toEqual({
      kind: 'failed',
      message: 'no connection to the webhook within 5 s',
      retryable: true,
    });
    await closed;
    expect(clock.pending).toHaveLength(0);
  });

  it('waits for the answer as long as it takes', async () => {
    const clock = createVirtualClock(NOW_MS);
    const { receiver, channel } = await world({ clock });
    const { reply, release } = held();
    receiver.reply(reply);
    const asked = channel.ask(QUESTION, contextOf());
    await receiver.next();
    expect(clock.pending).toHaveLength(0);
    await clock.advance(30 * 86_400_000);
    release();
    expect(await asked).toMatchObject({ kind: 'decided' });
  });

  it.each<[string, WebhookReply]>([
    ['before it answers', hangUp()],
    ['in the middle of a body', closeMidBody()],
    ['before the last chunk, though the decision is there', closeMidChunks()],
    ['after a whole decision that announced more', closeMidBody('{"approved":true}')],
  ])('may ask again when the connection breaks %s', async (_when, reply) => {
    const { receiver, channel } = await world();
    receiver.reply(reply);
    const result = await channel.ask(QUESTION, contextOf());
    expect(result).toMatchObject({ kind: 'failed', retryable: true });
    expect(result).toHaveProperty(
      'message',
      expect.stringMatching(/^the connection to the webhook broke before its answer was complete/),
    );
    expect(receiver.requests).toHaveLength(1);
  });

  it.each([
    '',
    'HTTP/1.1 20',
    'HTTP/1.1 200 OK\r\ncontent-le',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n11\r\n{"approved":true}\r\n0\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"approved":true}',
  ])('may ask again when a peer ends with %j', async (bytes) => {
    const port = await tcpPeer((socket) => socket.once('data', () => socket.end(bytes)));
    const { channel } = channelTo(`http://127.0.0.1:${port}/hooks`);
    const result = await channel.ask(QUESTION, contextOf());
    expect(result).toMatchObject({ kind: 'failed', retryable: true });
    expect(result).toHaveProperty('message', expect.stringContaining('broke before its answer'));
  });

  it('asks again with the same key and gets its decision', async () => {
    const { receiver, channel } = await world();
    receiver.reply(firstTimes(2, status(503), approve()));
    const kinds: string[] = [];
    for (let tries = 0; tries < 3; tries += 1) {
      const { kind } = await channel.ask(QUESTION, contextOf());
      kinds.push(kind);
    }
    expect(kinds).toEqual(['failed', 'failed', 'decided']);
    const keys = receiver.questions.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(1);
  });
});

describe('webhook: answers that are none', () => {
  it.each(['SSH-2.0-hello\r\n', 'HTTP/1.1 200 OK\r\nbroken\r\n\r\n', '\0\0\0\0\r\n\r\n'])(
    'does not ask a peer again that says %j',
    async (bytes) => {
      const port = await tcpPeer((socket) => socket.once('data', () => socket.write(bytes)));
      const { channel } = channelTo(`http://127.0.0.1:${port}/hooks`);
      const result = await channel.ask(QUESTION, contextOf());
      expect(result).toMatchObject({ kind: 'failed', retryable: false });
      expect(result).toHaveProperty(
        'message',
        expect.stringMatching(/^the webhook did not answer in HTTP \(HPE_/),
      );
    },
  );

  it('does not change the protocol', async () => {
    const head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
    const port = await tcpPeer((socket) => socket.once('data', () => socket.write(head)));
    const { channel } = channelTo(`http://127.0.0.1:${port}/hooks`);
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ kind: 'failed' });
  });

  it('passes over what comes before the answer, and takes it without a length', async () => {
    const answered = 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 200 OK\r\n\r\n{"approved":true}';
    const port = await tcpPeer((socket) => socket.once('data', () => socket.end(answered)));
    const { channel } = channelTo(`http://127.0.0.1:${port}/hooks`);
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ kind: 'decided' });
  });

  it('cuts a body off that never ends', async () => {
    const { receiver, channel } = await world();
    receiver.reply(endlessBody());
    expect(await channel.ask(QUESTION, contextOf())).toEqual({
      kind: 'failed',
      message: "the webhook's answer is longer than 1048576 bytes",
      retryable: false,
    });
    await (await receiver.next()).gone;
  });

  it('does not read the body of a refusal', async () => {
    const { receiver, channel } = await world();
    receiver.reply(endlessBody(500));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ retryable: true });
    await (await receiver.next()).gone;
  });

  it('takes an answer of exactly the bound and none that is a byte longer', async () => {
    const { receiver, channel } = await world();
    const padded = (bytes: number): string => '{"approved":true}'.padEnd(bytes);
    receiver.reply(answer(padded(1_048_576)));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ kind: 'decided' });
    receiver.reply(answer(padded(1_048_577)));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ kind: 'failed' });
    receiver.reply(hugeBody(3_000_000));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ retryable: false });
  });

  it('puts an answer together that comes in the smallest pieces', async () => {
    const { receiver, channel } = await world();
    const body = JSON.stringify({ approved: false, reason: 'ä'.repeat(2_000) });
    receiver.reply(({ response }) => {
      response.writeHead(200);
      for (const byte of Buffer.from(body)) response.write(Buffer.from([byte]));
      response.end();
    });
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      decision: { approved: false, reason: 'ä'.repeat(2_000) },
    });
  });
});

describe('webhook: aborted questions', () => {
  const reason = new Error('the run stops');

  it.each<[string, WebhookReply]>([
    ['before the answer', silence()],
    ['in the middle of a body', stallMidBody()],
    ['in the middle of a flood', endlessBody()],
  ])('closes the connection %s', async (_when, reply) => {
    const { receiver, channel } = await world();
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    receiver.reply((request, index) => {
      begun.resolve();
      return reply(request, index);
    });
    const asked = channel.ask(QUESTION, contextOf(stop.signal));
    const request = await receiver.next();
    await begun.promise;
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await request.gone;
    await receiver.idle();
  });

  it('closes a connection that is not made yet', async () => {
    const clock = createVirtualClock(NOW_MS);
    const taken = Promise.withResolvers<Socket>();
    const port = await tcpPeer((socket) => taken.resolve(socket));
    const { channel } = channelTo(`https://127.0.0.1:${port}/hooks`, { clock });
    const stop = new AbortController();
    const asked = channel.ask(QUESTION, contextOf(stop.signal));
    const socket = await taken.promise;
    socket.resume();
    const closed = once(socket, 'close');
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await closed;
    expect(clock.pending).toHaveLength(0);
  });

  it('aborts in the same turn in which it asks', async () => {
    const { receiver, channel } = await world();
    const stop = new AbortController();
    const asked = channel.ask(QUESTION, contextOf(stop.signal));
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
    expect(receiver.requests).toHaveLength(0);
    await receiver.idle();
  });

  it('sends nothing when it is aborted already', async () => {
    const { receiver, channel } = await world();
    await expect(channel.ask(QUESTION, contextOf(AbortSignal.abort(reason)))).rejects.toBe(reason);
    expect(receiver.socketsTaken).toBe(0);
  });

  it('is deaf to an approval that comes too late', async () => {
    const { receiver, channel } = await world();
    const { reply, answered } = tooLate();
    receiver.reply(reply);
    const stop = new AbortController();
    const asked = channel.ask(QUESTION, contextOf(stop.signal));
    await receiver.next();
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await answered;
  });

  it('keeps an answer that was whole when the abort came', async () => {
    const clock = createVirtualClock(NOW_MS);
    const stop = new AbortController();
    let cleared = 0;
    // The second time is the end, when the connection is closed and nothing is told yet.
    const clearTimeout: Clock['clearTimeout'] = (handle) => {
      clock.clearTimeout(handle);
      cleared += 1;
      if (cleared === 2) stop.abort(reason);
    };
    const { channel } = await world({
      clock: { now: () => NOW_MS, setTimeout: (fn, ms) => clock.setTimeout(fn, ms), clearTimeout },
    });
    expect(await channel.ask(QUESTION, contextOf(stop.signal))).toMatchObject({ kind: 'decided' });
    expect(stop.signal.aborted).toBe(true);
  });

  it('does not listen to a signal any longer than it asks', async () => {
    const { channel } = await world();
    const { signal } = new AbortController();
    const asked = channel.ask(QUESTION, contextOf(signal));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await asked;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('leaves nothing behind after many questions of every kind', async () => {
    const clock = createVirtualClock(NOW_MS);
    const { receiver, channel } = await world({ clock });
    const handles = () =>
      process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Timeout/.test(name)).length;
    const replies = [approve(), hangUp(), status(503), closeMidBody(), endlessBody(), silence()];
    receiver.reply((request, index) => replies[index % replies.length]?.(request, index));
    const before = handles();
    for (let round = 0; round < 120; round += 1) {
      const stop = new AbortController();
      const { signal } = stop;
      const asked = channel.ask(QUESTION, contextOf(signal)).catch((error: unknown) => error);
      await receiver.next();
      if (round % replies.length === 5) stop.abort(reason);
      await asked;
    }
    await receiver.idle();
    expect(receiver.socketsTaken).toBe(120);
    expect(clock.pending).toHaveLength(0);
    expect(handles()).toBeLessThanOrEqual(before);
  });
});

describe('webhook: what no message and no log repeats', () => {
  it('keeps address, path, query, user and headers out of every failure', async () => {
    const { receiver, channel, logged } = await world({
      route: { headers: { 'x-key': 'header-secret' } },
    });
    const replies = [
      hangUp(),
      closeMidBody(),
      status(302, { location: receiver.url }),
      status(500),
      answer('secret'),
      answer({ approved: true, arguments: { secret: 1 } }),
      answer({ approved: 'secret' }),
    ];
    receiver.reply((request, index) => replies[index]?.(request, index));
    for (const _reply of replies) {
      const result = await channel.ask(QUESTION, contextOf());
      expect(result).toMatchObject({ kind: 'failed' });
      expect(JSON.stringify(result)).not.toMatch(SECRETS);
    }
    receiver.refuse();
    expect(JSON.stringify(await channel.ask(QUESTION, contextOf()))).not.toMatch(SECRETS);
    expect(await channel.withdraw({ decisionId: 'x', reason: 'r' }, contextOf())).toBe(false);
    expect(logged.join()).not.toMatch(SECRETS);
    expect(logged).toHaveLength(1);
  });

  it('blanks out a secret that an answer repeats in the name of a key', async () => {
    const redact = (text: string): string => text.replaceAll('hunter2', '[redacted]');
    const { receiver, channel } = await world({ redact });
    receiver.reply(answer({ approved: true, hunter2: 1 }));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      message: expect.stringContaining('"[redacted]"'),
    });
  });

  it.each([
    ['an address that is none', 'secret', 'is no http or https URL'],
    ['another scheme', 'file:///hooks/secret', 'is no http or https URL'],
    ['plain HTTP though there is a secret', 'http://127.0.0.1:1/hooks', 'over plain HTTP'],
    ['a malformed user', 'https://ada%zz:secret@127.0.0.1:1/', 'user or password'],
  ])('sends nothing to %s', async (_what, url, problem) => {
    const { channel, logged } = channelTo(url, { signing: SIGNING });
    const result = await channel.ask(QUESTION, contextOf());
    expect(result).toMatchObject({ kind: 'failed', retryable: false });
    expect(result).toHaveProperty('message', expect.stringContaining(problem));
    expect(JSON.stringify(result)).not.toMatch(SECRETS);
    expect(await channel.withdraw({ decisionId: 'x', reason: 'r' }, contextOf())).toBe(false);
    expect(logged.join()).toContain(problem);
  });

  it.each([
    [{ 'x-mood': 'secret \u2603' }, 'x-mood'],
    [{ 'x-lines': 'a\r\nx-secret: b' }, 'x-lines'],
    [{ 'x mood': 'secret' }, 'x mood'],
  ])('names a header that HTTP cannot carry, without its value: %j', async (headers, name) => {
    const { receiver, channel } = await world({ route: { headers } });
    expect(await channel.ask(QUESTION, contextOf())).toEqual({
      kind: 'failed',
      message: `the header "${name}" of the webhook's request cannot be sent`,
      retryable: false,
    });
    expect(receiver.socketsTaken).toBe(0);
  });
});
