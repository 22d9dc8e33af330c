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
  eventsOf,
  gated,
  recordOf,
  refusal,
  says,
} from '../support/api-kit.ts';
import { asking } from '../support/api-runs.ts';
import { systemWorlds } from '../support/system-world.ts';

/** The rows of the endpoint table that are about the inbox. */

const start = systemWorlds();
const NOBODY = '01890000-0000-7000-8000-000000000000';

describe('GET /v1/approvals', () => {
  it('is the inbox: what is asked, by whom, until when, newest first', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    const [one, two, three] = [
      await asking(world, { session_id: 'a' }),
      await asking(world, { session_id: 'b' }),
      await asking(world, { session_id: 'c' }),
    ];
    const inbox = await world.ask('/v1/approvals?state=pending').json();
    expect(inbox).toMatchObject({
      object: 'list',
      next: null,
      data: [three, two, one].map(({ runId, id }) => ({
        decision_id: id,
        run_id: runId,
        agent: 'agent',
        tool_name: 'echo',
        tool_call_id: 'call_1',
        arguments: { said: 'x' },
        arguments_digest: expect.stringMatching(/^sha256:[\da-f]{64}$/),
        origin: { kind: 'config_gate', matched_pattern: 'echo' },
        state: 'pending',
        parked: false,
      })),
    });
    const page = await world.ask('/v1/approvals?limit=2').json();
    expect((page['data'] as unknown[]).length).toBe(2);
    const rest = await world.ask(`/v1/approvals?limit=2&after=${String(page['next'])}`).json();
    expect(rest).toMatchObject({ data: [{ decision_id: one.id }], next: null });
    for (const { runId } of [one, two, three]) {
      await control(world, runId, 'cancel').answered;
      await ended(world, runId);
    }
    expect(await world.ask('/v1/approvals?state=pending').json()).toMatchObject({ data: [] });
  });

  it('shows the ones of parked runs beside those of live ones', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    const parks = await asking(world, { session_id: 'a' });
    const lives = await asking(world, { session_id: 'b' });
    await control(world, parks.runId, 'park').answered;
    await ended(world, parks.runId);
    const { data } = await world.ask('/v1/approvals?state=pending').json();
    expect(data).toMatchObject([
      { decision_id: lives.id, parked: false, session_id: 'b' },
      { decision_id: parks.id, parked: true, session_id: 'a', arguments: { said: 'x' } },
    ]);
    await control(world, lives.runId, 'cancel').answered;
    await ended(world, lives.runId);
  });

  it('refuses a state nobody knows and names the parameter', async () => {
    const world = await start();
    const answer = world.ask('/v1/approvals?state=x');
    expect(await refusal(answer)).toEqual([400, 'invalid_request_error', 'state']);
  });
});

describe('POST /v1/approvals/{decision_id}', () => {
  it('is 204 for the winner and for the same again, whatever the reason, and 404 for the opposite (decisions 26, 45)', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    const { runId, id } = await asking(world, { session_id: 's' });
    world.answer(says('Then.'));
    expect(await decide(world, id, { approved: true, reason: 'fine' }).status()).toBe(204);
    await ended(world, runId);
    expect(await decide(world, id, { approved: true, reason: 'other' }).status()).toBe(204);
    expect(await refusal(decide(world, id, { approved: false }))).toEqual([404, 'not_found']);
  });

  it('is the same for a parked run, which many decide at once and goes on once', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    world.answer(calls(ECHO), says('Then.'));
    const chat = { liveness: { policy: 'park' } };
    const { run_id: runId } = await begin(world, chat);
    const holder = eventsOf(world, runId, '?claim=true');
    const id = await askedOf(holder);
    await holder.leave();
    expect(await ended(world, runId)).toMatchObject({ state: 'parked' });
    const decisions = [true, false, true, false, true, false];
    const statuses = await Promise.all(
      decisions.map((approved) => decide(world, id, { approved }).status()),
    );
    const won = decisions.filter((_, at) => statuses[at] === 204);
    expect(new Set(won).size).toBe(1);
    expect(statuses.filter((status) => status === 404)).toHaveLength(6 - won.length);
    await world.upstream.request(1);
    const { continued_by: next } = await recordOf(world, runId);
    expect(await ended(world, String(next))).toMatchObject({ state: 'finished' });
    const called = world.web.seen.filter(({ rpc }) => rpc === 'tools/call').length;
    expect(called).toBe(won[0] === true ? 1 : 0);
    expect(await decide(world, id, { approved: won[0] === true }).status()).toBe(204);
    expect(await decide(world, id, { approved: won[0] !== true }).status()).toBe(404);
    expect(world.upstream.requests).toHaveLength(2);
  });

  it('is taken at whichever moment of a park it comes', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    for (let n = 0; n < 12; n += 1) {
      const asked = world.upstream.requests.length;
      world.answer(calls(ECHO), says('Then.'));
      const body = { session_id: `s${n}`, liveness: { policy: 'park' } };
      const { run_id: runId } = await begin(world, body);
      const holder = eventsOf(world, runId, '?claim=true');
      const id = await askedOf(holder);
      // The claim goes and the decision comes, in either order and as close as a socket lets them.
      const leaving = n % 2 === 0 ? holder.leave() : undefined;
      const decided = decide(world, id, { approved: true });
      await Promise.all([leaving ?? holder.leave(), decided.answered]);
      expect(await decided.status()).toBe(204);
      await world.upstream.request(asked + 1);
      const first = await ended(world, runId);
      const last = first.continued_by === null ? first : await ended(world, first.continued_by);
      expect(last).toMatchObject({ state: 'finished' });
    }
    expect(world.web.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(12);
  });

  it('is 404 at once for what is decided otherwise while its run goes on', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    const { runId, id } = await asking(world, { session_id: 's' });
    const { answer, go } = gated('Then');
    world.answer(answer);
    expect(await decide(world, id, { approved: true }).status()).toBe(204);
    expect(await refusal(decide(world, id, { approved: false }))).toEqual([404, 'not_found']);
    go();
    await ended(world, runId);
  });

  it('is 404 for one that is unknown or expired', async () => {
    const toml = ASKS_FIRST.replace('"conversational" }', '"conversational", timeout_secs = 0.3 }');
    const world = await start({ mcp: ['web'], toml });
    const { runId, id } = await asking(world, { session_id: 's' });
    world.answer(says('Then not.'));
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
    expect(await refusal(decide(world, id, { approved: true }))).toEqual([404, 'not_found']);
    expect(await refusal(decide(world, NOBODY, { approved: true }))).toEqual([404, 'not_found']);
  });
});
