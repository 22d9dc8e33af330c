import { describe, expect, it } from 'vitest';
import {
  ask,
  begin,
  control,
  ended,
  eventsOf,
  gated,
  heard,
  lifecycle,
  recordOf,
  refusal,
  says,
  STALLED,
  story,
} from '../support/api-kit.ts';
import { readSessions } from '../support/system-store.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** Several runs want one session. Decisions 18, 24, 42 and 44, and "one live run per session" (INV-54). */

const start = systemWorlds();

const said = async (world: SystemWorld, index: number): Promise<readonly string[]> => {
  const { messages } = (await world.upstream.request(index)).body;
  return (messages as { role: string; content: string }[])
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) => `${role}: ${content}`);
};

/** A world with a run that has said "a" and says the rest when `go` is called. */
async function busy() {
  const world = await start();
  const { answer, go } = gated('a');
  world.answer(answer);
  const first = await begin(world, { prompt: 'First' });
  const reader = eventsOf(world, first.run_id);
  await heard(reader, ({ type }) => type === 'text_delta');
  return { world, first: first.run_id, reader, go };
}

describe('on_busy reject', () => {
  it('is 409 session_busy with the live run’s id, and tells SDKs not to try again', async () => {
    const { world, first, go } = await busy();
    const refused = ask(world);
    expect(await refused.json()).toEqual({
      error: {
        message: expect.stringContaining('"s"'),
        type: 'session_busy',
        code: 'session_busy',
        run_id: first,
      },
    });
    expect(await refused.status()).toBe(409);
    expect(await refused.header('x-should-retry')).toBe('false');
    expect(await refused.header('x-run-id')).toBe(first);
    go();
    await ended(world, first);
    expect(await world.ask('/v1/runs').json()).toMatchObject({ data: [{ run_id: first }] });
  });

  it('is the default of a headless start and counts any live run, a chat’s too (decision 44)', async () => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer);
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await chat.until(({ text }) => text === 'a');
    expect(await refusal(ask(world))).toEqual([409, 'session_busy']);
    go();
    await chat.all();
    world.answer(says('b'));
    await ended(world, (await begin(world)).run_id);
  });

  it('does not touch another session', async () => {
    const { world, first, go } = await busy();
    world.answer(says('Other'));
    await ended(world, (await begin(world, { session_id: 't' })).run_id);
    go();
    await ended(world, first);
  });

  it('of many at once lets exactly one begin', async () => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer);
    const asked = Array.from({ length: 12 }, () => ask(world));
    const statuses = await Promise.all(asked.map((each) => each.status()));
    expect(statuses.filter((status) => status === 202)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(11);
    const winner = asked[statuses.indexOf(202)];
    go();
    await ended(world, String((await winner?.json())?.['run_id']));
  });
});

