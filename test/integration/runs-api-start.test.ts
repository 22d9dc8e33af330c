import { describe, expect, it } from 'vitest';
import { StoreUnavailableError, TenantLimitError, TooManyRunsError } from '../../src/errors.ts';
import type { StartRun } from '../../src/handle.ts';
import { SessionHeldError } from '../../src/journal/errors.ts';
import { AGENT } from '../support/fake-handle.ts';
import { errorOf, json, refusal, runsWorlds, type RunsWorld } from '../support/runs-world.ts';

/** `POST /v1/runs`, row by row and status by status. */

const world = runsWorlds();
const PATH = '/v1/runs';
const HI = { prompt: 'hi' };

/** What the one start of a world asked the supervisor for. */
function commandIn({ handle }: RunsWorld): StartRun {
  const [run, ...more] = [...handle.runs.values()];
  if (run === undefined || more.length > 0) throw new Error('One run was to be started.');
  return run.command;
}

async function commandOf(body: object, headers: Readonly<Record<string, string>> = {}) {
  const made = await world();
  const answer = await made.post(PATH, body, headers);
  expect(answer.status).toBe(202);
  return commandIn(made);
}

describe('POST /v1/runs', () => {
  it('is 202 with the run, its session, its first entry, its state and its liveness', async () => {
    const made = await world();
    const answer = await made.post(PATH, { ...HI, session_id: 'zoë %' });
    const [run] = made.handle.runs.values();
    expect([answer.status, json(answer)]).toEqual([
      202,
      {
        run_id: run?.runId,
        session_id: 'zoë %',
        seq: 1,
        state: 'running',
        liveness: { policy: 'continue', grace_ms: 0 },
      },
    ]);
    expect(answer.headers).toMatchObject({
      location: `/v1/runs/${run?.runId}`,
      'x-run-id': run?.runId,
      'x-chat-session-id': 'zo%C3%AB %25',
    });
    expect(answer.headers).not.toHaveProperty('idempotency-replayed');
  });

  it('starts a run without a claim, which goes on when nobody reads', async () => {
    const command = await commandOf(HI);
    expect(command).toMatchObject({
      agent: 'demo',
      prompt: 'hi',
      streaming: true,
      onBusy: 'reject',
      liveness: { policy: 'continue', graceMs: 0 },
    });
    expect(command).not.toHaveProperty('claim');
    expect(command).not.toHaveProperty('timeoutMs');
    expect(command).not.toHaveProperty('idempotency');
    expect(command.sessionId).toMatch(/^cs_[\da-f]{32}$/);
  });

  it('says queued for a run that waits for its session', async () => {
    const made = await world();
    const first = await made.run();
    const answer = await made.post(PATH, { ...HI, session_id: 'cs_1', on_busy: 'enqueue' });
    expect([answer.status, json(answer)['state'], json(answer)['seq']]).toEqual([202, 'queued', 2]);
    const id = String(json(answer)['run_id']);
    expect(made.handle.runs.get(id)?.record().started_at).toBeNull();
    first.finish();
    await first.settled;
    await made.get(`/v1/runs/${id}`);
    expect(made.handle.runs.get(id)?.state).toBe('running');
  });

  it('goes on with the session for a prompt', async () => {
    expect(await commandOf(HI)).toMatchObject({
      continuesSession: true,
      messages: [{ role: 'user', content: 'hi' }],
    });
  });

  it('takes messages as a chat does, and they are the whole conversation', async () => {
    const command = await commandOf({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: [{ type: 'text', text: 'c' }] },
      ],
    });
    expect(command).not.toHaveProperty('continuesSession');
    expect([command.prompt, command.messages]).toEqual([
      'c',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    ]);
  });

  it('takes what the start says before what is configured', async () => {
    const body = {
      ...HI,
      timeout_ms: 90_000,
      liveness: { policy: 'park', grace_ms: 2_147_483_000 },
      on_busy: 'interrupt',
    };
    expect(await commandOf(body)).toMatchObject({
      timeoutMs: 90_000,
      liveness: { policy: 'park', graceMs: 2_147_483_000 },
      onBusy: 'interrupt',
    });
  });

  it.each([
    [{ policy: 'cancel' }, { policy: 'cancel', graceMs: 7 }],
    [{ grace_ms: 0 }, { policy: 'park', graceMs: 0 }],
    [{}, { policy: 'park', graceMs: 7 }],
    [null, { policy: 'park', graceMs: 7 }],
  ])('fills what liveness %j leaves out from the configuration', async (liveness, expected) => {
    const headless = { liveness: { policy: 'park', graceMs: 7 }, onBusy: 'enqueue' } as const;
    const made = await world({ config: { headless } });
    await made.post(PATH, { ...HI, liveness });
    expect(commandIn(made)).toMatchObject({ liveness: expected, onBusy: 'enqueue' });
  });

  it.each([
    [{ session_id: 'mine' }, { 'X-Chat-Session-Id': 'header' }, 'mine'],
    [{}, { 'X-Chat-Session-Id': 'zo%C3%AB' }, 'zoë'],
    [{ session_id: '' }, { 'X-OpenWebUI-Chat-Id': 'web' }, 'web'],
  ])('finds the session of %j and %j', async (body, headers, sessionId) => {
    expect((await commandOf({ ...HI, ...body }, headers)).sessionId).toBe(sessionId);
  });

  it('gives the headers of the request to the run', async () => {
    expect((await commandOf(HI, { 'X-Token': 'abc' })).requestHeaders['x-token']).toBe('abc');
  });
});

