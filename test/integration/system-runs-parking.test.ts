import { describe, expect, it } from 'vitest';
import {
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
  recordOf,
  refusal,
  says,
  story,
} from '../support/api-kit.ts';
import { asking, parkedByHand, resumed, running } from '../support/api-runs.ts';
import { type SystemOptions, systemWorlds } from '../support/system-world.ts';

/** The rows of the endpoint table that park a run and go on with it. */

const start = systemWorlds();
const WEB: SystemOptions = { mcp: ['web'] };

describe('POST /v1/runs/{id}/park', () => {
  it('is 202, and the run is parked at its next checkpoint', async () => {
    const world = await start(WEB);
    const { runId, go } = await running(world, { rest: callSteps(ECHO) });
    const asked = control(world, runId, 'park');
    expect(await asked.status()).toBe(202);
    expect((await asked.json())['verbs']).toEqual(['attach', 'cancel']);
    go();
    expect(await ended(world, runId)).toMatchObject({
      state: 'parked',
      end: { by: 'operator', reason: 'external' },
      verbs: ['attach', 'cancel', 'resume'],
    });
    expect(world.web.seen.filter(({ rpc }) => rpc === 'tools/call')).toEqual([]);
    const again = control(world, runId, 'park');
    expect([(await again.json())['state'], await again.status()]).toEqual(['parked', 200]);
  });

  it('of a run that waits for its session parks it unstarted, and a resume runs it', async () => {
    const world = await start();
    const { runId, go } = await running(world);
    const second = await begin(world, { prompt: 'Second', on_busy: 'enqueue' });
    await control(world, second.run_id, 'park').answered;
    expect(await ended(world, second.run_id)).toMatchObject({ state: 'parked', started_at: null });
    go();
    await ended(world, runId);
    world.answer(says('Then.'));
    expect(await ended(world, await resumed(world, second.run_id))).toMatchObject({
      state: 'finished',
      continues: second.run_id,
    });
    const { messages } = (await world.upstream.request(1)).body;
    expect((messages as { content: string }[]).map(({ content }) => content)).toEqual([
      'Be brief.',
      'Go',
      'a!',
      'Second',
    ]);
  });

  it('that has been asked for gives way to a cancel', async () => {
    const world = await start();
    const { runId } = await running(world);
    await control(world, runId, 'park').answered;
    await control(world, runId, 'cancel').answered;
    expect(await ended(world, runId)).toMatchObject({
      state: 'cancelled',
      end: { reason: 'external' },
    });
  });

  it('is given up by a cancel: nobody can decide or resume it any more', async () => {
    const world = await start({ ...WEB, toml: ASKS_FIRST });
    const { runId, id } = await asking(world);
    await control(world, runId, 'park').answered;
    const before = await ended(world, runId);
    const late = control(world, runId, 'cancel');
    const after = { ...before, approvals: [], verbs: ['attach'] };
    expect([await late.json(), await late.status()]).toEqual([after, 200]);
    expect(await refusal(control(world, runId, 'resume'))).toEqual([409, 'not_parked']);
    expect(await refusal(decide(world, id, { approved: true }))).toEqual([404, 'not_found']);
    const inbox = await world.ask('/v1/approvals?state=pending').json();
    expect(inbox).toMatchObject({ data: [] });
    expect(await world.ask('/v1/sessions/s').json()).toMatchObject({ state: 'idle' });
    expect(await recordOf(world, runId)).toEqual(after);
  });

  it('is 409 for a run that has ended', async () => {
    const world = await start();
    const { runId, go } = await running(world);
    go();
    await ended(world, runId);
    const late = control(world, runId, 'park');
    expect(await refusal(late)).toEqual([409, 'run_ended']);
    expect(await late.header('x-should-retry')).toBe('false');
  });
});

describe('POST /v1/runs/{id}/resume', () => {
  it('is 202 with the new run that continues the old, and the tool is executed once', async () => {
    const world = await start(WEB);
    const runId = await parkedByHand(world);
    world.answer(says('Then so.'));
    const resume = control(world, runId, 'resume');
    const answer = await resume.json();
    expect(await resume.status()).toBe(202);
    expect(answer).toMatchObject({ continues: runId, session_id: 's', run_id: expect.any(String) });
    const next = String(answer['run_id']);
    expect(next).not.toBe(runId);
    expect(await ended(world, next)).toMatchObject({ state: 'finished', continues: runId });
    expect(await recordOf(world, runId)).toMatchObject({
      state: 'parked',
      continued_by: next,
      verbs: ['attach'],
    });
    expect((await story(world, next))[0]).toMatchObject({ type: 'started', continues: runId });
    expect(world.web.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(1);
    const { messages } = (await world.upstream.request(1)).body;
    expect((messages as object[]).at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'call_1',
      content: 'x',
    });
  });

  it('has at most one winner of many that ask at once', async () => {
    const world = await start(WEB);
    const runId = await parkedByHand(world);
    world.answer(says('Then so.'));
    const asked = Array.from({ length: 10 }, () => control(world, runId, 'resume'));
    const answers = await Promise.all(asked.map(refusal));
    expect(answers.filter(([status]) => status === 202)).toHaveLength(1);
    const lost = answers.filter(([status]) => status !== 202);
    expect(lost).toEqual(Array.from({ length: 9 }, () => [409, 'already_resumed']));
    const { continued_by: next } = await recordOf(world, runId);
    await ended(world, String(next));
    expect(await refusal(control(world, runId, 'resume'))).toEqual([409, 'already_resumed']);
  });

  it('is 409 when the run is not parked', async () => {
    const world = await start();
    const { runId, go } = await running(world);
    expect(await refusal(control(world, runId, 'resume'))).toEqual([409, 'not_parked']);
    go();
    await ended(world, runId);
    expect(await refusal(control(world, runId, 'resume'))).toEqual([409, 'not_parked']);
  });

  it('is 409 while its approvals are undecided, and a run parked by hand waits for it (decision 46)', async () => {
    const world = await start({ ...WEB, toml: ASKS_FIRST });
    world.answer(calls(ECHO), says('Then so.'));
    const { run_id: runId } = await begin(world);
    const id = await askedOf(eventsOf(world, runId));
    expect(await control(world, runId, 'park').status()).toBeLessThan(300);
    expect(await ended(world, runId)).toMatchObject({
      state: 'parked',
      approvals: [id],
      verbs: ['attach', 'cancel'],
    });
    expect(await refusal(control(world, runId, 'resume'))).toEqual([409, 'approvals_undecided']);
    expect(await decide(world, id, { approved: true }).status()).toBe(204);
    expect(await recordOf(world, runId)).toMatchObject({
      continued_by: null,
      verbs: ['attach', 'cancel', 'resume'],
    });
    const next = await resumed(world, runId);
    expect(await ended(world, next)).toMatchObject({ state: 'finished' });
    expect(await recordOf(world, runId)).toMatchObject({ continued_by: next });
  });

  it('is 409 session_busy while another run of the session is at work', async () => {
    const world = await start(WEB);
    const runId = await parkedByHand(world);
    const { answer, go } = gated('b');
    world.answer(answer);
    const other = await begin(world);
    expect(await refusal(control(world, runId, 'resume'))).toEqual([409, 'session_busy']);
    go();
    await ended(world, other.run_id);
    world.answer(says('Then so.'));
    await ended(world, await resumed(world, runId));
  });
});
