import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import {
  ASKS_FIRST,
  askedOf,
  calls,
  callSteps,
  control,
  decide,
  ECHO,
  ended,
  eventsOf,
  gated,
  heard,
  recordOf,
  says,
  STALLED,
  story,
  typesOf,
} from '../support/api-kit.ts';
import { goOn } from '../support/api-pairing.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** What becomes of a run when its last claim goes, over sockets that really close. */

const start = systemWorlds();
const IN_SESSION = { 'X-Chat-Session-Id': 's' };
/** Far longer than a test: whoever comes back comes inside of it. */
const LONG = 600;
const SHORT = 0.2;

const chatPolicy = (policy: string, graceSecs = 0, more: SystemOptions = {}): SystemOptions => ({
  ...more,
  toml: `${more.toml ?? ''}
[runtime.liveness]
chat = { policy = "${policy}", grace_secs = ${graceSecs} }`,
});

const LIVENESS = new Set([
  'observer_attached',
  'observer_detached',
  'claims_exhausted',
  'liveness_decided',
  'stopping',
  'cancelled',
  'finished',
  'parked',
]);

/** What the run's entries say of its claims and its end. */
const livenessOf = (events: readonly JournalEvent[]): readonly string[] =>
  typesOf(events).filter((type) => LIVENESS.has(type));

/** A chat whose answer has begun and goes on when `go` is called. */
async function chatting(options: SystemOptions, then = reply({ text: ['!'] })) {
  const world = await start(options);
  const { answer, go } = gated('a', then);
  world.answer(answer);
  const chat = world.chat({}, IN_SESSION);
  await chat.until(({ text }) => text === 'a');
  return { world, chat, runId: await chat.runId(), go };
}

/** The reader of a run that tells when the run has noticed that its chat is gone. */
async function left(world: SystemWorld, chat: Exchange, runId: string): Promise<Exchange> {
  const reader = eventsOf(world, runId);
  await reader.until(({ frames }) => frames.length > 0);
  await chat.leave();
  await heard(reader, ({ type }) => type === 'observer_detached');
  return reader;
}

