import { describe, expect, it } from 'vitest';
import {
  ASKS_FIRST,
  askedOf,
  begin,
  calls,
  control,
  decide,
  ECHO,
  ended,
  envelopes,
  eventsOf,
  gated,
  heard,
  pagesOf,
  recordOf,
  refusal,
  says,
} from '../support/api-kit.ts';
import { idsOf, open, sessionSource, wholeFrames } from '../support/replay-kit.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** The rows of the endpoint table that are about sessions. */

const start = systemWorlds();

async function ran(world: SystemWorld, sessionId: string): Promise<string> {
  world.answer(says('a'));
  const { run_id: runId } = await begin(world, { session_id: sessionId });
  await ended(world, runId);
  return runId;
}

const sessionOf = (world: SystemWorld, id: string) =>
  world.ask(`/v1/sessions/${encodeURIComponent(id)}`);

describe('GET /v1/sessions', () => {
  it('is a page of session records, the one with the newest run first, with a cursor', async () => {
    const world = await start();
    for (const id of ['a', 'b', 'c', 'd', 'b']) await ran(world, id);
    const seen = await pagesOf<{ session_id: string }>(world, '/v1/sessions', 2);
    expect(seen.map(({ session_id: id }) => id)).toEqual(['b', 'd', 'c', 'a']);
  });

  it.each([
    ['?limit=0', 'limit'],
    ['?limit=x', 'limit'],
    ['?after=', 'after'],
  ])('refuses %s and names the parameter', async (query, param) => {
    const world = await start();
    const answer = world.ask(`/v1/sessions${query}`);
    expect(await refusal(answer)).toEqual([400, 'invalid_request_error', param]);
  });
});

describe('GET /v1/sessions/{id}', () => {
  it('is the session’s record: what lives in it, its last run, and how far it is numbered', async () => {
    const world = await start();
    const first = await ran(world, 's');
    const rest = await sessionOf(world, 's').json();
    expect(rest).toEqual({
      session_id: 's',
      created_at: expect.any(Number),
      runs: 1,
      live: [],
      last_run: first,
      state: 'idle',
      last_seq: (await recordOf(world, first)).last_seq,
    });
    const { answer, go } = gated('a');
    world.answer(answer, says('b'));
    const second = await begin(world);
    const third = await begin(world, { on_busy: 'enqueue' });
    expect(await sessionOf(world, 's').json()).toMatchObject({
      runs: 3,
      live: [second.run_id, third.run_id],
      last_run: third.run_id,
      state: 'running',
    });
    go();
    await ended(world, third.run_id);
    expect(await sessionOf(world, 's').json()).toMatchObject({ live: [], state: 'idle' });
  });

  it('says parked while its last run waits to be resumed', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    world.answer(calls(ECHO), says('Then.'));
    const { run_id: runId } = await begin(world);
    const id = await askedOf(eventsOf(world, runId));
    await control(world, runId, 'park').answered;
    await ended(world, runId);
    expect(await sessionOf(world, 's').json()).toMatchObject({ state: 'parked', live: [] });
    await decide(world, id, { approved: false }).answered;
    const next = String((await control(world, runId, 'resume').json())['run_id']);
    await ended(world, next);
    expect(await sessionOf(world, 's').json()).toMatchObject({ state: 'idle', last_run: next });
  });

  it('takes any id that a chat may have, outside ASCII too', async () => {
    const world = await start();
    for (const id of ['Gespräch 😀', 'a/b', '%41', 'a?b#c']) {
      const runId = await ran(world, id);
      expect(await sessionOf(world, id).json()).toMatchObject({ session_id: id, last_run: runId });
      const query = `?session_id=${encodeURIComponent(id)}`;
      expect(await world.ask(`/v1/runs${query}`).json()).toMatchObject({
        data: [{ run_id: runId }],
      });
      const source = sessionSource(encodeURIComponent(id));
      const reader = open(world, source);
      await heard(reader, ({ type }) => type === 'finished');
      expect(envelopes(reader)[0]?.session_id).toBe(id);
      await reader.leave();
    }
  });

  it('is 404 for a session nobody knows, with its events', async () => {
    const world = await start();
    expect(await refusal(sessionOf(world, 'x'))).toEqual([404, 'not_found']);
    expect(await refusal(open(world, sessionSource('x')))).toEqual([404, 'not_found']);
  });
});

describe('GET /v1/sessions/{id}/events', () => {
  it('stays open, and goes on with each run that comes', async () => {
    const world = await start();
    const first = await ran(world, 's');
    const reader = open(world, sessionSource('s'));
    await heard(reader, ({ type }) => type === 'finished');
    const second = await ran(world, 's');
    await reader.until(({ body }) => body.split('"type":"finished"').length === 3);
    const runs = envelopes(reader).map(({ run_id: id }) => id);
    expect(new Set(runs)).toEqual(new Set([first, second]));
    const ids = idsOf(wholeFrames(reader.body));
    expect(ids).toEqual(ids.map((_, at) => at + 1));
    await reader.leave();
  });

  it('never claims a run', async () => {
    const world = await start();
    await ran(world, 's');
    const claim = open(world, sessionSource('s', 'claim=true'));
    expect(await refusal(claim)).toEqual([400, 'invalid_request_error', 'claim']);
    const { answer, go } = gated('a');
    world.answer(answer);
    const { run_id: runId } = await begin(world, { liveness: { policy: 'cancel' } });
    const reader = open(world, sessionSource('s'));
    await heard(reader, (event) => event.type === 'text_delta' && event.text === 'a');
    expect(await recordOf(world, runId)).toMatchObject({ claims: [], observers: 0 });
    await reader.leave();
    go();
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
  });

  it('shows the lifecycle alone with kind=lifecycle', async () => {
    const world = await start();
    await ran(world, 's');
    const reader = open(world, sessionSource('s', 'kind=lifecycle'));
    await heard(reader, ({ type }) => type === 'finished');
    expect(envelopes(reader).map(({ payload }) => payload.event.type)).toEqual([
      'started',
      'finished',
    ]);
    await reader.leave();
  });

  it('ends when the server shuts down, and holds nobody up', async () => {
    const world = await start();
    await ran(world, 's');
    const readers = [1, 2, 3].map(() => open(world, sessionSource('s')));
    for (const each of readers) await heard(each, ({ type }) => type === 'finished');
    world.server.shutdown('SIGTERM');
    for (const each of readers) {
      await each.all();
      expect(each.complete).toBe(true);
    }
    expect(await world.server.stopped).toMatchObject({ exitCode: 0, cleanShutdown: true });
  });
});
