import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PolicyUnsupportedError, SessionBusyError, TenantLimitError } from '../../src/errors.ts';
import { chatWorld, HI, STREAM, type ChatWorld } from '../support/chat-world.ts';
import { post } from '../support/raw-client.ts';
import { ended, errorOf, nextTurn, refusal } from '../support/runs-world.ts';

/** Chat completions where runs wait for their session, are parked, or outlive their reader. */

const PATH = '/v1/chat/completions';
const DONE = 'data: [DONE]\n\n';

let world: ChatWorld;
const open = async (config: Parameters<typeof chatWorld>[0] = {}) => {
  await world.close();
  world = await chatWorld(config);
};

beforeEach(async () => {
  world = await chatWorld();
});

afterEach(() => world.close());

describe('a chat whose session is busy', () => {
  const IN_SESSION = ['X-Chat-Session-Id: s'];

  it('gets headers and heartbeats while its run is queued, and then its answer', async () => {
    await open({ config: { onBusy: 'enqueue' } });
    await world.chat(STREAM, IN_SESSION);
    const first = await world.nextRun();
    const client = await world.chat(STREAM, IN_SESSION);
    while (world.handle.runs.size < 2) await nextTurn();
    await world.clock.advance(2_000);
    await client.until(({ body }) => body.includes(': heartbeat\n'));
    await world.clock.advance(15_000);
    await client.until(({ unchunked }) => unchunked === ': heartbeat\n: heartbeat\n');
    first.finish();
    const run = await world.nextRun();
    run.text('My turn.');
    run.finish();
    await client.until(ended);
    expect(client.unchunked).toContain('"content":"My turn."');
    expect(client.unchunked.endsWith(DONE)).toBe(true);
  });

  it('waits without a stream as well', async () => {
    await open({ config: { onBusy: 'enqueue' } });
    await world.chat(STREAM, IN_SESSION);
    const first = await world.nextRun();
    const metadata = { chat_session_id: 's' };
    const waiting = post(world.port, PATH, { ...HI, metadata });
    while (world.handle.runs.size < 2) await nextTurn();
    first.finish();
    const run = await world.nextRun();
    run.text('My turn.');
    run.finish();
    const { choices } = JSON.parse((await waiting).text);
    expect(choices[0].message.content).toBe('My turn.');
  });

  it('gives its claim up when its reader leaves while it is queued', async () => {
    await open({ config: { onBusy: 'enqueue' } });
    await world.chat(STREAM, IN_SESSION);
    await world.nextRun();
    const client = await world.chat(STREAM, IN_SESSION);
    while (world.handle.runs.size < 2) await nextTurn();
    client.socket.destroy();
    const { runId, because } = await world.nextRelease();
    expect([world.handle.runs.get(runId)?.state, because]).toEqual(['cancelled', 'released']);
  });

  it('is 409 session_busy with the live run under reject', async () => {
    await open({ config: { onBusy: 'reject' } });
    await world.chat(STREAM, IN_SESSION);
    const { runId } = await world.nextRun();
    const metadata = { chat_session_id: 's' };
    const answer = await post(world.port, PATH, { ...STREAM, metadata });
    expect([...refusal(answer), errorOf(answer)['run_id']]).toEqual([409, 'session_busy', runId]);
    expect(answer.headers).toMatchObject({ 'x-should-retry': 'false', 'x-run-id': runId });
  });

  it.each([
    [new PolicyUnsupportedError('park'), 422, 'policy_unsupported'],
    [new TenantLimitError('Ten runs are live.', 61_000), 429, 'rate_limited'],
    [new SessionBusyError('s', 'r'), 409, 'session_busy'],
  ])('is refused as a start is: %s', async (error, status, code) => {
    world.handle.startError = error;
    for (const stream of [true, false]) {
      const answer = await post(world.port, PATH, { ...HI, stream });
      expect([answer.status, errorOf(answer)['code']]).toEqual([status, code]);
      if (status === 429) expect(answer.headers['retry-after']).toBe('61');
    }
  });
});

describe('a chat whose run is parked', () => {
  it('ends its stream with a sentence, an error that says so, and [DONE]', async () => {
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    run.text('Half');
    run.parked();
    await client.until(ended);
    const frames = client.unchunked.split('\n\n').slice(-4);
    expect(frames[0]).toContain('can be resumed');
    expect(frames[0]).toContain('"content":"\\n\\nThe run was parked');
    expect(frames[1]).toMatch(/^event: error\ndata: \{"error":\{.*"code":"run_parked"\}\}$/);
    expect(frames.slice(2)).toEqual(['data: [DONE]', '']);
    expect(client.unchunked).not.toContain('finish_reason');
  });

  it('is 409 run_parked, not to be sent again, where nothing has been sent', async () => {
    for (const stream of [true, false]) {
      const waiting = post(world.port, PATH, { ...HI, stream });
      (await world.nextRun()).parked('shutdown');
      const answer = await waiting;
      expect([...refusal(answer), answer.headers['x-should-retry']]).toEqual([
        409,
        'run_parked',
        'false',
      ]);
      expect(answer.headers['x-run-id']).toBeDefined();
    }
  });
});

describe('a chat whose reader leaves', () => {
  it.each([
    [{ policy: 'continue', graceMs: 0 }, 'running', ['claims_exhausted', 'liveness_decided']],
    [{ policy: 'cancel', graceMs: 30_000 }, 'running', ['claims_exhausted']],
    [{ policy: 'park', graceMs: 0 }, 'parked', ['claims_exhausted', 'liveness_decided', 'parked']],
  ] as const)('leaves its run to the policy %j', async (liveness, state, entries) => {
    await open({ config: { liveness } });
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    run.text('a');
    await client.until(({ body }) => body.includes('"content":"a"'));
    client.socket.destroy();
    await world.nextRelease();
    expect([run.state, run.claims.size]).toEqual([state, 0]);
    const types = world.handle.journal.entries(run.sessionId).map(({ type }) => type);
    expect(types.slice(2)).toEqual(['observer_detached', ...entries]);
    expect(world.handle.journal.followers).toBe(0);
  });

  it('leaves a run that goes on for whoever attaches', async () => {
    await open({ config: { liveness: { policy: 'continue', graceMs: 0 } } });
    const client = await world.chat(STREAM);
    const run = await world.nextRun();
    run.text('a');
    await client.until(({ body }) => body.includes('"content":"a"'));
    client.socket.destroy();
    await world.nextRelease();
    run.text('b');
    run.finish();
    expect([run.state, run.end?.type]).toEqual(['finished', 'finished']);
  });
});
