import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import {
  ASKS_FIRST,
  askedOf,
  begin,
  calls,
  control,
  decide,
  ECHO,
  ended,
  eventsOf,
  heard,
  pagesOf,
  post,
  recordOf,
  refusal,
  says,
  story,
  WAITS,
} from '../support/api-kit.ts';
import { running } from '../support/api-runs.ts';
import { systemWorlds } from '../support/system-world.ts';

/** The rows of the endpoint table that read a run, list runs and stop one. */

const start = systemWorlds();
const NOBODY = '01890000-0000-7000-8000-000000000000';
const idsIn = (page: Record<string, unknown>) =>
  (page['data'] as { run_id: string }[]).map(({ run_id: id }) => id);

/** A world with a run that is in mid-text. */
async function begun() {
  const world = await start();
  return { world, ...(await running(world)) };
}

describe('GET /v1/runs', () => {
  it('is a page of run records, newest first, with the cursor of the next one', async () => {
    const world = await start();
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      world.answer(says('a'));
      made.unshift((await begin(world)).run_id);
      await ended(world, made[0] ?? '');
    }
    const seen = await pagesOf<{ run_id: string }>(world, '/v1/runs', 2);
    expect(seen.map(({ run_id: id }) => id)).toEqual(made);
    const [first] = (await world.ask('/v1/runs').json())['data'] as object[];
    expect(first).toEqual(await recordOf(world, made[0] ?? ''));
  });

  it('is filtered by state, session_id and agent', async () => {
    const { world, runId, go } = await begun();
    world.answer(says('b'));
    const { run_id: other } = await begin(world, { session_id: 't' });
    await ended(world, other);
    const listed = async (query: string) => idsIn(await world.ask(`/v1/runs${query}`).json());
    expect(await listed('')).toEqual([other, runId]);
    expect(await listed('?state=running')).toEqual([runId]);
    expect(await listed('?state=finished')).toEqual([other]);
    expect(await listed('?state=parked')).toEqual([]);
    expect(await listed('?session_id=t')).toEqual([other]);
    expect(await listed('?session_id=nobody')).toEqual([]);
    expect(await listed('?agent=agent&state=running&session_id=s')).toEqual([runId]);
    expect(await listed('?agent=other')).toEqual([]);
    go();
    await ended(world, runId);
    expect(await listed('?state=running')).toEqual([]);
  });

  it.each([
    ['?state=done', 'state'],
    ['?limit=0', 'limit'],
    ['?limit=201', 'limit'],
    ['?limit=x', 'limit'],
    ['?session_id=', 'session_id'],
    ['?after=a&after=b', 'after'],
  ])('refuses %s and names the parameter', async (query, param) => {
    const world = await start();
    const answer = world.ask(`/v1/runs${query}`);
    expect(await refusal(answer)).toEqual([400, 'invalid_request_error', param]);
  });
});

describe('GET /v1/runs/{id}', () => {
  it('has every key of the record, of a live run and of an ended one (decision 23)', async () => {
    const keys = `run_id session_id agent state liveness created_at started_at ended_at claims
      observers deadlines obligations approvals usage first_seq last_seq continues continued_by end
      verbs`.split(/\s+/);
    const { world, runId, go } = await begun();
    const live = await recordOf(world, runId);
    expect(Object.keys(live).toSorted()).toEqual(keys.toSorted());
    expect(live).toMatchObject({
      run_id: runId,
      session_id: 's',
      agent: 'agent',
      state: 'running',
      liveness: { policy: 'continue', grace_ms: 0 },
      created_at: expect.any(Number),
      started_at: expect.any(Number),
      ended_at: null,
      claims: [],
      observers: 1,
      obligations: [],
      approvals: [],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      first_seq: 1,
      continues: null,
      continued_by: null,
      end: null,
      verbs: expect.arrayContaining(['attach', 'cancel', 'park']),
    });
    const total = live.deadlines.find(({ which }) => which === 'total');
    expect(total).toEqual({
      which: 'total',
      at: expect.any(Number),
      remaining_ms: expect.any(Number),
      suspended: false,
    });
    expect(total?.remaining_ms).toBeLessThanOrEqual(900_000);
    go();
    const after = await ended(world, runId);
    expect(Object.keys(after).toSorted()).toEqual(keys.toSorted());
    expect(after).toMatchObject({
      state: 'finished',
      claims: [],
      observers: 0,
      deadlines: [],
      end: { by: 'agent', reason: null, which: null, error: null, evidence: [] },
      verbs: ['attach'],
    });
    expect(after.last_seq).toBe((await story(world, runId)).length);
  });

  it('shows a run that waits for a person, with the clock of its step suspended', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    world.answer(calls(ECHO), says('Then.'));
    const { run_id: runId } = await begin(world);
    const id = await askedOf(eventsOf(world, runId));
    const record = await recordOf(world, runId);
    expect(record).toMatchObject({ state: 'waiting', approvals: [id] });
    const step = record.deadlines.find(({ which }) => which === 'step');
    expect(step).toMatchObject({ at: null, suspended: true });
    await decide(world, id, { approved: true }).answered;
    expect(await ended(world, runId)).toMatchObject({ state: 'finished', approvals: [] });
  });

  it('shows usage as billed, cumulative over the turns', async () => {
    const world = await start({ mcp: ['web'] });
    const used = (prompt: number, completion: number) => ({
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
    });
    world.answer(
      { steps: reply({ toolCalls: [ECHO], usage: used(10, 3) }) },
      { steps: reply({ text: ['x'], usage: used(20, 5) }) },
    );
    const { run_id: runId } = await begin(world);
    expect((await ended(world, runId)).usage).toEqual(used(30, 8));
    expect((await story(world, runId)).at(-1)).toMatchObject({ type: 'finished', ...used(30, 8) });
    expect(await world.event('s', 'usage')).toMatchObject(used(20, 8));
  });

  it('is 404 for an id nobody knows, on every verb', async () => {
    const world = await start();
    const paths = ['', '/events', '/explain', '/chart'];
    for (const path of paths) {
      expect(await refusal(world.ask(`/v1/runs/${NOBODY}${path}`))).toEqual([404, 'not_found']);
    }
    for (const verb of ['cancel', 'park', 'resume'] as const) {
      expect(await refusal(control(world, NOBODY, verb))).toEqual([404, 'not_found']);
    }
  });
});