describe('chat under cancel', () => {
  it('is the default: the run ends unclaimed, and every step of it is told (claims, row 1)', async () => {
    const { world, chat, runId } = await chatting({});
    await left(world, chat, runId);
    expect(await ended(world, runId)).toMatchObject({
      state: 'cancelled',
      liveness: { policy: 'cancel', grace_ms: 0 },
      end: { by: 'client', reason: 'unclaimed' },
    });
    const events = await story(world, runId);
    const from = events.findIndex(({ type }) => type === 'observer_detached');
    expect(events.slice(from)).toMatchObject([
      {
        type: 'observer_detached',
        observer: { kind: 'claiming', presence: expect.any(Boolean) },
        because: 'released',
      },
      { type: 'claims_exhausted', grace_ms: 0 },
      { type: 'liveness_decided', policy: 'cancel' },
      { type: 'stopping', cause: 'unclaimed', obligations: 1 },
      { type: 'obligation', what: 'model', state: 'asked' },
      { type: 'obligation', what: 'model', state: 'confirmed' },
      { type: 'cancelled', reason: 'unclaimed' },
    ]);
    const { evidence } = (events.at(-1) as Extract<JournalEvent, { type: 'cancelled' }>).end;
    expect(evidence).toEqual([from + 1, from + 2, from + 3, from + 4]);
  });

  it('with a grace lets a reader that comes back inside it hold a run that never noticed', async () => {
    const { world, chat, runId, go } = await chatting(chatPolicy('cancel', LONG));
    await left(world, chat, runId);
    expect(await recordOf(world, runId)).toMatchObject({ state: 'running', claims: [] });
    const back = eventsOf(world, runId, '?claim=true');
    await heard(back, (event) => event.type === 'observer_attached' && event.within_grace === true);
    expect(await recordOf(world, runId)).toMatchObject({ state: 'running', claims: [{}] });
    go();
    await back.all();
    expect(await recordOf(world, runId)).toMatchObject({ state: 'finished' });
    const events = await story(world, runId);
    expect(livenessOf(events)).toEqual([
      'observer_attached',
      'observer_detached',
      'claims_exhausted',
      'observer_attached',
      'finished',
    ]);
    const exhausted = events.find(({ type }) => type === 'claims_exhausted');
    expect(exhausted).toMatchObject({ grace_ms: LONG * 1_000 });
    const text = events.map((event) => (event.type === 'text_delta' ? event.text : '')).join('');
    expect(text).toBe('a!');
  });

  it('with a grace ends the run when nobody came back in it', async () => {
    const { world, chat, runId } = await chatting(chatPolicy('cancel', SHORT));
    await left(world, chat, runId);
    expect(await ended(world, runId)).toMatchObject({
      state: 'cancelled',
      end: { reason: 'unclaimed' },
    });
    const events = await story(world, runId);
    expect(livenessOf(events)).toEqual([
      'observer_attached',
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'stopping',
      'cancelled',
    ]);
  });

  it('counts a reader without claim=true for nothing', async () => {
    const { world, chat, runId } = await chatting(chatPolicy('cancel', SHORT));
    const reader = await left(world, chat, runId);
    expect((await recordOf(world, runId)).observers).toBe(1);
    await reader.all();
    expect(reader.frames.at(-1)?.data).toContain('"reason":"unclaimed"');
  });

  it('begins the window anew each time that the last claim goes', async () => {
    const { world, chat, runId, go } = await chatting(chatPolicy('cancel', LONG));
    const reader = await left(world, chat, runId);
    for (let times = 2; times < 5; times += 1) {
      const back = eventsOf(world, runId, '?claim=true');
      await back.until(({ frames }) => frames.length > 0);
      await reader.until(({ body }) => count(body, 'observer_attached') === times);
      await back.leave();
      await reader.until(({ body }) => count(body, 'claims_exhausted') === times);
    }
    go();
    await reader.all();
    expect(reader.frames.at(-1)?.data).toContain('"type":"finished"');
    expect(count(reader.body, 'liveness_decided')).toBe(0);
  });

  it('with a grace lets a run finish inside it', async () => {
    const { world, chat, runId, go } = await chatting(chatPolicy('cancel', LONG));
    await left(world, chat, runId);
    go();
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
    expect(await goOn(world)).toEqual(['user: Hello', 'assistant: a!', 'user: Next']);
  });

  it('reaches an approval that the run waits for', async () => {
    const options = chatPolicy('cancel', 0, { mcp: ['web'], toml: ASKS_FIRST });
    const world = await start(options);
    world.answer(calls(ECHO));
    const chat = world.chat({}, IN_SESSION);
    await chat.until(() => chat.data('aura.approval_pending').length > 0);
    const runId = await chat.runId();
    const id = String(chat.data('aura.approval_pending')[0]?.['decision_id']);
    await chat.leave();
    expect(await ended(world, runId)).toMatchObject({ end: { reason: 'unclaimed' } });
    expect(await decide(world, id, { approved: true }).status()).toBe(404);
    const { data } = await world.ask('/v1/approvals').json();
    expect(data).toMatchObject([{ decision_id: id, state: 'cancelled' }]);
  });

  it('is what a request without a stream has for its own life (claims, row 1)', async () => {
    const world = await start(chatPolicy('cancel', SHORT));
    world.answer(STALLED);
    const chat = world.chat({ stream: false }, IN_SESSION);
    await world.event('s', 'text_delta');
    await chat.leave();
    expect(await world.ended('s')).toMatchObject({ end: { reason: 'unclaimed' } });
  });
});

const count = (body: string, type: string): number => body.split(`"type":"${type}"`).length - 1;

