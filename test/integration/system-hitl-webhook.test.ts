import { describe, expect, it } from 'vitest';
import { begin, calls, decide, ECHO, ended, recordOf, says, story } from '../support/api-kit.ts';
import {
  approved,
  called,
  completions,
  decideSigned,
  denied,
  eventsIn,
  hitlWorlds,
  runAsked,
  notice,
  noticesOf,
} from '../support/hitl-kit.ts';
import { firstTimes, held, silence, status } from '../support/webhook-replies.ts';

/** What becomes of a call that a webhook is asked for, and how the two meet a signed decision. */

const { startWebhook: start } = hitlWorlds();

describe('a webhook that approves', () => {
  it('lets the call run, once, and is on record as who decided', async () => {
    const at = await start();
    const { events, told, runId } = await runAsked(at);
    expect(told).toBe('x');
    expect(called(at.world)).toEqual([['echo', { said: 'x' }]]);
    const [asked] = eventsIn(events, 'approval_requested');
    const { decisionId, body } = await at.receiver.next('question');
    expect(asked).toMatchObject({ decision_id: decisionId, route: 'webhook' });
    expect(body).toMatchObject({
      version: 1,
      request_id: runId,
      scope: { kind: 'single', session_id: 's' },
      origin: { kind: 'config_gate', matched_pattern: 'echo' },
      items: [{ tool_name: 'echo', arguments: { said: 'x' } }],
    });
    expect(eventsIn(events, 'approval_pending')).toEqual([]);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { outcome: { kind: 'approved' }, decided_by: 'webhook', decision_id: decisionId },
    ]);
    expect(eventsIn(events, 'tool_start')).toMatchObject([
      { arguments_digest: asked?.arguments_digest },
    ]);
    expect(at.receiver.questions).toHaveLength(1);
    expect(at.receiver.notices).toEqual([]);
  });

  it('late, lets the call run late: the run waits meanwhile, and says so', async () => {
    const at = await start();
    const { reply, release } = held(approved());
    at.receiver.reply(reply);
    at.world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await begin(at.world);
    const { decisionId } = await at.receiver.next('question');
    expect(await recordOf(at.world, runId)).toMatchObject({
      state: 'waiting',
      approvals: [decisionId],
    });
    const shown = await at.world.ask('/v1/approvals?state=pending').json();
    expect(shown).toMatchObject({ data: [{ decision_id: decisionId, route: 'webhook' }] });
    expect(called(at.world)).toEqual([]);
    release();
    expect(await ended(at.world, runId)).toMatchObject({ state: 'finished' });
    expect(called(at.world)).toHaveLength(1);
  });

  it('shows in the stream of a chat that it is asked and answered, and to nobody to decide', async () => {
    const { world, receiver } = await start();
    world.answer(calls(ECHO), says('Done.'));
    const chat = world.chat();
    await chat.all();
    const { decisionId: id } = await receiver.next('question');
    const told = chat.frames.flatMap(({ event }) =>
      event?.startsWith('aura.approval') ? event : [],
    );
    expect(told).toEqual(['aura.approval_requested', 'aura.approval_completed']);
    expect(chat.data('aura.approval_completed')).toMatchObject([
      { decision_id: id, outcome: { kind: 'approved' } },
    ]);
    expect(chat.text).toContain('Done.');
  });

  it('works in a chat without a stream, which a person at the inbox does not', async () => {
    const { world, receiver } = await start();
    world.answer(calls(ECHO), says('Done.'));
    const chat = world.chat({ stream: false });
    expect(await chat.json()).toMatchObject({
      choices: [{ message: { content: 'Done.' }, finish_reason: 'stop' }],
    });
    expect(called(world)).toEqual([['echo', { said: 'x' }]]);
    expect(receiver.questions).toHaveLength(1);
  });

  it('gives headers to the very call that it approves, and hears those of the caller', async () => {
    const { world, receiver } = await start({
      route: [
        'headers = { "x-team" = "blue" }',
        'headers_from_request = { "x-user" = "x-chat-user" }',
        'tool_headers_from_response = { "x-ticket" = "x-approval-ticket" }',
      ].join(', '),
    });
    receiver.reply(approved({ headers: { 'X-Approval-Ticket': 'ticket-of-one-call' } }));
    const open = { id: 'call_2', name: 'headers' };
    world.answer(calls(ECHO, open), calls({ ...open, id: 'call_3' }), says('Done.'));
    await begin(world, {}, { 'X-Chat-User': 'ann' }).then(({ run_id: id }) => ended(world, id));
    expect((await receiver.next('question')).headers).toMatchObject({
      'x-team': 'blue',
      'x-user': 'ann',
    });
    const carriers = world.web.seen.filter(({ headers }) => 'x-ticket' in headers);
    expect(
      carriers.map(({ headers, body }) => [headers['x-ticket'], body?.['params']]),
    ).toMatchObject([['ticket-of-one-call', { name: 'echo' }]]);
    expect(called(world)).toHaveLength(3);
    const sessions = JSON.stringify([world.log, await world.journal('s')]);
    expect(sessions).not.toContain('ticket-of-one-call');
  });

  it('after a 503 is asked again with the same key', async () => {
    const at = await start();
    at.receiver.reply(firstTimes(1, status(503), approved()));
    const { events } = await runAsked(at);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { outcome: { kind: 'approved' } },
    ]);
    const keys = at.receiver.questions.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(eventsIn(events, 'approval_requested')).toHaveLength(1);
    expect(at.receiver.notices).toEqual([]);
    expect(called(at.world)).toHaveLength(1);
  });
});