describe('POST /v1/runs: the agent', () => {
  const other = { ...AGENT, id: 'other' };

  it.each([
    [[AGENT], undefined, {}, 'demo'],
    [[AGENT, other], 'other', {}, 'other'],
    [[AGENT, other], 'other', { agent: 'demo' }, 'demo'],
    [[AGENT, { ...other, hidden: true }], undefined, { agent: 'other' }, 'other'],
  ])('is chosen from %#', async (agents, defaultAgent, body, chosen) => {
    const made = await world();
    made.handle.agents = agents;
    if (defaultAgent !== undefined) made.handle.defaultAgent = defaultAgent;
    await made.post(PATH, { ...HI, ...body });
    expect(commandIn(made).agent).toBe(chosen);
  });

  it('is 404 when it is named and unknown, even where there is only one', async () => {
    const made = await world();
    const answer = await made.post(PATH, { ...HI, agent: 'demmo' });
    expect(refusal(answer)).toEqual([404, 'model_not_found', 'agent']);
    expect(errorOf(answer)['message']).toContain('`demmo`');
  });

  it('is 400 when none is named and none is the default', async () => {
    const made = await world();
    made.handle.agents = [AGENT, other];
    expect(refusal(await made.post(PATH, HI))).toEqual([400, 'invalid_request_error', 'agent']);
  });
});

describe('POST /v1/runs: 400', () => {
  const big = 2_147_483_001;

  it.each([
    [{}, 'prompt', ['prompt', 'messages']],
    [{ prompt: null, messages: null }, 'prompt', ['prompt', 'messages']],
    [{ prompt: 'a', messages: [{ role: 'user', content: 'a' }] }, 'messages', ['prompt']],
    [{ prompt: ' \n' }, 'prompt', ['blank']],
    [{ prompt: 1 }, 'prompt', ['a string, not a number']],
    [{ messages: [] }, 'messages', ['empty']],
    [{ messages: [{ role: 'assistant', content: 'a' }] }, 'messages', ['Last message']],
    [{ messages: [{ role: 'user', content: 1 }] }, 'messages[0].content', ['text parts']],
    [{ ...HI, session_id: ' a' }, 'session_id', ['white space']],
    [{ ...HI, session_id: 'a\nb' }, 'session_id', ['control']],
    [{ ...HI, session_id: 'x'.repeat(257) }, 'session_id', ['256 bytes']],
    [{ ...HI, session_id: 7 }, 'session_id', ['a string']],
    [{ ...HI, agent: 'a\nb' }, 'agent', ['control']],
    [{ ...HI, timeout_ms: -1 }, 'timeout_ms', ['negative']],
    [{ ...HI, timeout_ms: 1.5 }, 'timeout_ms', ['fraction']],
    [{ ...HI, timeout_ms: big }, 'timeout_ms', ['2147483000']],
    [{ ...HI, timeout_ms: '5' }, 'timeout_ms', ['a number']],
    [{ ...HI, liveness: 'park' }, 'liveness', ['an object']],
    [{ ...HI, liveness: { policy: 'stay' } }, 'liveness.policy', ['"continue"']],
    [{ ...HI, liveness: { grace_ms: -1 } }, 'liveness.grace_ms', ['negative']],
    [{ ...HI, liveness: { grace_ms: 0.1 } }, 'liveness.grace_ms', ['fraction']],
    [{ ...HI, liveness: { grace_ms: big } }, 'liveness.grace_ms', ['2147483000']],
    [{ ...HI, liveness: { grace_secs: 1 } }, 'liveness.grace_secs', ['Unknown key']],
    [{ ...HI, on_busy: 'wait' }, 'on_busy', ['"enqueue"']],
    [{ ...HI, stream: true }, 'stream', ['Unknown key']],
  ])('names the field that is wrong in %j', async (body, param, words) => {
    const made = await world();
    const answer = await made.post(PATH, body);
    expect(refusal(answer)).toEqual([400, 'invalid_request_error', param]);
    for (const word of words) expect(errorOf(answer)['message']).toContain(word);
    expect(made.handle.runs.size).toBe(0);
  });
});