describe('on_busy enqueue', () => {
  it('answers 202 with state queued after the durable queued entry (decision 18)', async () => {
    const { world, first, go } = await busy();
    world.answer(says('Second.'));
    const second = await begin(world, { prompt: 'Second', on_busy: 'enqueue' });
    expect(second.state).toBe('queued');
    expect(await recordOf(world, second.run_id)).toMatchObject({
      state: 'queued',
      started_at: null,
      ended_at: null,
      first_seq: second.seq,
      deadlines: [],
      verbs: expect.arrayContaining(['attach', 'cancel']),
    });
    const entries = await world.journal('s');
    expect(entries[second.seq - 1]).toMatchObject({ type: 'queued', agent: 'agent' });
    expect(world.upstream.requests).toHaveLength(1);
    go();
    expect(await ended(world, second.run_id)).toMatchObject({ state: 'finished' });
    expect(await lifecycle(world, second.run_id)).toEqual(['queued', 'started', 'finished']);
    const { ended_at: endedAt } = await recordOf(world, first);
    const { started_at: startedAt } = await recordOf(world, second.run_id);
    expect(Number(startedAt)).toBeGreaterThanOrEqual(Number(endedAt));
  });

  it('goes on with what the run before it left', async () => {
    const { world, go } = await busy();
    world.answer(says('Second.'), says('Third.'));
    const second = await begin(world, { prompt: 'Second', on_busy: 'enqueue' });
    go();
    await ended(world, second.run_id);
    expect(await said(world, 1)).toEqual(['user: First', 'assistant: a!', 'user: Second']);
    await ended(world, (await begin(world, { prompt: 'Third' })).run_id);
    expect(await said(world, 2)).toEqual([
      'user: First',
      'assistant: a!',
      'user: Second',
      'assistant: Second.',
      'user: Third',
    ]);
  });

  it('begins in the order of the starts, one at a time', async () => {
    const { world, first, go } = await busy();
    const queued = [];
    for (const prompt of ['1', '2', '3']) {
      world.answer(says(prompt));
      queued.push((await begin(world, { prompt, on_busy: 'enqueue' })).run_id);
    }
    go();
    await Promise.all(queued.map((id) => ended(world, id)));
    const whole = await world.server.handle.journal.read('s', 1, 1_000);
    const order = whole.filter(({ type }) => type === 'started' || type === 'finished');
    expect(order.map(({ runId }) => runId)).toEqual([first, ...queued].flatMap((id) => [id, id]));
  });

  it('begins at once where nobody is at work', async () => {
    const world = await start();
    world.answer(says('a'));
    const { run_id: runId, state } = await begin(world, { on_busy: 'enqueue' });
    expect(state).toBe('running');
    expect(await lifecycle(world, runId)).toEqual(['started', 'finished']);
    await ended(world, runId);
  });

  it('that is cancelled while queued has no started, only its terminal (decision 42)', async () => {
    const { world, first, go } = await busy();
    const { run_id: second } = await begin(world, { on_busy: 'enqueue' });
    const third = await begin(world, { prompt: 'Third', on_busy: 'enqueue' });
    world.answer(says('c'));
    expect(await control(world, second, 'cancel').status()).toBeLessThan(300);
    expect(await ended(world, second)).toMatchObject({
      state: 'cancelled',
      started_at: null,
      end: { reason: 'external' },
    });
    expect(await story(world, second)).toMatchObject([{ type: 'queued' }, { type: 'cancelled' }]);
    expect(await recordOf(world, first)).toMatchObject({ state: 'running' });
    go();
    expect(await ended(world, third.run_id)).toMatchObject({ state: 'finished' });
    expect(await said(world, 1)).toEqual(['user: First', 'assistant: a!', 'user: Third']);
  });
});

describe('on_busy interrupt', () => {
  it('ends the old one superseded, and begins when that has ended', async () => {
    const { world, first } = await busy();
    world.answer(says('Second.'));
    const second = await begin(world, { prompt: 'Second', on_busy: 'interrupt' });
    expect(await ended(world, first)).toMatchObject({
      state: 'cancelled',
      end: { by: 'client', reason: 'superseded' },
    });
    expect(await ended(world, second.run_id)).toMatchObject({ state: 'finished' });
    const whole = await world.server.handle.journal.read('s', 1, 1_000);
    const order = whole.filter(({ type }) => ['started', 'cancelled', 'finished'].includes(type));
    expect(order.map(({ type }) => type)).toEqual(['started', 'cancelled', 'started', 'finished']);
  });

  it('keeps the interrupted turn in the transcript, marked (decision 44)', async () => {
    const { world, first } = await busy();
    world.answer(says('Second.'), says('Third.'));
    const second = await begin(world, { prompt: 'Second', on_busy: 'interrupt' });
    await ended(world, first);
    await ended(world, second.run_id);
    expect(await said(world, 1)).toEqual([
      'user: First',
      expect.stringMatching(/^assistant: a/),
      'user: Second',
    ]);
    await ended(world, (await begin(world, { prompt: 'Third' })).run_id);
    expect((await said(world, 2)).slice(-2)).toEqual(['assistant: Second.', 'user: Third']);
    const [session] = await kept(world);
    expect(JSON.parse(session?.transcript ?? '[]')[1]).toMatchObject({
      content: 'a',
      interrupted: true,
    });
  });

  it('displaces the waiting ones too', async () => {
    const { world, first } = await busy();
    const waits = await begin(world, { on_busy: 'enqueue' });
    world.answer(says('Last.'));
    const last = await begin(world, { prompt: 'Last', on_busy: 'interrupt' });
    for (const id of [first, waits.run_id]) {
      expect(await ended(world, id)).toMatchObject({ end: { reason: 'superseded' } });
    }
    expect(await ended(world, last.run_id)).toMatchObject({ state: 'finished' });
    expect(world.upstream.requests).toHaveLength(2);
  });

  it('of a chat tells its reader run_superseded', async () => {
    const world = await start();
    world.answer(STALLED, says('Second.'));
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await chat.until(({ text }) => text === 'Half');
    const second = await begin(world, { on_busy: 'interrupt' });
    await chat.all();
    expect(chat.error).toMatchObject({ code: 'run_superseded' });
    expect(await ended(world, second.run_id)).toMatchObject({ state: 'finished' });
  });
});

