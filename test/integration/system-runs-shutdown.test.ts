import { describe, expect, it } from 'vitest';
import {
  ask,
  ASKS_FIRST,
  askedOf,
  begin,
  calls,
  callSteps,
  control,
  decide,
  ECHO,
  ended,
  eventsOf,
  gated,
  heard,
  lifecycle,
  recordOf,
  refusal,
  says,
  STALLED,
} from '../support/api-kit.ts';
import { open, sessionSource } from '../support/replay-kit.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/**
 * The way out with runs of every kind in flight: those under park are parked, the others end by the
 * shutdown, whoever reads is told, and the next process takes up what was parked.
 */

const start = systemWorlds();
const AT_ONCE: SystemOptions = { flags: { 'shutdown-timeout-secs': '0' }, drains: true };
const PARK = { liveness: { policy: 'park' } };
const CLEAN = { cleanShutdown: true, unabortedTasks: false, exitCode: 0 };
const RESUMES = '[runtime.park]\nresume_on_start = true\n';

async function stop(world: SystemWorld): Promise<void> {
  world.server.shutdown('SIGTERM');
  expect(await world.server.stopped).toEqual(CLEAN);
}

/** The next process on the same data. */
const next = (world: SystemWorld, options: SystemOptions = {}) =>
  start({ mcp: ['web'], ...options, dataDir: world.dataDir });

/** The run that goes on with a parked one, when it has asked the model. */
async function continuation(world: SystemWorld, runId: string): Promise<string> {
  await world.upstream.request(0);
  return String((await recordOf(world, runId)).continued_by);
}

/** A run whose model is at work, and calls a tool when `go` is called. */
async function working(world: SystemWorld, body: object = PARK) {
  const { answer, go } = gated('Let me see.', callSteps(ECHO));
  world.answer(answer);
  const { run_id: runId } = await begin(world, body);
  const reader = eventsOf(world, runId);
  await heard(reader, ({ type }) => type === 'text_delta');
  return { runId, reader, go };
}

/** The boundary is before the tool or behind it, by when the drain begins; it is called once. */
const calledIn = ({ web }: SystemWorld): number =>
  web.seen.filter(({ rpc }) => rpc === 'tools/call').length;

