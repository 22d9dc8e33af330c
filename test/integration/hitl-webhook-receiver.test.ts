import { describe, expect, it } from 'vitest';
import { approve } from '../support/webhook-replies.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { channelTo, contextOf, QUESTION, SECRET, SIGNING, NOW_MS } from '../support/webhook-kit.ts';

describe('webhook receiver of the tests', () => {
  it('is trusted until it is closed, whatever becomes of others', async () => {
    const [first, second] = [
      await startWebhookReceiver({ tls: 'trusted' }),
      await startWebhookReceiver({ tls: 'trusted' }),
    ];
    await first.close();
    second.reply(approve({ signing: { secret: SECRET, nowMs: NOW_MS } }));
    const { channel } = channelTo(second.url, { signing: SIGNING });
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ kind: 'decided' });
    await second.close();
    expect(second.certificate).toContain('BEGIN CERTIFICATE');
  });

  it('gives each request once, by its kind', async () => {
    const receiver = await startWebhookReceiver();
    const { channel } = channelTo(receiver.url);
    await channel.ask(QUESTION, contextOf());
    await channel.withdraw({ decisionId: 'x', reason: 'r' }, contextOf());
    await channel.ask({ ...QUESTION, decisionId: 'second' }, contextOf());
    const notice = await receiver.next('notice');
    const questions = [await receiver.next('question'), await receiver.next()];
    expect(notice.decisionId).toBe('x');
    expect(questions.map(({ decisionId }) => decisionId)).toEqual([QUESTION.decisionId, 'second']);
    await receiver.close();
  });
});
