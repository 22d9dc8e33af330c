import { describe, expect, it } from 'vitest';
import { contextOf, DECISION_ID, QUESTION, world } from '../support/webhook-kit.ts';
import {
  closeMidBody,
  endlessBody,
  hangUp,
  redirect,
  silence,
  stallMidBody,
  status,
  type WebhookReply,
} from '../support/webhook-replies.ts';

const NOTICE = { decisionId: DECISION_ID, reason: 'unclaimed' };

describe('webhook: the notice that nobody waits any more', () => {
  it('goes out as one POST to the same address', async () => {
    const { receiver, channel, logged } = await world({
      route: { headers: { 'x-team': 'ops' }, headersFromRequest: { 'x-user': 'x-login' } },
    });
    const context = contextOf(undefined, { 'x-login': 'ada' });
    expect(await channel.withdraw(NOTICE, context)).toBe(true);
    expect(receiver.requests).toHaveLength(1);
    const request = await receiver.next('notice');
    expect(request).toMatchObject({ method: 'POST', path: '/hooks/path-secret?key=query-secret' });
    expect(request.body).toEqual({ version: 1, decision_id: DECISION_ID, reason: 'unclaimed' });
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': `${DECISION_ID}:cancelled`,
      'x-aura-event': 'approval-cancelled',
      'x-team': 'ops',
      'x-user': 'ada',
    });
    expect(logged).toEqual([]);
  });

  it.each<[string, WebhookReply]>([
    ['an empty 200', status(200)],
    ['a body that is no decision', ({ response }) => void response.writeHead(202).end('thanks')],
  ])('is taken with %s', async (_what, reply) => {
    const { receiver, channel } = await world();
    receiver.replyToNotices(reply);
    expect(await channel.withdraw(NOTICE, contextOf())).toBe(true);
  });

  it.each<[string, WebhookReply, string]>([
    ['a refusal', status(404), 'status 404'],
    ['an overload', status(503), 'status 503'],
    ['a redirect', redirect('/elsewhere'), 'status 307'],
    ['a closed connection', hangUp(), 'broke'],
    ['half an answer', closeMidBody(), 'broke'],
    ['an answer without end', endlessBody(), 'longer than'],
  ])('is tried once, with a warning, at %s', async (_what, reply, problem) => {
    const { receiver, channel, logged } = await world();
    receiver.replyToNotices(reply);
    expect(await channel.withdraw(NOTICE, contextOf())).toBe(false);
    expect(receiver.socketsTaken).toBe(1);
    expect(logged).toHaveLength(1);
    expect(JSON.parse(logged[0] ?? '')).toMatchObject({
      level: 'warn',
      decision_id: DECISION_ID,
      reason: expect.stringContaining(problem),
    });
  });

  it.each<[string, WebhookReply]>([
    ['nothing', silence()],
    ['half an answer', stallMidBody()],
  ])('does not reject when its time is over at %s', async (_what, reply) => {
    const { receiver, channel, logged } = await world();
    receiver.replyToNotices(reply);
    const stop = new AbortController();
    const told = channel.withdraw(NOTICE, contextOf(stop.signal));
    const request = await receiver.next('notice');
    stop.abort(new Error('5 s'));
    expect(await told).toBe(false);
    await request.gone;
    expect(logged.join()).toContain('time for the notice was over');
  });

  it('is not sent when its time is over before', async () => {
    const { receiver, channel } = await world();
    expect(await channel.withdraw(NOTICE, contextOf(AbortSignal.abort()))).toBe(false);
    expect(receiver.socketsTaken).toBe(0);
  });

  it('may be on its way while the question is', async () => {
    const { receiver, channel } = await world();
    receiver.reply(silence());
    const stop = new AbortController();
    const asked = channel.ask(QUESTION, contextOf(stop.signal));
    await receiver.next('question');
    expect(await channel.withdraw(NOTICE, contextOf())).toBe(true);
    stop.abort(new Error('over'));
    await expect(asked).rejects.toThrow('over');
  });
});