describe('on_busy parallel', () => {
  it('is the default of chats: they live beside each other, told apart by run_id (decision 24)', async () => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer, says('Title'));
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await chat.until(({ text }) => text === 'a');
    const title = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await title.all();
    expect(title.text).toBe('Title');
    go();
    await chat.all();
    expect(await chat.runId()).not.toBe(await title.runId());
    expect(await recordOf(world, await chat.runId())).toMatchObject({ state: 'finished' });
  });

  it('leaves the session’s conversation to the run that was there first, whichever ends last', async () => {
    for (const last of ['chat', 'title']) {
      const world = await start();
      const [own, beside] = [gated('a'), gated('Title')];
      world.answer(own.answer, beside.answer, says('Next.'));
      const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
      await chat.until(({ text }) => text === 'a');
      const messages = [{ role: 'user', content: 'Give it a title' }];
      const title = world.chat({ messages }, { 'X-Chat-Session-Id': 's' });
      await title.until(({ text }) => text === 'Title');
      const runs = [
        { exchange: chat, go: own.go },
        { exchange: title, go: beside.go },
      ];
      for (const { exchange, go } of last === 'title' ? runs : runs.toReversed()) {
        go();
        await exchange.all();
      }
      await ended(world, (await begin(world)).run_id);
      expect(await said(world, 2)).toEqual(['user: Hello', 'assistant: a!', 'user: Go']);
    }
  });

  it('may be asked for by a headless start', async () => {
    const { world, first, go } = await busy();
    world.answer(says('Beside.'));
    const beside = await begin(world, { on_busy: 'parallel' });
    expect(beside.state).toBe('running');
    expect(await ended(world, beside.run_id)).toMatchObject({ state: 'finished' });
    expect(await recordOf(world, first)).toMatchObject({ state: 'running' });
    go();
    await ended(world, first);
  });
});

describe('the defaults of on_busy', () => {
  it('are the configuration’s, per seam', async () => {
    const world = await start({ toml: '[runtime.on_busy]\nchat = "reject"\nheadless = "enqueue"' });
    const { answer, go } = gated('a');
    world.answer(answer, says('b'));
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await chat.until(({ text }) => text === 'a');
    const refused = world.chat({}, { 'X-Chat-Session-Id': 's' });
    expect(await refusal(refused)).toEqual([409, 'session_busy']);
    expect(await refused.header('x-should-retry')).toBe('false');
    const queued = await begin(world);
    expect(queued.state).toBe('queued');
    go();
    await chat.all();
    await ended(world, queued.run_id);
  });
});

/** What the store has of the world's sessions; the world's server is stopped for it. */
async function kept(world: SystemWorld) {
  world.server.shutdown('SIGTERM');
  await world.server.stopped;
  return await readSessions(world.dataDir);
}