describe('POST /v1/runs/{id}/cancel', () => {
  it('is 202 with the run record, stopping, and the terminal follows', async () => {
    const { world, runId } = await deafRun();
    const asked = control(world, runId, 'cancel');
    expect(await asked.json()).toMatchObject({ run_id: runId, state: 'stopping' });
    expect(await asked.status()).toBe(202);
    expect(await ended(world, runId)).toMatchObject({
      state: 'cancelled',
      end: { by: 'operator', reason: 'external' },
    });
  });

  it('is 200 at the terminal event with wait=true, and keeps the message', async () => {
    const { world, runId } = await begun();
    const asked = post(world, `/v1/runs/${runId}/cancel?wait=true`, { message: 'Enough.' });
    expect(await asked.json()).toMatchObject({ run_id: runId, state: 'cancelled' });
    expect(await asked.status()).toBe(200);
    expect((await story(world, runId)).at(-1)).toMatchObject({
      type: 'cancelled',
      reason: 'external',
      message: 'Enough.',
    });
  });

  it('is 200 and unchanged when the run is already terminal', async () => {
    const { world, runId, go } = await begun();
    go();
    const before = await ended(world, runId);
    const entries = (await world.journal('s')).length;
    const late = control(world, runId, 'cancel');
    expect(await late.json()).toEqual(before);
    expect(await late.status()).toBe(200);
    const waits = post(world, `/v1/runs/${runId}/cancel?wait=true`);
    expect([await waits.json(), await waits.status()]).toEqual([before, 200]);
    expect(await world.journal('s')).toHaveLength(entries);
  });

  it('of many at once ends the run once', async () => {
    const { world, runId } = await begun();
    const path = `/v1/runs/${runId}/cancel?wait=true`;
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(world, path).json()));
    for (const answer of answers) expect(answer).toMatchObject({ state: 'cancelled' });
    const types = (await story(world, runId)).map(({ type }) => type);
    expect(types.filter((type) => type === 'cancelled')).toHaveLength(1);
  });

  it('needs no content type without a body, and JSON with one (decision 39)', async () => {
    const { world, runId } = await begun();
    const typed = post(world, `/v1/runs/${runId}/cancel`, {}, { 'Content-Type': 'text/plain' });
    expect(await typed.status()).toBe(415);
    expect(await recordOf(world, runId)).toMatchObject({ state: 'running' });
    expect(await control(world, runId, 'cancel').status()).toBeLessThan(300);
    await ended(world, runId);
  });
});

describe('a method that a path does not have', () => {
  it('is 405 with Allow', async () => {
    const world = await start();
    const answer = world.ask('/v1/runs', { method: 'DELETE' });
    expect(await refusal(answer)).toEqual([405, 'method_not_allowed']);
    expect(await answer.header('allow')).toContain('POST');
  });
});

/** A run whose tool goes on for the moment that a client may look at it stopping. */
async function deafRun() {
  const world = await start({ mcp: ['web'] });
  world.answer(calls(WAITS));
  const { run_id: runId } = await begin(world);
  await heard(eventsOf(world, runId), ({ type }) => type === 'tool_progress');
  return { world, runId };
}
