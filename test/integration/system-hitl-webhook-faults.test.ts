import { describe, expect, it } from 'vitest';
import { requestContext } from '../../src/hitl/webhook/signing.ts';
import { recordOf } from '../support/api-kit.ts';
import {
  approved,
  called,
  completions,
  decideSigned,
  eventsIn,
  hitlWorlds,
  notice,
  noticesOf,
  runAsked,
  SECRET,
} from '../support/hitl-kit.ts';
import {
  answer,
  approve,
  closeMidBody,
  closeMidChunks,
  hugeBody,
  redirect,
  silence,
  stallMidBody,
  status,
  type WebhookReply,
} from '../support/webhook-replies.ts';

/** A webhook whose word is none: it is slow, lies, redirects, breaks off or is not who it should be. */

const { startWebhook: start, receive } = hitlWorlds();
const signing = { secret: SECRET };

/** The word of nobody: each of these must not run the call. */
describe.each<[string, WebhookReply, number, string]>([
  ['says nothing', silence(), 0.4, 'timed_out'],
  ['stops in the middle of its answer', stallMidBody('{"approved":true'), 0.4, 'timed_out'],
  ['closes in the middle of its answer', closeMidBody('{"approved":true'), 0.4, 'errored'],
  ['ends its answer before its last chunk', closeMidChunks(), 0.4, 'errored'],
  ['is broken', status(500), 0.4, 'errored'],
  ['is not there', status(404), 60, 'errored'],
  ['asks for credentials', status(401), 60, 'errored'],
  ['says too much', hugeBody(2_000_000), 60, 'errored'],
  ['does not sign', approve(), 60, 'errored'],
  ['signs with another key', approve({ signing: { secret: 'x'.repeat(32) } }), 60, 'errored'],
  [
    'sends our own signature back',
    (request, index) =>
      approve({ signing: { ...signing, context: requestContext(request.decisionId) } })(
        request,
        index,
      ),
    60,
    'errored',
  ],
  [
    'signed long ago',
    approve({ signing: { ...signing, nowMs: 1_000_000_000_000 } }),
    60,
    'errored',
  ],
  ['lies about the type', answer({ approved: 'true' }, { signing }), 60, 'errored'],
  ['sets a condition', answer({ approved: true, only_if: 'x' }, { signing }), 60, 'errored'],
  ['edits unasked', answer({ approved: true, arguments: {} }, { signing }), 60, 'errored'],
])('a webhook that %s', (_what, reply, timeoutSecs, kind) => {
  it('approves nothing, and is told once that nobody waits', async () => {
    const at = await start({ timeoutSecs });
    at.receiver.reply(reply);
    const { events, told, runId } = await runAsked(at);
    const { decisionId } = await at.receiver.next('question');
    expect(called(at.world)).toEqual([]);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([{ outcome: { kind } }]);
    const text =
      kind === 'timed_out'
        ? /^tool call denied: approval timed out$/
        : /^tool call blocked: approval channel error: /;
    expect(told).toMatch(text);
    const completion = completions(events).get('call_1');
    expect(completion).toMatchObject({ success: false, error: told });
    expect(completion?.approval).toBe(kind === 'timed_out' ? 'timed_out' : undefined);
    expect(noticesOf(at.receiver)).toEqual([notice(decisionId, kind)]);
    expect(eventsIn(events, 'approval_withdrawn')).toMatchObject([
      { decision_id: decisionId, reason: kind, notified: true },
    ]);
    expect(await recordOf(at.world, runId)).toMatchObject({ state: 'finished' });
    const late = { approved: true };
    expect(await decideSigned(at.world, decisionId, late).status()).toBe(404);
    await at.receiver.idle();
  });
});

describe('a webhook that redirects', () => {
  it.each([301, 302, 307, 308])(
    'with %i is not followed, within its origin or to another',
    async (code) => {
      const other = await receive();
      const at = await start();
      at.receiver.reply((request, index) =>
        index === 0 ? redirect(other.url, code)(request, index) : approved()(request, index),
      );
      const { events } = await runAsked(at);
      expect(eventsIn(events, 'approval_completed')).toMatchObject([
        { outcome: { kind: 'errored', message: expect.stringContaining(String(code)) } },
      ]);
      expect(other.requests).toEqual([]);
      expect(at.receiver.questions).toHaveLength(1);
      expect(called(at.world)).toEqual([]);
    },
  );
});
