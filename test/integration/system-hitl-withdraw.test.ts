import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { begin, calls, control, ECHO, ended, says, story } from '../support/api-kit.ts';
import {
  approved,
  called,
  completions,
  decideSigned,
  denied,
  eventsIn,
  hitlWorlds,
  notice,
  noticesOf,
  type WebhookWorld,
  type WebhookWorldOptions,
} from '../support/hitl-kit.ts';
import type { WebhookRequest } from '../support/webhook-receiver.ts';
import { held, status, tooLate } from '../support/webhook-replies.ts';

/**
 * Hazard: a person in front of a live prompt that nobody waits for (AURA's issue 613). Whatever ends
 * the run, the question is cut off, its journal says why, and the webhook is told once.
 */

const { startWebhook: start } = hitlWorlds();

interface Asked extends WebhookWorld {
  readonly runId: string;
  readonly question: WebhookRequest;
  /** Resolves when the webhook has answered the question that was cut off. */
  readonly answered: Promise<void>;
}

/** A headless run whose webhook approves when it is too late. */
async function asking(body: object = {}, options: WebhookWorldOptions = {}): Promise<Asked> {
  const at = await start(options);
  const late = tooLate(approved());
  at.receiver.reply(late.reply);
  at.world.answer(calls(ECHO));
  const { run_id: runId } = await begin(at.world, body);
  return { ...at, runId, question: await at.receiver.next('question'), answered: late.answered };
}

interface Ending {
  readonly reason: string;
  /** What the entries say beside the reason. */
  readonly which?: string;
  readonly notified?: boolean;
}

/** The same for every ending. Gives the journal of the session. */
async function expectWithdrawn(
  { world, receiver, question, answered }: Omit<Asked, 'runId'>,
  { reason, which, notified = true }: Ending,
): Promise<readonly JournalEvent[]> {
  const { decisionId: id, gone } = question;
  await gone;
  await answered;
  await world.entry('s', (event) => 'end' in event);
  const events = await world.journal('s');
  const why = { reason, ...(which !== undefined && { which }) };
  expect(eventsIn(events, 'approval_completed')).toMatchObject([
    { decision_id: id, outcome: { kind: 'cancelled', ...why } },
  ]);
  expect(eventsIn(events, 'cancelled')).toMatchObject([why]);
  expect(eventsIn(events, 'approval_withdrawn')).toMatchObject([
    { decision_id: id, reason, notified },
  ]);
  expect(completions(events).get('call_1')).toMatchObject({
    success: false,
    approval: 'cancelled',
    error: 'tool call denied: approval cancelled',
  });
  expect(noticesOf(receiver)).toEqual(notified ? [notice(id, reason)] : noticesOf(receiver));
  expect(receiver.questions).toHaveLength(1);
  expect(called(world)).toEqual([]);
  expect(world.upstream.requests).toHaveLength(1);
  return events;
}

describe('a webhook that is asked when its run ends', () => {
  it.each([true, false])('with its client, is cut off and told (stream: %s)', async (stream) => {
    const at = await start();
    const late = tooLate(approved());
    at.receiver.reply(late.reply);
    at.world.answer(calls(ECHO));
    const chat = at.world.chat({ stream }, { 'X-Chat-Session-Id': 's' });
    const question = await at.receiver.next('question');
    await chat.leave();
    const { answered } = late;
    const events = await expectWithdrawn({ ...at, question, answered }, { reason: 'unclaimed' });
    expect(eventsIn(events, 'liveness_decided')).toMatchObject([{ policy: 'cancel' }]);
  });

  it('by an operator, is told so; a signed decision finds nothing any more', async () => {
    const at = await asking();
    await control(at.world, at.runId, 'cancel').answered;
    await expectWithdrawn(at, { reason: 'external' });
    const { decisionId: id } = at.question;
    expect(await decideSigned(at.world, id, { approved: true }).status()).toBe(404);
    const pending = await at.world.ask('/v1/approvals?state=pending').json();
    expect(pending).toMatchObject({ data: [] });
  });

  it('at its deadline, is told so', async () => {
    const at = await asking({ timeout_ms: 400 });
    await expectWithdrawn(at, { reason: 'deadline', which: 'total' });
  });

  it('for a newer run of its session, is told so', async () => {
    const at = await asking();
    at.world.answer(says('Me now.'));
    await begin(at.world, { on_busy: 'interrupt' });
    const { receiver, question, answered, world } = at;
    await question.gone;
    await answered;
    await world.entry('s', ({ type }) => type === 'finished');
    const events = await world.journal('s');
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { outcome: { kind: 'cancelled', reason: 'superseded' } },
    ]);
    expect(noticesOf(receiver)).toEqual([notice(question.decisionId, 'superseded')]);
    expect(called(world)).toEqual([]);
  });

  it('in a shutdown whose grace is over, is told so, and the stop is clean', async () => {
    const flags = { 'shutdown-timeout-secs': '0.3' };
    const at = await asking({}, { flags, drains: true });
    at.world.server.shutdown('SIGTERM');
    await at.world.server.stopped;
    // The store is closed: the world reads its journals and checks them when the test ends.
    expect(noticesOf(at.receiver)).toEqual([notice(at.question.decisionId, 'shutdown')]);
    expect(called(at.world)).toEqual([]);
  });

  it('and takes no notice, is on record as not told', async () => {
    const at = await asking({ timeout_ms: 400 });
    at.receiver.replyToNotices(status(500));
    await expectWithdrawn(at, { reason: 'deadline', which: 'total', notified: false });
    expect(at.receiver.notices).toHaveLength(1);
  });

  it('and is gone altogether, is on record as not told', async () => {
    const at = await asking({ timeout_ms: 400 });
    at.receiver.refuse();
    await expectWithdrawn(at, { reason: 'deadline', which: 'total', notified: false });
    expect(at.receiver.notices).toEqual([]);
  });
});