describe('POST /v1/runs with an Idempotency-Key', () => {
  const headers = { 'Idempotency-Key': 'k-1' };

  it('answers a start that is repeated with the run of the first', async () => {
    const made = await world();
    const first = await made.post(PATH, { ...HI, timeout_ms: 5, on_busy: 'reject' }, headers);
    const again = await made.post(PATH, { on_busy: 'reject', timeout_ms: 5, ...HI }, headers);
    expect([again.status, json(again)]).toEqual([202, json(first)]);
    expect(first.headers).not.toHaveProperty('idempotency-replayed');
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(commandIn(made).idempotency).toEqual({
      key: 'k-1',
      digest: expect.stringMatching(/^sha256:[\da-f]{64}$/),
    });
  });

  it.each([
    [{ prompt: 'ho' }, headers],
    [{ ...HI, timeout_ms: 1 }, headers],
    [HI, { ...headers, 'X-Chat-Session-Id': 'another' }],
  ])('is 409 idempotency_key_reused for another start (%#)', async (body, sent) => {
    const made = await world();
    await made.post(PATH, HI, headers);
    const answer = await made.post(PATH, body, sent);
    expect(refusal(answer)).toEqual([409, 'idempotency_key_reused', 'Idempotency-Key']);
    expect(answer.headers['x-should-retry']).toBe('false');
    expect(made.handle.runs.size).toBe(1);
  });

  it('is another start under another key', async () => {
    const made = await world();
    await made.post(PATH, HI, headers);
    const answer = await made.post(PATH, HI, { 'Idempotency-Key': '!~'.repeat(127) + 'x' });
    expect([answer.status, made.handle.runs.size]).toEqual([202, 2]);
  });

  it.each(['', 'a b', 'é', 'x'.repeat(256), 'a\tb'])('is 400 for the key %j', async (key) => {
    const made = await world();
    const sent = { 'Idempotency-Key': Buffer.from(key).toString('latin1') };
    const answer = await made.post(PATH, HI, sent);
    expect(refusal(answer)).toEqual([400, 'invalid_request_error', 'Idempotency-Key']);
    expect(made.handle.runs.size).toBe(0);
  });

  it('is 400 for a body that nests too deep to be told apart', async () => {
    const made = await world();
    const deep = `${'['.repeat(300)}${']'.repeat(300)}`;
    const text = `{"messages":[{"role":"user","content":"a","x":${deep}}]}`;
    const answer = await made.post(PATH, JSON.parse(text), headers);
    expect([answer.status, errorOf(answer)['message']]).toEqual([
      400,
      expect.stringContaining('deeper'),
    ]);
  });
});

describe('POST /v1/runs: what stands in the way', () => {
  it('is 409 session_busy with the live run, not to be sent again', async () => {
    const made = await world();
    const live = await made.run();
    const answer = await made.post(PATH, { ...HI, session_id: 'cs_1' });
    expect(refusal(answer)).toEqual([409, 'session_busy']);
    expect(errorOf(answer)['run_id']).toBe(live.runId);
    expect(answer.headers).toMatchObject({ 'x-should-retry': 'false', 'x-run-id': live.runId });
  });

  it('ends the live run superseded when it is to be interrupted', async () => {
    const made = await world();
    const live = await made.run();
    const answer = await made.post(PATH, { ...HI, session_id: 'cs_1', on_busy: 'interrupt' });
    expect([answer.status, live.record().end?.reason]).toEqual([202, 'superseded']);
  });

  it('lives beside the live run when it may', async () => {
    const made = await world();
    const live = await made.run();
    const answer = await made.post(PATH, { ...HI, session_id: 'cs_1', on_busy: 'parallel' });
    expect([answer.status, live.live, json(answer)['state']]).toEqual([202, true, 'running']);
  });

  it('is 422 policy_unsupported for an agent that cannot park', async () => {
    const made = await world();
    made.handle.unsupported = 'park';
    const answer = await made.post(PATH, { ...HI, liveness: { policy: 'park' } });
    expect(refusal(answer)).toEqual([422, 'policy_unsupported', 'liveness']);
  });

  it.each([
    [new TenantLimitError('Ten runs are live.', 1_500), 429, 'rate_limited', '2'],
    [new TooManyRunsError(3), 429, 'rate_limited', '5'],
    [new StoreUnavailableError('disk'), 503, 'store_unavailable', '5'],
    [new SessionHeldError('s', 1), 409, 'session_held', '5'],
  ])('%s is %i and says when to come back', async (error, status, code, secs) => {
    const made = await world();
    made.handle.startError = error;
    const answer = await made.post(PATH, HI);
    expect(refusal(answer)).toEqual([status, code]);
    expect(answer.headers['retry-after']).toBe(secs);
  });

  it('is 503 with the known body while the server drains', async () => {
    const made = await world();
    made.handle.phase = 'gated';
    const answer = await made.post(PATH, HI);
    expect([answer.status, json(answer)]).toEqual([
      503,
      { error: { message: 'Server is shutting down', type: 'service_unavailable' } },
    ]);
    expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    expect(made.handle.runs.size).toBe(0);
  });
});