describe('chat under continue', () => {
  it('runs to its end, and its transcript can be attached to afterwards', async () => {
    const { world, chat, runId, go } = await chatting(chatPolicy('continue'));
    await left(world, chat, runId);
    go();
    expect(await ended(world, runId)).toMatchObject({
      state: 'finished',
      liveness: { policy: 'continue' },
      end: { by: 'agent', reason: null },
    });
    const events = await story(world, runId);
    expect(livenessOf(events)).toEqual([
      'observer_attached',
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'finished',
    ]);
    expect(events.find(({ type }) => type === 'liveness_decided')).toMatchObject({
      policy: 'continue',
    });
    expect(await goOn(world)).toEqual(['user: Hello', 'assistant: a!', 'user: Next']);
  });

  it('decides again when a claim that came later goes', async () => {
    const { world, chat, runId, go } = await chatting(chatPolicy('continue'));
    const reader = await left(world, chat, runId);
    await heard(reader, ({ type }) => type === 'liveness_decided');
    const back = eventsOf(world, runId, '?claim=true');
    await back.until(({ body }) => count(body, 'observer_attached') === 2);
    await back.leave();
    await reader.until(({ body }) => count(body, 'liveness_decided') === 2);
    go();
    await reader.all();
    expect(reader.frames.at(-1)?.data).toContain('"type":"finished"');
  });

  it('keeps its approvals decidable for whoever comes', async () => {
    const options = chatPolicy('continue', 0, { mcp: ['web'], toml: ASKS_FIRST });
    const world = await start(options);
    world.answer(calls(ECHO), says('Then.'));
    const chat = world.chat({}, IN_SESSION);
    await chat.until(() => chat.data('aura.approval_pending').length > 0);
    const runId = await chat.runId();
    const reader = await left(world, chat, runId);
    await heard(reader, ({ type }) => type === 'liveness_decided');
    expect(await decide(world, await askedOf(reader), { approved: true }).status()).toBe(204);
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
  });

  it('still ends by a cancel, which is external and not unclaimed', async () => {
    const { world, chat, runId } = await chatting(chatPolicy('continue'));
    await left(world, chat, runId);
    await control(world, runId, 'cancel').answered;
    expect(await ended(world, runId)).toMatchObject({ end: { reason: 'external' } });
  });
});

describe('chat under park', () => {
  it('goes on to its next checkpoint, is parked there, and resumes where it was', async () => {
    const then = callSteps(ECHO);
    const { world, chat, runId, go } = await chatting(
      chatPolicy('park', 0, { mcp: ['web'] }),
      then,
    );
    const reader = await left(world, chat, runId);
    await heard(reader, ({ type }) => type === 'liveness_decided');
    go();
    expect(await ended(world, runId)).toMatchObject({
      state: 'parked',
      end: { by: 'client', reason: 'unclaimed' },
      verbs: ['attach', 'cancel', 'resume'],
    });
    const events = await story(world, runId);
    expect(livenessOf(events).slice(-3)).toEqual([
      'claims_exhausted',
      'liveness_decided',
      'parked',
    ]);
    expect(events.at(-1)).toMatchObject({
      type: 'parked',
      reason: 'unclaimed',
      checkpoint: expect.any(String),
      end: { evidence: expect.any(Array) },
    });
    world.answer(says('Then.'));
    const next = String((await control(world, runId, 'resume').json())['run_id']);
    expect(await ended(world, next)).toMatchObject({ state: 'finished', continues: runId });
    expect(await goOn(world)).toEqual([
      'user: Hello',
      'assistant: a[call_1=echo]',
      'tool call_1: x',
      'assistant: Then.',
      'user: Next',
    ]);
  });

  it('that has nothing left but its answer finishes: nobody would have to resume it', async () => {
    const { world, chat, runId, go } = await chatting(chatPolicy('park'));
    const reader = await left(world, chat, runId);
    await heard(reader, ({ type }) => type === 'liveness_decided');
    go();
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
  });

  it('while it waits for a person is parked at once, and goes on when the person has decided', async () => {
    const options = chatPolicy('park', 0, { mcp: ['web'], toml: ASKS_FIRST });
    const world = await start(options);
    world.answer(calls(ECHO), says('Then.'));
    const chat = world.chat({}, IN_SESSION);
    await chat.until(() => chat.data('aura.approval_pending').length > 0);
    const runId = await chat.runId();
    const id = String(chat.data('aura.approval_pending')[0]?.['decision_id']);
    await chat.leave();
    expect(await ended(world, runId)).toMatchObject({ state: 'parked', approvals: [id] });
    expect(await decide(world, id, { approved: true }).status()).toBe(204);
    await world.upstream.request(1);
    const { continued_by: next } = await recordOf(world, runId);
    expect(await ended(world, String(next))).toMatchObject({ state: 'finished' });
  });

  it('with a grace is claimed again by a reader that comes back inside it', async () => {
    const { world, chat, runId, go } = await chatting(
      chatPolicy('park', LONG, { mcp: ['web'] }),
      callSteps(ECHO),
    );
    await left(world, chat, runId);
    const back = eventsOf(world, runId, '?claim=true');
    await heard(back, (event) => event.type === 'observer_attached' && event.within_grace === true);
    world.answer(says('Done.'));
    go();
    await back.all();
    expect(await recordOf(world, runId)).toMatchObject({ state: 'finished', continued_by: null });
  });
});
