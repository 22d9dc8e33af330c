import { describe, expect, it } from 'vitest';
import { ask } from '../support/raw-client.ts';
import {
  errorOf,
  json,
  nextTurn,
  refusal,
  runsWorlds,
  type RunsWorld,
  seqs,
} from '../support/runs-world.ts';

/** The rows of `/v1/sessions`, status by status. */

const world = runsWorlds();
const EVENTS = '/v1/sessions/cs_1/events';
const HEAD = 'retry: 1000\n: heartbeat\n';

describe('GET /v1/sessions', () => {
  it('is a page of records, the session with the newest run first', async () => {
    const made = await world();
    (await made.run({ sessionId: 'a' })).parked();
    const b = await made.run({ sessionId: 'b' });
    const { data, next, object } = json(await made.get('/v1/sessions'));
    expect([object, next]).toEqual(['list', null]);
    expect(data).toMatchObject([
      { session_id: 'b', state: 'running', live: [b.runId], runs: 1, last_seq: 1 },
      { session_id: 'a', state: 'parked', live: [], runs: 1, last_seq: 2 },
    ]);
  });

  it('is paged by limit and after, until next is null', async () => {
    const made = await world();
    for (const sessionId of ['a', 'b', 'c']) await made.run({ sessionId });
    const first = json(await made.get('/v1/sessions?limit=2'));
    const rest = json(await made.get(`/v1/sessions?limit=2&after=${String(first['next'])}`));
    const names = ({ data }: Record<string, unknown>) =>
      (data as { session_id: string }[]).map(({ session_id }) => session_id);
    expect([names(first), names(rest), rest['next']]).toEqual([['c', 'b'], ['a'], null]);
  });

  it.each(['limit=0', 'limit=x', 'after=', 'after=zzz'])(
    '?%s is 400 and names the parameter',
    async (query) => {
      const made = await world();
      const param = query.slice(0, query.indexOf('='));
      expect(refusal(await made.get(`/v1/sessions?${query}`))).toEqual([
        400,
        'invalid_request_error',
        param,
      ]);
    },
  );
});

describe('GET /v1/sessions/{id}', () => {
  it('is the record, whatever script and signs the id has', async () => {
    const made = await world();
    const sessionId = 'zoë/ä %2F';
    const run = await made.run({ sessionId });
    const answer = await made.get(`/v1/sessions/${encodeURIComponent(sessionId)}`);
    expect([answer.status, json(answer)]).toEqual([
      200,
      {
        session_id: sessionId,
        created_at: 1_700_000_000_000,
        runs: 1,
        live: [run.runId],
        last_run: run.runId,
        state: 'running',
        last_seq: 1,
      },
    ]);
  });

  it('is 404 for a session that nobody knows, and 400 for an id that cannot be sent back', async () => {
    const made = await world();
    expect(refusal(await made.get('/v1/sessions/nobody'))).toEqual([404, 'not_found']);
    expect(refusal(await made.get('/v1/sessions/a%0Ab'))).toEqual([
      400,
      'invalid_request_error',
      'id',
    ]);
  });
});

/** A reader of the session that has seen `seq`. */
async function readerAt(made: RunsWorld, seq: number, query = '', headers: string[] = []) {
  const reader = await made.reader(`${EVENTS}${query}`, headers);
  await reader.until(({ unchunked }) => unchunked.includes(`id: ${seq}\n\n`));
  return reader;
}