describe('at a shutdown a run', () => {
  it('under park goes to its next boundary and is parked there (decision 34)', async () => {
    const world = await start({ ...AT_ONCE, mcp: ['web'] });
    const { reader, go, runId } = await working(world);
    world.server.shutdown('SIGTERM');
    go();
    await reader.all();
    expect(reader.frames.at(-1)?.data).toContain('"type":"parked"');
    expect(reader.complete).toBe(true);
    expect(await world.server.stopped).toEqual(CLEAN);
    const again = await next(world);
    expect(await recordOf(again, runId)).toMatchObject({
      state: 'parked',
      end: { by: 'supervisor', reason: 'shutdown' },
      verbs: ['attach', 'cancel', 'resume'],
    });
    again.answer(says('Then.'));
    const resumed = String((await control(again, runId, 'resume').json())['run_id']);
    expect(await ended(again, resumed)).toMatchObject({ state: 'finished', continues: runId });
    expect(calledIn(world) + calledIn(again)).toBe(1);
  });

  it('under park that comes to no boundary in time is cancelled, with its reason (decision 34)', async () => {
    const world = await start({ ...AT_ONCE, mcp: ['web'] });
    world.answer(STALLED);
    const { run_id: runId } = await begin(world, PARK);
    const reader = eventsOf(world, runId);
    await heard(reader, ({ type }) => type === 'text_delta');
    world.server.shutdown('SIGTERM');
    await reader.all();
    expect(reader.frames.at(-1)?.data).toContain('"reason":"shutdown"');
    expect(await world.server.stopped).toEqual(CLEAN);
    expect(await recordOf(await next(world), runId)).toMatchObject({
      state: 'cancelled',
      end: { reason: 'shutdown' },
    });
  });

  it('under park that waits for a person is parked, stays decidable, and goes on when decided', async () => {
    const options = { mcp: ['web'] as const, toml: ASKS_FIRST };
    const world = await start({ ...AT_ONCE, ...options });
    world.answer(calls(ECHO));
    const { run_id: runId } = await begin(world, PARK);
    const id = await askedOf(eventsOf(world, runId));
    await stop(world);
    const again = await next(world, { ...options, toml: ASKS_FIRST + RESUMES });
    expect(await recordOf(again, runId)).toMatchObject({ state: 'parked', approvals: [id] });
    expect(await refusal(control(again, runId, 'resume'))).toEqual([409, 'approvals_undecided']);
    again.answer(says('Then.'));
    expect(await decide(again, id, { approved: true }).status()).toBe(204);
    const resumed = await continuation(again, runId);
    expect(await ended(again, resumed)).toMatchObject({ state: 'finished', continues: runId });
  });

  it.each(['continue', 'cancel'])('under %s is cancelled by the shutdown', async (policy) => {
    const world = await start({ ...AT_ONCE, mcp: ['web'] });
    const { runId, reader } = await working(world, { liveness: { policy } });
    world.server.shutdown('SIGTERM');
    await reader.all();
    expect(await world.server.stopped).toEqual(CLEAN);
    const again = await next(world);
    expect(await recordOf(again, runId)).toMatchObject({
      state: 'cancelled',
      end: { by: 'supervisor', reason: 'shutdown' },
    });
    expect(await lifecycle(again, runId)).not.toContain('observer_detached');
  });

  it.each([
    ['park', 'parked'],
    ['continue', 'cancelled'],
  ])('that waits for its turn under %s is %s, without having started', async (policy, state) => {
    const world = await start({ ...AT_ONCE, mcp: ['web'] });
    const first = await working(world, { liveness: { policy: 'continue' } });
    const body = { prompt: 'Second', on_busy: 'enqueue', liveness: { policy } };
    const second = await begin(world, body);
    await stop(world);
    const again = await next(world);
    expect(await recordOf(again, first.runId)).toMatchObject({ state: 'cancelled' });
    expect(await recordOf(again, second.run_id)).toMatchObject({
      state,
      started_at: null,
      end: { reason: 'shutdown' },
    });
    expect(await lifecycle(again, second.run_id)).toEqual(['queued', state]);
    if (state !== 'parked') return;
    again.answer(says('Now.'));
    const resumed = String((await control(again, second.run_id, 'resume').json())['run_id']);
    expect(await ended(again, resumed)).toMatchObject({ state: 'finished' });
    const { messages } = (await again.upstream.request(0)).body;
    expect(JSON.stringify(messages)).toContain('Let me see.');
    expect(JSON.stringify(messages)).toContain('Second');
  });

  it('with all the others, queued and parked, readers of runs and sessions, ends with 0', async () => {
    const options = { mcp: ['web'] as const, toml: ASKS_FIRST };
    const world = await start({ ...AT_ONCE, ...options });
    const streams = [];
    for (const [at, policy] of ['park', 'continue', 'cancel', 'park'].entries()) {
      world.answer(calls(ECHO));
      const session_id = `s${at}`;
      const { run_id: runId } = await begin(world, { session_id, liveness: { policy } });
      const reader = eventsOf(world, runId, at % 2 === 0 ? '?claim=true' : '');
      await askedOf(reader);
      await begin(world, { session_id, on_busy: 'enqueue', liveness: { policy } });
      streams.push(reader, open(world, sessionSource(session_id)));
    }
    const { data } = await world.ask('/v1/runs').json();
    expect(data).toHaveLength(8);
    await Promise.all(streams.map((each) => each.until(({ frames }) => frames.length > 0)));
    await stop(world);
    for (const each of streams) {
      await each.all();
      expect(each.complete).toBe(true);
    }
    const again = await next(world, options);
    const states = async (query: string) =>
      ((await again.ask(`/v1/runs?${query}`).json())['data'] as unknown[]).length;
    expect([await states('state=parked'), await states('state=cancelled')]).toEqual([4, 4]);
  });
});