describe('a webhook that is asked when its run is parked', () => {
  const PARK = { liveness: { policy: 'park', grace_ms: 0 } };

  it('is cut off and told, and asked anew when the run is resumed', async () => {
    const at = await asking(PARK);
    const { world, receiver, runId, question } = at;
    const { decisionId: id } = question;
    await control(world, runId, 'park').answered;
    await question.gone;
    await at.answered;
    expect(await ended(world, runId)).toMatchObject({ state: 'parked', approvals: [] });
    const events = await story(world, runId);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { decision_id: id, outcome: { kind: 'cancelled', reason: 'external' } },
    ]);
    expect(eventsIn(events, 'approval_withdrawn')).toMatchObject([
      { decision_id: id, reason: 'external', notified: true },
    ]);
    expect(await decideSigned(world, id, { approved: true }).status()).toBe(404);
    const pending = await world.ask('/v1/approvals?state=pending').json();
    expect(pending).toMatchObject({ data: [] });
    expect(called(world)).toEqual([]);

    receiver.reply(approved());
    world.answer(says('Done.'));
    expect(await control(world, runId, 'resume').status()).toBe(202);
    const again = await receiver.next('question');
    expect(again.decisionId).not.toBe(id);
    await world.entry('s', (event) => event.type === 'finished');
    expect(called(world)).toHaveLength(1);
    expect(noticesOf(receiver)).toEqual([notice(id, 'external')]);
  });

  it('and takes no notice of it: a decision meanwhile comes too late', async () => {
    const at = await asking(PARK);
    const { world, receiver, runId, question } = at;
    const { reply, release } = held(status(204));
    receiver.replyToNotices(reply);
    const parked = control(world, runId, 'park').answered;
    await receiver.next('notice');
    const decided = decideSigned(world, question.decisionId, { approved: true });
    expect(await decided.status()).toBe(404);
    await parked;
    expect(await ended(world, runId)).toMatchObject({ state: 'parked' });
    const events = await story(world, runId);
    expect(eventsIn(events, 'approval_withdrawn')).toMatchObject([{ notified: false }]);
    release();
    expect(called(world)).toEqual([]);
    expect(receiver.notices).toHaveLength(1);
  });
});

it('an answer that comes as the client leaves counts, or is taken back: never both, never neither', async () => {
  const { world, receiver } = await start();
  for (let n = 0; n < 12; n += 1) {
    const sessionId = `s${n}`;
    const { reply, release } = held(n % 3 === 0 ? denied('no') : approved());
    receiver.reply(reply);
    const turns = [calls(ECHO)];
    world.respond = () => turns.shift() ?? says('Done.');
    const before = called(world).length;
    const chat = world.chat({}, { 'X-Chat-Session-Id': sessionId });
    const { decisionId: id } = await receiver.next('question');
    const leaving = n % 2 === 0 ? chat.leave() : undefined;
    release();
    await (leaving ?? chat.leave());
    await world.entry(sessionId, (event) => 'end' in event);
    const events = await world.journal(sessionId);
    const [completed, ...more] = eventsIn(events, 'approval_completed');
    expect(more).toEqual([]);
    const isDecided = completed?.decided_by === 'webhook';
    const taken = receiver.notices.filter(({ decisionId }) => decisionId === id);
    expect(taken).toHaveLength(isDecided ? 0 : 1);
    const ran = called(world).length - before;
    expect(ran).toBeLessThanOrEqual(completed?.outcome.kind === 'approved' ? 1 : 0);
  }
});

describe('a shutdown', () => {
  it('leaves a webhook its grace to decide, and by a signed decision as well (decision 35)', async () => {
    const at = await start();
    const { reply, release } = held(approved());
    at.receiver.reply(reply);
    at.world.answer(calls(ECHO, { ...ECHO, id: 'call_2' }), says('Done.'));
    await begin(at.world);
    const first = await at.receiver.next('question');
    const second = await at.receiver.next('question');
    at.world.server.shutdown('SIGTERM');
    const { decisionId: id } = second;
    expect(await decideSigned(at.world, id, { approved: true }).status()).toBe(204);
    release();
    await at.world.server.stopped;
    expect(first.decisionId).not.toBe(id);
    expect(called(at.world)).toHaveLength(2);
    expect(noticesOf(at.receiver)).toEqual([notice(id, 'decided')]);
  });
});