describe('GET /v1/sessions/{id}/events', () => {
  it('is every entry of every run, byte for byte, and goes on with later runs', async () => {
    const made = await world();
    const one = await made.run();
    one.finish();
    const reader = await readerAt(made, 2);
    const two = await made.run();
    two.text('a');
    two.finish();
    await reader.until(({ unchunked }) => unchunked.includes('id: 5\n\n'));
    const frames = made.handle.journal
      .entries('cs_1')
      .map(({ json: data, seq }) => `data: ${data}\nid: ${seq}\n\n`);
    expect(reader.unchunked).toBe(HEAD + frames.join(''));
    expect(reader.headers).toContain('Content-Type: text/event-stream\r\n');
    expect(reader.socket.closed).toBe(false);
  });

  it.each([
    ['?from=2', [], [2, 3]],
    ['?after=2', [], [3]],
    ['?after=0', [], [1, 2, 3]],
    ['?from=0', [], [1, 2, 3]],
    ['?from=1&after=1', [], [2, 3]],
    ['?after=0', ['Last-Event-ID: 2'], [3]],
    ['?kind=lifecycle', [], [1, 3]],
  ])('%s %j starts at the right entry', async (query, headers, expected) => {
    const made = await world();
    const run = await made.run();
    run.text('a');
    run.finish();
    const reader = await readerAt(made, 3, query, headers);
    expect(seqs(reader.unchunked)).toEqual(expected);
  });

  it('waits behind the newest entry, and names events when it is asked to', async () => {
    const made = await world();
    const run = await made.run();
    const reader = await made.reader(`${EVENTS}?after=1&named=true`);
    await reader.until(({ unchunked }) => unchunked === HEAD);
    run.finish();
    await reader.until(({ unchunked }) => unchunked.includes('id: 2'));
    expect(reader.unchunked.slice(HEAD.length)).toMatch(/^event: finished\ndata: .*\nid: 2\n\n$/);
  });

  it.each([
    ['?after=2', [], 'after'],
    ['?from=3', [], 'from'],
    ['', ['Last-Event-ID: 9'], 'Last-Event-ID'],
    ['?from=x', [], 'from'],
    ['?kind=agent', [], 'kind'],
    ['?named=1', [], 'named'],
    ['?claim=true', [], 'claim'],
    ['?claim=1', [], 'claim'],
  ])('%s %j is 400 and names the parameter', async (query, headers, param) => {
    const made = await world();
    await made.run();
    const reader = await made.reader(`${EVENTS}${query}`, headers);
    await reader.until(({ text }) => text.endsWith('}'));
    expect(reader.headers).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(reader.body).error).toMatchObject({ param });
    expect(made.pool.live).toBe(0);
  });

  it('says so when a cursor is beyond the newest entry, instead of waiting for it', async () => {
    const made = await world();
    await made.run();
    const answer = await made.get(`${EVENTS}?after=2`);
    expect(errorOf(answer)['message']).toBe(
      'after is beyond the newest entry of the session, which is 1.',
    );
  });

  it('is a gap without id and run where entries are gone', async () => {
    const made = await world();
    const run = await made.run();
    run.text('a', 'b');
    made.handle.journal.trim('cs_1', 2);
    const reader = await readerAt(made, 3);
    const [gap, ...rest] = reader.unchunked.slice(HEAD.length).split('\n\n');
    const envelope = JSON.parse(gap?.slice('data: '.length) ?? '') as object;
    expect(envelope).toMatchObject({
      session_id: 'cs_1',
      payload: { kind: 'lifecycle', event: { type: 'gap', from: 1, to: 2 } },
    });
    expect(Object.keys(envelope)).toEqual(['session_id', 'at', 'payload']);
    expect(seqs(rest.join('\n\n'))).toEqual([3]);
  });

  it('claims no run and is counted by none', async () => {
    const made = await world();
    const run = await made.run({ claim: { observerId: 'obs' } });
    const reader = await readerAt(made, 1);
    reader.socket.destroy();
    while (made.handle.journal.followers > 0) await nextTurn();
    expect([run.claims.size, run.observers]).toEqual([1, 0]);
    expect(made.handle.journal.entries('cs_1')).toHaveLength(1);
  });

  it('beats while the session is silent', async () => {
    const made = await world();
    await made.run();
    const reader = await readerAt(made, 1);
    await made.clock.advance(15_000);
    await reader.until(({ unchunked }) => unchunked.endsWith('id: 1\n\n: heartbeat\n'));
  });

  it('loses and doubles nothing when the store fails for a while', async () => {
    const made = await world();
    const run = await made.run();
    const reader = await readerAt(made, 1);
    made.handle.journal.fail(new Error('disk'));
    run.text('a');
    await made.clock.advance(250);
    await reader.until(({ unchunked }) => unchunked.includes('id: 2\n\n'));
    expect(seqs(reader.unchunked)).toEqual([1, 2]);
    const warnings = made.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ fields }) => fields)).toEqual([{ session_id: 'cs_1', error: 'disk' }]);
  });

  it('pauses for a reader that is slow and gives it all', async () => {
    const made = await world({ config: { sseBufferBytesMax: 200_000 } });
    made.handle.journal.batchMax = 3;
    const run = await made.run();
    const reader = await readerAt(made, 1);
    reader.socket.pause();
    for (let n = 0; n < 700; n++) run.text('x'.repeat(30_000));
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    reader.socket.resume();
    await reader.until(({ tail }) => tail.includes('id: 701\n\n'));
    expect(seqs(reader.text)).toEqual(Array.from({ length: 701 }, (_, n) => n + 1));
  });

  it('opens no stream for HEAD', async () => {
    const made = await world();
    await made.run();
    const { port } = made;
    const { status, headers, text } = await ask({ port, method: 'HEAD', path: EVENTS });
    expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream', '']);
    expect(made.pool.live).toBe(0);
  });

  it('is 404 for a session that nobody knows', async () => {
    const made = await world();
    expect(refusal(await made.get('/v1/sessions/nobody/events'))).toEqual([404, 'not_found']);
  });
});