describe('a webhook that denies', () => {
  it('keeps the call from running; the model is told why, the client that it was a denial', async () => {
    const at = await start();
    at.receiver.reply(denied('too risky'));
    const { events, told } = await runAsked(at);
    expect(told).toBe(
      'Tool call blocked by human approval denial: too risky. Do not execute this action.',
    );
    expect(called(at.world)).toEqual([]);
    expect(completions(events).get('call_1')).toMatchObject({ success: true, approval: 'denied' });
    expect(at.receiver.notices).toEqual([]);
  });
});

describe('what a webhook is asked', () => {
  it('is decided by a signed decision as well, which ends the question', async () => {
    const { world, receiver } = await start();
    receiver.reply(silence());
    world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await begin(world);
    const { decisionId: id, gone } = await receiver.next('question');
    const yes = { approved: true, reason: 'by hand' };
    expect(await decide(world, id, yes).status()).toBe(401);
    expect(called(world)).toEqual([]);
    expect(await decideSigned(world, id, yes).status()).toBe(204);
    await gone;
    const events = await story(world, runId);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { outcome: { kind: 'approved', reason: 'by hand' }, decided_by: 'signature:primary' },
    ]);
    expect(called(world)).toHaveLength(1);
    expect(await decideSigned(world, id, yes).status()).toBe(204);
    expect(await decideSigned(world, id, { approved: false }).status()).toBe(404);
    // Whoever was asked has not answered himself, and must not go on looking at the question.
    expect(noticesOf(receiver)).toEqual([notice(id, 'decided')]);
    expect(eventsIn(events, 'approval_withdrawn')).toMatchObject([
      { decision_id: id, reason: 'decided', notified: true },
    ]);
  });

  it('has one winner when its answer and signed decisions come at once', async () => {
    const { world, receiver } = await start();
    for (let n = 0; n < 8; n += 1) {
      const { reply, release } = held(n % 2 === 0 ? approved() : denied());
      receiver.reply(reply);
      const before = { calls: called(world).length, asked: world.upstream.requests.length };
      world.answer(calls(ECHO), says('Done.'));
      const { run_id: runId } = await begin(world, { session_id: `s${n}` });
      const { decisionId: id } = await receiver.next('question');
      release();
      const decided = decideSigned(world, id, { approved: n % 2 !== 0 });
      const events = await story(world, runId);
      const [completed, ...more] = eventsIn(events, 'approval_completed');
      expect(more).toEqual([]);
      const isApproved = completed?.outcome.kind === 'approved';
      expect(called(world)).toHaveLength(before.calls + (isApproved ? 1 : 0));
      const signedWon = completed?.decided_by === 'signature:primary';
      expect(await decided.status()).toBe(signedWon ? 204 : 404);
      expect(world.upstream.requests).toHaveLength(before.asked + 2);
    }
    expect(receiver.notices).toEqual([]);
  });
});