describe('the next start', () => {
  it('resumes what the shutdown parked, with resume_on_start, and not what was parked by hand (decision 46)', async () => {
    const world = await start({ ...AT_ONCE, mcp: ['web'] });
    const byHand = await working(world);
    await control(world, byHand.runId, 'park').answered;
    byHand.go();
    await byHand.reader.all();
    const byShutdown = await working(world, { ...PARK, session_id: 't' });
    world.server.shutdown('SIGTERM');
    byShutdown.go();
    expect(await world.server.stopped).toEqual(CLEAN);

    const off = await next(world);
    const ids = [byHand.runId, byShutdown.runId];
    for (const id of ids) expect(await recordOf(off, id)).toMatchObject({ state: 'parked' });
    await stop(off);
    expect(off.upstream.requests).toEqual([]);

    const on = await next(world, { toml: RESUMES });
    on.respond = () => says('Then.');
    const resumed = await continuation(on, byShutdown.runId);
    expect(await ended(on, resumed)).toMatchObject({ state: 'finished', session_id: 't' });
    expect(await recordOf(on, byHand.runId)).toMatchObject({
      continued_by: null,
      verbs: ['attach', 'cancel', 'resume'],
    });
    await stop(on);
    expect(on.upstream.requests).toHaveLength(1);
  });

  it('resumes many, each of them once', async () => {
    const world = await start({ ...AT_ONCE, mcp: ['web'] });
    const runs = [];
    for (let n = 0; n < 10; n += 1) {
      runs.push(await working(world, { ...PARK, session_id: `s${n}` }));
    }
    world.server.shutdown('SIGTERM');
    for (const { go } of runs) go();
    expect(await world.server.stopped).toEqual(CLEAN);
    const again = await next(world, { toml: RESUMES });
    again.respond = () => says('Then.');
    await again.upstream.request(runs.length - 1);
    for (const { runId } of runs) {
      const { continued_by: resumed } = await recordOf(again, runId);
      expect(await ended(again, String(resumed))).toMatchObject({ state: 'finished' });
    }
    expect(calledIn(world) + calledIn(again)).toBe(10);
    expect(again.upstream.requests).toHaveLength(10);
  });
});

describe('while gated everything is 503 (decision 35)', () => {
  it('but decisions and cancels, which serve the runs in flight', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    world.answer(calls(ECHO));
    const asks = await begin(world);
    const reader = eventsOf(world, asks.run_id);
    const id = await askedOf(reader);
    world.answer(STALLED);
    const hangs = await begin(world, { session_id: 't' });
    const other = eventsOf(world, hangs.run_id);
    await heard(other, ({ type }) => type === 'text_delta');
    world.answer(says('Then.'));
    world.server.shutdown('SIGTERM');
    const refused = [
      ask(world, { session_id: 'u' }),
      world.ask('/v1/runs'),
      world.ask(`/v1/runs/${asks.run_id}`),
      eventsOf(world, asks.run_id),
      world.ask('/v1/sessions'),
      world.ask('/v1/approvals'),
      control(world, asks.run_id, 'park'),
      control(world, asks.run_id, 'resume'),
    ];
    for (const each of refused) {
      expect(await each.json()).toEqual({
        error: { message: 'Server is shutting down', type: 'service_unavailable' },
      });
      expect(await each.status()).toBe(503);
      expect(Number(await each.header('retry-after'))).toBeGreaterThan(0);
    }
    expect(await decide(world, id, { approved: true }).status()).toBe(204);
    const cancelled = world.ask(`/v1/runs/${hangs.run_id}/cancel?wait=true`, { method: 'POST' });
    expect(await cancelled.json()).toMatchObject({
      state: 'cancelled',
      end: { reason: 'external' },
    });
    await Promise.all([reader.all(), other.all()]);
    expect(reader.frames.at(-1)?.data).toContain('"type":"finished"');
    expect(await world.server.stopped).toEqual(CLEAN);
  });
});