describe('the stream of a session at shutdown', () => {
  const over = ({ body }: { readonly body: string }): boolean => body.endsWith('0\r\n\r\n');

  it('ends soon when no run of the session is left, so that it holds nothing up', async () => {
    const made = await world();
    (await made.run()).finish();
    const reader = await readerAt(made, 2);
    await made.clock.advance(60_000);
    expect(over(reader)).toBe(false);
    made.handle.phase = 'gated';
    await made.clock.advance(500);
    await reader.until(over);
    while (made.handle.tracked > 0) await nextTurn();
    expect([made.clock.pending, made.handle.journal.followers]).toEqual([[], 0]);
  });

  it('stays to the end of the last run, and gives that', async () => {
    const made = await world();
    const run = await made.run();
    const reader = await readerAt(made, 1);
    made.handle.phase = 'gated';
    await made.clock.advance(5_000);
    expect(over(reader)).toBe(false);
    run.cancelled('shutdown');
    await made.clock.advance(500);
    await reader.until(over);
    expect(seqs(reader.unchunked)).toEqual([1, 2]);
  });

  it('waits for a reader that is slow, and gives it all', async () => {
    const made = await world();
    const run = await made.run();
    const reader = await readerAt(made, 1);
    reader.socket.pause();
    for (let n = 0; n < 700; n++) run.text('x'.repeat(30_000));
    run.finish();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    made.handle.phase = 'gated';
    await made.clock.advance(500);
    reader.socket.resume();
    await reader.until(({ tail }) => tail.includes('id: 702\n\n'));
    await made.clock.advance(500);
    await reader.until(({ tail }) => tail.endsWith('0\r\n\r\n'));
    expect(seqs(reader.text)).toEqual(Array.from({ length: 702 }, (_, n) => n + 1));
  });

  it('is cut when the store cannot say what is left', async () => {
    const made = await world();
    await made.run();
    const reader = await readerAt(made, 1);
    made.handle.getSession = () => Promise.reject(new Error('disk'));
    made.handle.phase = 'gated';
    await made.clock.advance(500);
    await reader.ended;
    expect(over(reader)).toBe(false);
  });
});
