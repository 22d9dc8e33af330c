import { describe, expect, it } from 'vitest';
import {
  cancelledContext,
  requestContext,
  SIGNATURE_HEADER,
  verifySigned,
} from '../../src/hitl/webhook/signing.ts';
import {
  contextOf,
  DECISION_ID,
  NOW_MS,
  QUESTION,
  SECOND_SECRET,
  SECRET,
  SIGNING,
  world,
} from '../support/webhook-kit.ts';
import { answer, approve, deny, status, type WebhookReply } from '../support/webhook-replies.ts';

const signedWorld = () => world({ tls: 'trusted', signing: SIGNING });
const signing = { secret: SECRET, nowMs: NOW_MS };

describe('webhook with a secret: what it sends', () => {
  it('signs the question over the bytes that go out', async () => {
    const { receiver, channel } = await world({
      tls: 'trusted',
      signing: SIGNING,
      route: { headers: { [SIGNATURE_HEADER]: 'forged' } },
    });
    receiver.reply(approve({ signing }));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ kind: 'decided' });
    const { headers, raw } = await receiver.next();
    const signed = { headers, body: raw, context: requestContext(DECISION_ID) };
    const keys = { secret: SECRET, toleranceMs: 0, nowMs: NOW_MS };
    expect(verifySigned(signed, keys)).toEqual({ ok: true, key: 'primary' });
  });

  it('signs the notice for what it is', async () => {
    const { receiver, channel } = await signedWorld();
    const notice = { decisionId: DECISION_ID, reason: 'deadline' };
    expect(await channel.withdraw(notice, contextOf())).toBe(true);
    const { headers, raw } = await receiver.next('notice');
    const signed = { headers, body: raw, context: cancelledContext(DECISION_ID) };
    const keys = { secret: SECRET, toleranceMs: 0, nowMs: NOW_MS };
    expect(verifySigned(signed, keys)).toEqual({ ok: true, key: 'primary' });
  });
});

describe('webhook with a secret: what it believes', () => {
  it.each([
    ['the first key', { ...signing }],
    ['the second key', { ...signing, secret: SECOND_SECRET }],
    ['a clock that is 300 s behind', { ...signing, nowMs: NOW_MS - 300_000 }],
    ['a clock that is 300 s ahead', { ...signing, nowMs: NOW_MS + 300_000 }],
  ])('an answer signed with %s', async (_what, answerSigning) => {
    const { receiver, channel } = await signedWorld();
    receiver.reply(deny('no', { signing: answerSigning }));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      kind: 'decided',
      decision: { approved: false, reason: 'no' },
    });
  });

  it.each<[string, WebhookReply, string]>([
    ['without a signature', approve(), 'is not signed'],
    [
      'signed with another key',
      approve({ signing: { ...signing, secret: 'x'.repeat(32) } }),
      'does not match',
    ],
    [
      'signed for another decision',
      approve({ signing: { ...signing, context: 'approval-decision:other' } }),
      'does not match',
    ],
    [
      'signed as a question: our own signature, sent back to us',
      approve({ signing: { ...signing, context: requestContext(DECISION_ID) } }),
      'does not match',
    ],
    [
      'signed too long ago',
      approve({ signing: { ...signing, nowMs: NOW_MS - 301_000 } }),
      'clocks',
    ],
    [
      'signed in the future',
      approve({ signing: { ...signing, nowMs: NOW_MS + 301_000 } }),
      'clocks',
    ],
    [
      'with a signature that is none',
      approve({ headers: { 'x-aura-signature-256': 'sha256=AB', 'x-aura-timestamp': '1' } }),
      'malformed',
    ],
  ])('no answer %s', async (_what, reply, problem) => {
    const { receiver, channel } = await signedWorld();
    receiver.reply(reply);
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining(problem),
      retryable: false,
    });
    expect(receiver.requests).toHaveLength(1);
  });

  it('no answer whose body was changed on the way', async () => {
    const { receiver, channel } = await signedWorld();
    receiver.reply((request) => {
      const { response } = request;
      const end = response.end.bind(response);
      // The signature is of the denial that the reply wanted to send.
      response.end = () => end('{"approved":true }');
      return deny(undefined, { signing })(request, 0);
    });
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      message: expect.stringContaining('does not match'),
    });
  });

  it('reads nothing of an answer that it does not believe', async () => {
    const { receiver, channel } = await signedWorld();
    receiver.reply(answer('no json'));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      message: "the webhook's answer is not signed",
    });
  });

  it('a signed answer that cannot be read for no decision', async () => {
    const { receiver, channel } = await signedWorld();
    receiver.reply(answer({ approved: true, verdict: 1 }, { signing }));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('"verdict"'),
    });
  });

  it('the status of a refusal without a signature: it decides nothing', async () => {
    const { receiver, channel } = await signedWorld();
    receiver.reply(status(503));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ retryable: true });
  });
});

describe('webhook with a secret: plain HTTP', () => {
  it('is refused before a byte is sent', async () => {
    const { receiver, channel, logged } = await world({ signing: SIGNING });
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ retryable: false });
    const notice = { decisionId: DECISION_ID, reason: 'external' };
    expect(await channel.withdraw(notice, contextOf())).toBe(false);
    expect(receiver.socketsTaken).toBe(0);
    expect(logged.join()).not.toContain(SECRET);
  });
});
