import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { answerUnread } from '../../src/http/unread-body.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

const MEBIBYTE = Buffer.alloc(1_048_576);
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** An answer under way, with the streams of its request and response in the test's hands. */
function answering(body = new PassThrough()) {
  const clock = createVirtualClock(0);
  const sent = Object.assign(new PassThrough(), { setHeader: () => {} });
  // Of both, no more is used than what these have.
  const req = Object.assign(body, { method: 'POST' }) as unknown as IncomingMessage;
  const res = sent as unknown as ServerResponse;
  const answered = answerUnread({ req, res, text: '{}', clock });
  return { clock, body, sent, answered };
}

describe('the rest of a body that is not read', () => {
  it('is dropped up to its bound and stays where it is beyond it', async () => {
    const { clock, body, sent, answered } = answering();
    for (let mebibytes = 0; mebibytes < 4; mebibytes += 1) body.write(MEBIBYTE);
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    expect([body.readableFlowing, body.readableLength, body.writableLength]).toEqual([true, 0, 0]);
    body.write('x');
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    expect(body.readableFlowing).toBe(false);
    expect(sent.writableEnded).toBe(false);
    await clock.advance(2_000);
    await answered;
    expect(sent.writableEnded).toBe(true);
  });

  it('is taken from the parser that gave up on it', async () => {
    const body = new PassThrough();
    body.pipe(new PassThrough());
    const { answered } = answering(body);
    for (let mebibytes = 0; mebibytes < 3; mebibytes += 1) {
      body.write(MEBIBYTE);
      await nextTurn();
    }
    body.end();
    await answered;
    expect(body.readableEnded).toBe(true);
  });

  it('is not waited for when the answer has nobody to go to', async () => {
    const clock = createVirtualClock(0);
    const res = new PassThrough().destroy() as unknown as ServerResponse;
    const req = new PassThrough() as unknown as IncomingMessage;
    await answerUnread({ req, res, text: '{}', clock });
    expect(clock.pending).toEqual([]);
  });
});
