import { describe, expect, it } from 'vitest';
import type { Explanation, RunChart } from '../../src/handle.ts';
import {
  type Api,
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
  refusal,
  says,
  STALLED,
} from '../support/api-kit.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** `GET /v1/runs/{id}/explain` and `/chart`: why a run is where it is, now and at any of its entries. */

const start = systemWorlds();

const explained = async (api: Api, runId: string): Promise<Explanation> =>
  (await api.ask(`/v1/runs/${runId}/explain`).json()) as unknown as Explanation;

const charted = async (api: Api, runId: string, query = ''): Promise<RunChart> =>
  (await api.ask(`/v1/runs/${runId}/chart${query}`).json()) as unknown as RunChart;

async function finished(world: SystemWorld): Promise<string> {
  world.answer(says('a'));
  const { run_id: runId } = await begin(world);
  await ended(world, runId);
  return runId;
}

/** A run that waits for a person. */
async function waiting() {
  const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
  world.answer(calls(ECHO), says('Then.'));
  const { run_id: runId } = await begin(world);
  const id = await askedOf(eventsOf(world, runId));
  return { world, runId, id };
}

describe('GET /v1/runs/{id}/explain', () => {
  it('is the causal chain of a run that finished, as JSON and as prose', async () => {
    const world = await start();
    const runId = await finished(world);
    const why = await explained(world, runId);
    expect(why).toMatchObject({ run_id: runId, state: 'finished', blocked_by: [] });
    expect(why.prose.length).toBeGreaterThan(0);
    expect(why.chain.length).toBeGreaterThan(0);
    const plain = world.ask(`/v1/runs/${runId}/explain`, { headers: { Accept: 'text/plain' } });
    await plain.all();
    expect(await plain.header('content-type')).toContain('text/plain');
    const lines = [`Run ${runId} is finished.`, ...why.prose];
    expect(plain.body).toBe(`${lines.join('\n')}\n`);
  });

  it('names the entries that led to a cancel, in order', async () => {
    const world = await start();
    world.answer(STALLED);
    const { run_id: runId } = await begin(world);
    await heard(eventsOf(world, runId), ({ type }) => type === 'text_delta');
    await control(world, runId, 'cancel').answered;
    const record = await ended(world, runId);
    const why = await explained(world, runId);
    expect(why.state).toBe('cancelled');
    const seqs = why.chain.flatMap(({ seq }) => seq ?? []);
    expect(seqs).toEqual(expect.arrayContaining([...(record.end?.evidence ?? [])]));
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  });

  it('says what a live run waits for, and that it does no more once it has come', async () => {
    const { world, runId, id } = await waiting();
    const why = await explained(world, runId);
    expect(why.state).toBe('waiting');
    expect(JSON.stringify(why)).toContain('echo');
    await decide(world, id, { approved: true }).answered;
    await ended(world, runId);
    expect((await explained(world, runId)).state).toBe('finished');
  });

  it('is known of a parked run, and from the next process too', async () => {
    const { world, runId } = await waiting();
    await control(world, runId, 'park').answered;
    await ended(world, runId);
    const why = await explained(world, runId);
    expect(why.state).toBe('parked');
    world.server.shutdown('SIGTERM');
    await world.server.stopped;
    const next = await start({ mcp: ['web'], toml: ASKS_FIRST, dataDir: world.dataDir });
    expect(await explained(next, runId)).toEqual(why);
  });

  it('is 406 for what it cannot be given as', async () => {
    const world = await start();
    const runId = await finished(world);
    const asked = world.ask(`/v1/runs/${runId}/explain`, { headers: { Accept: 'image/png' } });
    expect(await refusal(asked)).toEqual([406, 'not_acceptable', 'Accept']);
  });
});

describe('GET /v1/runs/{id}/chart', () => {
  it('has the active states as JSON, now and at each entry', async () => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer);
    const { run_id: runId } = await begin(world);
    await heard(eventsOf(world, runId), ({ type }) => type === 'text_delta');
    const live = await charted(world, runId);
    expect(live).toMatchObject({ run_id: runId, seq: null });
    expect(JSON.stringify(live.states['run'])).toContain('turning');
    go();
    const { first_seq: first, last_seq: last } = await ended(world, runId);
    for (let seq = first; seq <= last; seq += 1) {
      const then = await charted(world, runId, `?at=${seq}`);
      expect(then).toMatchObject({ run_id: runId, seq });
      expect(then.states['run']?.length).toBeGreaterThan(0);
    }
    expect(JSON.stringify((await charted(world, runId)).states['run'])).not.toContain('turning');
  });

  it('is a picture for Accept: image/svg+xml, which may run no script', async () => {
    const world = await start();
    const runId = await finished(world);
    const picture = world.ask(`/v1/runs/${runId}/chart`, { headers: { Accept: 'image/svg+xml' } });
    await picture.all();
    expect(await picture.header('content-type')).toContain('image/svg+xml');
    expect(await picture.header('content-security-policy')).toContain("default-src 'none'");
    expect(picture.body).toMatch(/<svg[\s\S]*<\/svg>/);
  });

  it.each(['0', '99', 'x'])('refuses at=%s and names the parameter', async (at) => {
    const world = await start();
    const runId = await finished(world);
    const asked = world.ask(`/v1/runs/${runId}/chart?at=${at}`);
    expect(await refusal(asked)).toEqual([400, 'invalid_request_error', 'at']);
  });
});

describe('a run that is stopping its tools', () => {
  it('is explained at every moment of it, without an error', async () => {
    const world = await start({ mcp: ['web'] });
    const { answer, go } = gated('Let me see.', callSteps(ECHO));
    world.answer(answer);
    const { run_id: runId } = await begin(world);
    const reader = eventsOf(world, runId);
    await heard(reader, ({ type }) => type === 'text_delta');
    go();
    await control(world, runId, 'cancel').answered;
    const asked = Array.from({ length: 10 }, () => [
      world.ask(`/v1/runs/${runId}/explain`),
      world.ask(`/v1/runs/${runId}/chart`),
    ]);
    for (const each of asked.flat()) expect(await each.status()).toBe(200);
    await reader.all();
  });
});
