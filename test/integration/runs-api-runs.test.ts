import { describe, expect, it } from 'vitest';
import { PolicyUnsupportedError } from '../../src/errors.ts';
import {
  ended,
  errorOf,
  json,
  nextTurn,
  refusal,
  runsWorlds,
  seqs,
} from '../support/runs-world.ts';

/** The rows of `/v1/runs` and `/v1/runs/{id}/…`, status by status; the start has a file of its own. */

const world = runsWorlds();

describe('GET /v1/runs', () => {
  it('is a page of records, newest first', async () => {
    const made = await world();
    const runs = [await made.run(), await made.run()];
    const answer = await made.get('/v1/runs');
    expect([answer.status, json(answer)]).toEqual([
      200,
      { object: 'list', data: runs.toReversed().map((run) => run.record()), next: null },
    ]);
  });

  it('is paged by limit and after, until next is null', async () => {
    const made = await world();
    const ids = [];
    for (let n = 0; n < 5; n++) ids.unshift((await made.run()).runId);
    const seen: unknown[] = [];
    for (let after = ''; ; ) {
      const { data, next } = json(await made.get(`/v1/runs?limit=2${after}`));
      seen.push((data as { run_id: string }[]).map(({ run_id }) => run_id));
      if (typeof next !== 'string') break;
      after = `&after=${next}`;
    }
    expect(seen).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  });

  it('has 50 records where no limit is given, and 200 at most', async () => {
    const made = await world();
    for (let n = 0; n < 51; n++) await made.run();
    const { data, next } = json(await made.get('/v1/runs'));
    expect([(data as object[]).length, typeof next]).toEqual([50, 'string']);
    const all = json(await made.get('/v1/runs?limit=200'));
    expect([(all['data'] as object[]).length, all['next']]).toEqual([51, null]);
  });

  it.each([
    ['?state=finished', [0]],
    ['?state=running', [2, 1]],
    ['?session_id=zo%C3%AB', [1]],
    ['?agent=other', [2]],
    ['?agent=nobody', []],
    ['?state=running&session_id=cs_1&agent=other', [2]],
  ])('%s holds every condition', async (query, expected) => {
    const made = await world();
    const runs = [
      await made.run(),
      await made.run({ sessionId: 'zoë' }),
      await made.run({ agent: 'other' }),
    ];
    runs[0]?.finish();
    const data = json(await made.get(`/v1/runs${query}`))['data'] as { run_id: string }[];
    expect(data.map(({ run_id }) => runs.findIndex(({ runId }) => runId === run_id))).toEqual(
      expected,
    );
  });

  it.each([
    ['state=done', 'state'],
    ['state=', 'state'],
    ['state=failed&state=failed', 'state'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=', 'limit'],
    ['after=', 'after'],
    ['after=zzz', 'after'],
    ['after=a%0Ab', 'after'],
    ['session_id=', 'session_id'],
    [`session_id=${'x'.repeat(257)}`, 'session_id'],
    ['agent=a&agent=b', 'agent'],
  ])('?%s is 400 and names the parameter', async (query, param) => {
    const made = await world();
    const answer = await made.get(`/v1/runs?${query}`);
    expect(refusal(answer)).toEqual([400, 'invalid_request_error', param]);
    expect(errorOf(answer)['message']).toContain(param);
  });
});

describe('GET /v1/runs/{id}', () => {
  it('says of a parked run which run goes on with it', async () => {
    const made = await world();
    const run = await made.run();
    run.parked();
    const { run_id } = json(await made.post(`/v1/runs/${run.runId}/resume`));
    expect(json(await made.get(`/v1/runs/${run.runId}`))).toMatchObject({
      state: 'parked',
      continued_by: run_id,
      end: { reason: 'external' },
      verbs: [],
    });
  });

  it('is 404 for a run that nobody knows', async () => {
    const made = await world();
    expect(refusal(await made.get('/v1/runs/nobody'))).toEqual([404, 'not_found']);
  });
});

describe('GET /v1/runs/{id}/events', () => {
  it('gives a second reader all that the first one gets', async () => {
    const made = await world();
    const run = await made.run();
    const path = `/v1/runs/${run.runId}/events`;
    const first = await made.reader(`${path}?claim=true`);
    await first.until(({ unchunked }) => unchunked.includes('id: 1'));
    run.text('a');
    const second = await made.reader(path);
    await second.until(({ unchunked }) => unchunked.includes('id: 2'));
    run.text('b');
    run.finish();
    await Promise.all([first.until(ended), second.until(ended)]);
    expect(seqs(first.unchunked)).toEqual([1, 2, 3, 4]);
    expect(second.unchunked).toBe(first.unchunked);
  });

  it('takes no claim of a run that stops, whose reader is one like any other', async () => {
    const made = await world();
    const run = await made.run();
    await made.post(`/v1/runs/${run.runId}/park`);
    const entries = made.handle.journal.entries('cs_1').length;
    const reader = await made.reader(`/v1/runs/${run.runId}/events?claim=true`);
    await reader.until(({ unchunked }) => unchunked.includes('id: 2'));
    expect([run.claims.size, run.observers]).toEqual([0, 1]);
    reader.socket.destroy();
    while (run.observers > 0) await nextTurn();
    expect(made.handle.journal.entries('cs_1')).toHaveLength(entries);
  });

  it('ends after the entry that parked the run, and is 204 from there on', async () => {
    const made = await world();
    const run = await made.run();
    const path = `/v1/runs/${run.runId}/events`;
    const reader = await made.reader(path);
    run.parked();
    await reader.until(ended);
    expect(seqs(reader.unchunked)).toEqual([1, 2]);
    expect((await made.get(path, { 'Last-Event-ID': '2' })).status).toBe(204);
  });

  it('shows a run that waits for its session, from its queued entry on', async () => {
    const made = await world();
    const first = await made.run();
    const run = await made.run({ onBusy: 'enqueue' });
    const reader = await made.reader(`/v1/runs/${run.runId}/events`);
    await reader.until(({ unchunked }) => unchunked.includes('"type":"queued"'));
    first.finish();
    await reader.until(({ unchunked }) => unchunked.includes('"type":"started"'));
    expect(seqs(reader.unchunked)).toEqual([2, 4]);
  });
});

describe('GET /v1/runs/{id}/explain', () => {
  it('is the causal chain as JSON', async () => {
    const made = await world();
    const run = await made.run();
    run.finish();
    const answer = await made.get(`/v1/runs/${run.runId}/explain`, { Accept: '*/*' });
    expect([answer.status, json(answer)]).toEqual([200, await made.handle.explain(run.runId)]);
    expect(answer.headers).toMatchObject({ vary: 'Accept', 'cache-control': 'no-cache' });
  });

  it('is the sentences alone, a line each under the run and its state, where text is accepted', async () => {
    const made = await world();
    const run = await made.run();
    run.finish();
    const answer = await made.get(`/v1/runs/${run.runId}/explain`, { Accept: 'text/plain' });
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    const head = `Run ${run.runId} is finished.`;
    expect(answer.text).toBe(`${head}\nIt was started.\nIt was finished.\n`);
  });

  it('is 404 for a run that nobody knows', async () => {
    const made = await world();
    expect(refusal(await made.get('/v1/runs/x/explain'))).toEqual([404, 'not_found']);
  });

  it('is 406 for what it cannot be', async () => {
    const made = await world();
    const run = await made.run();
    const answer = await made.get(`/v1/runs/${run.runId}/explain`, { Accept: 'image/png' });
    expect(refusal(answer)).toEqual([406, 'not_acceptable', 'Accept']);
  });
});

describe('GET /v1/runs/{id}/chart', () => {
  it('is the active states as JSON, now', async () => {
    const made = await world();
    const run = await made.run();
    const answer = await made.get(`/v1/runs/${run.runId}/chart`);
    expect([answer.status, json(answer)]).toEqual([
      200,
      { run_id: run.runId, seq: null, states: { run: ['running'] } },
    ]);
  });

  it('is the states as they were at an entry', async () => {
    const made = await world();
    const run = await made.run();
    run.finish();
    const answer = await made.get(`/v1/runs/${run.runId}/chart?at=1`);
    expect(json(answer)).toEqual({ run_id: run.runId, seq: 1, states: { run: ['running'] } });
  });

  it('is the picture where one is accepted, and runs no scripts', async () => {
    const made = await world();
    const run = await made.run();
    const headers = { Accept: 'image/avif,image/svg+xml,image/*,*/*;q=0.8' };
    const answer = await made.get(`/v1/runs/${run.runId}/chart`, headers);
    expect(answer.text).toBe('<svg><!-- running --></svg>');
    expect(answer.headers['content-type']).toMatch(/^image\/svg\+xml/);
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  });

  it.each(['at=x', 'at=', 'at=0', 'at=1', 'at=4', 'at=2&at=3'])(
    '?%s is 400: no entry from 2 to 3',
    async (query) => {
      const made = await world();
      await made.run();
      const run = await made.run();
      run.text('a');
      const answer = await made.get(`/v1/runs/${run.runId}/chart?${query}`);
      expect(refusal(answer)).toEqual([400, 'invalid_request_error', 'at']);
    },
  );

  it.each(['', '?at=1'])('is 404 for a run that nobody knows (%j)', async (query) => {
    const made = await world();
    expect(refusal(await made.get(`/v1/runs/x/chart${query}`))).toEqual([404, 'not_found']);
  });

  it('is 406 for what it cannot be', async () => {
    const made = await world();
    const run = await made.run();
    const answer = await made.get(`/v1/runs/${run.runId}/chart`, { Accept: 'text/html' });
    expect(refusal(answer)).toEqual([406, 'not_acceptable', 'Accept']);
  });
});

describe('POST /v1/runs/{id}/park', () => {
  it('is 202 with the record while the run goes to its next checkpoint', async () => {
    const made = await world();
    const run = await made.run();
    const answer = await made.post(`/v1/runs/${run.runId}/park`);
    expect([answer.status, json(answer)['state'], made.handle.parks]).toEqual([
      202,
      'stopping',
      [run.runId],
    ]);
  });

  it('is 200 with the record when the run is parked already', async () => {
    const made = await world();
    const run = await made.run();
    run.parked('unclaimed');
    const answer = await made.post(`/v1/runs/${run.runId}/park`);
    expect([answer.status, json(answer)]).toEqual([200, { ...run.record() }]);
    expect(made.handle.parks).toEqual([]);
  });

  it('is 422 policy_unsupported for an agent that cannot park', async () => {
    const made = await world();
    const run = await made.run();
    made.handle.park = () => Promise.reject(new PolicyUnsupportedError('park'));
    const answer = await made.post(`/v1/runs/${run.runId}/park`);
    expect(refusal(answer)).toEqual([422, 'policy_unsupported', 'liveness']);
  });

  it('is 409 run_ended when there is nothing to park', async () => {
    const made = await world();
    const run = await made.run();
    run.finish();
    const answer = await made.post(`/v1/runs/${run.runId}/park`);
    expect([...refusal(answer), answer.headers['x-should-retry']]).toEqual([
      409,
      'run_ended',
      'false',
    ]);
  });

  it('is 404 for a run that nobody knows, and 400 for a body', async () => {
    const made = await world();
    expect(refusal(await made.post('/v1/runs/x/park'))).toEqual([404, 'not_found']);
    const answer = await made.post('/v1/runs/x/park', { message: 'why' });
    expect(refusal(answer)).toEqual([400, 'invalid_request_error', 'message']);
  });
});

describe('POST /v1/runs/{id}/resume', () => {
  it('is 202 with the new run, which goes on with the old one', async () => {
    const made = await world();
    const run = await made.run();
    run.parked();
    const path = `/v1/runs/${run.runId}/resume`;
    const answer = await made.post(path, {}, { 'X-Token': 'abc' });
    const next = [...made.handle.runs.values()].at(-1);
    expect([answer.status, json(answer)]).toEqual([
      202,
      {
        run_id: next?.runId,
        continues: run.runId,
        session_id: 'cs_1',
        seq: 3,
        state: 'running',
      },
    ]);
    expect(next?.runId).not.toBe(run.runId);
    expect(answer.headers['location']).toBe(`/v1/runs/${next?.runId}`);
    expect(made.handle.resumes[0]?.options.requestHeaders?.['x-token']).toBe('abc');
  });

  it('is 409 already_resumed for all of many but one', async () => {
    const made = await world();
    const run = await made.run();
    run.parked();
    const path = `/v1/runs/${run.runId}/resume`;
    const answers = await Promise.all(Array.from({ length: 8 }, () => made.post(path)));
    const won = answers.filter(({ status }) => status === 202);
    expect([won.length, made.handle.runs.size]).toEqual([1, 2]);
    for (const answer of answers.filter((each) => each !== won[0])) {
      expect(refusal(answer)).toEqual([409, 'already_resumed']);
      expect(answer.headers['x-should-retry']).toBe('false');
    }
  });

  it('is 409 not_parked for a run that lives', async () => {
    const made = await world();
    const run = await made.run();
    expect(refusal(await made.post(`/v1/runs/${run.runId}/resume`))).toEqual([409, 'not_parked']);
  });

  it('is 409 approvals_undecided while a person is waited for', async () => {
    const made = await world();
    const run = await made.run();
    run.parked();
    run.undecided.add('decision');
    const answer = await made.post(`/v1/runs/${run.runId}/resume`);
    expect(refusal(answer)).toEqual([409, 'approvals_undecided']);
  });

  it('is 409 session_busy when the session has a live run', async () => {
    const made = await world();
    const run = await made.run({ onBusy: 'reject' });
    run.parked();
    const live = await made.run();
    const answer = await made.post(`/v1/runs/${run.runId}/resume`);
    expect([...refusal(answer), errorOf(answer)['run_id']]).toEqual([
      409,
      'session_busy',
      live.runId,
    ]);
  });

  it('is 404 for a run that nobody knows, and 400 for a body', async () => {
    const made = await world();
    expect(refusal(await made.post('/v1/runs/x/resume'))).toEqual([404, 'not_found']);
    const answer = await made.post('/v1/runs/x/resume', { force: true });
    expect(refusal(answer)).toEqual([400, 'invalid_request_error', 'force']);
  });

  it('is 503 while the server drains, as park is; cancel goes through', async () => {
    const made = await world();
    const run = await made.run();
    made.handle.phase = 'gated';
    expect((await made.post(`/v1/runs/${run.runId}/resume`)).status).toBe(503);
    expect((await made.post(`/v1/runs/${run.runId}/park`)).status).toBe(503);
    expect((await made.post(`/v1/runs/${run.runId}/cancel`)).status).toBe(202);
  });
});
