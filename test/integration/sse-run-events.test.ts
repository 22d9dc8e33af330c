import { afterEach, describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/journal/events.ts';
import { type FakeRun, startCommand } from '../support/fake-handle.ts';
import { type HttpWorld, type HttpWorldOptions, httpWorld } from '../support/http-world.ts';
import { ask, RawConnection } from '../support/raw-client.ts';

const HEAD = 'retry: 1000\n: heartbeat\n';

const opened: HttpWorld[] = [];

/** A server with one live run, whose journal the test writes. */
async function world(options: HttpWorldOptions = {}): Promise<HttpWorld & { run: FakeRun }> {
  const made = await httpWorld(options);
  opened.push(made);
  return { ...made, run: await startRun(made) };
}

async function startRun({ handle }: HttpWorld): Promise<FakeRun> {
  const { runId } = await handle.start(startCommand());
  const run = handle.runs.get(runId);
  if (run === undefined) throw new Error('invariant: the fake keeps what it starts');
  return run;
}

async function attach(port: number, path: string, headers: readonly string[] = []) {
  const client = await RawConnection.open(port);
  client.get(path, headers);
  return client;
}

const seqs = (body: string): number[] =>
  [...body.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

const ended = ({ body }: RawConnection): boolean => body.endsWith('0\r\n\r\n');

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('the stream of a run', () => {
  it('is the stored entries, byte for byte, and ends after the terminal one', async () => {
    const { port, run, handle } = await world();
    const client = await attach(port, `/v1/runs/${run.runId}/events`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    run.text('Hi', ' there');
    run.finish();
    await client.until(ended);
    const [a, b, c, d] = handle.journal.entries('cs_1').map(({ json }) => json);
    expect(client.unchunked).toBe(
      `${HEAD}data: ${a}\nid: 1\n\ndata: ${b}\nid: 2\n\ndata: ${c}\nid: 3\n\ndata: ${d}\nid: 4\n\n`,
    );
    expect(client.headers).toContain('Content-Type: text/event-stream\r\n');
  });

  it('shows only the entries of its run', async () => {
    const made = await world();
    const other = await startRun(made);
    made.run.text('mine');
    other.text('other');
    made.run.finish();
    const answer = await ask({ port: made.port, path: `/v1/runs/${made.run.runId}/events` });
    expect(seqs(answer.text)).toEqual([1, 3, 5]);
  });

  it('names its events when it is asked to', async () => {
    const { port, run } = await world();
    run.finish();
    const path = `/v1/runs/${run.runId}/events?named=true&after=1`;
    const { text } = await ask({ port, path });
    expect(text).toMatch(/^retry: 1000\n: heartbeat\nevent: finished\ndata: \{.*\}\nid: 2\n\n$/);
  });

  it('leaves out what the agent did when only the lifecycle is wanted', async () => {
    const { port, run } = await world();
    run.text('a', 'b');
    run.finish();
    const { text } = await ask({ port, path: `/v1/runs/${run.runId}/events?kind=lifecycle` });
    expect(seqs(text)).toEqual([1, 4]);
  });

  it('beats while the run is silent', async () => {
    const { port, run, clock } = await world();
    const client = await attach(port, `/v1/runs/${run.runId}/events`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    await clock.advance(15_000);
    await client.until(({ unchunked }) => unchunked.endsWith('id: 1\n\n: heartbeat\n'));
  });
});

describe('a cursor into the stream of a run', () => {
  it.each([
    ['?from=2', [], [2, 3]],
    ['?after=2', [], [3]],
    ['?after=0', [], [1, 2, 3]],
    ['?from=3&after=1', [], [2, 3]],
    ['?from=1&after=1', ['Last-Event-ID: 2'], [3]],
    ['', ['Last-Event-ID: 1'], [2, 3]],
    ['', ['Last-Event-ID: '], [1, 2, 3]],
  ])('%s %j starts at the right entry', async (query, headers, expected) => {
    const { port, run } = await world();
    run.text('a');
    run.finish();
    const client = await attach(port, `/v1/runs/${run.runId}/events${query}`, headers);
    await client.until(ended);
    expect(seqs(client.unchunked)).toEqual(expected);
  });

  it.each([
    ['?after=3', []],
    ['?from=4', []],
    ['?after=99', []],
    ['', ['Last-Event-ID: 3']],
  ])('%s %j at or past the end is 204, so that a browser stays away', async (query, headers) => {
    const { port, run } = await world();
    run.text('a');
    run.finish();
    const client = await attach(port, `/v1/runs/${run.runId}/events${query}`, headers);
    await client.until(({ text }) => text.endsWith('\r\n\r\n'));
    expect(client.headers).toMatch(/^HTTP\/1\.1 204 /);
  });

  it.each([
    ['?after=x', [], 'after'],
    ['?after=', [], 'after'],
    ['?after=-1', [], 'after'],
    ['?after=1&after=2', [], 'after'],
    ['?from=1.5', [], 'from'],
    ['?from=99999999999999999999', [], 'from'],
    ['?after=1', ['Last-Event-ID: 1; drop'], 'Last-Event-ID'],
    ['?kind=agent', [], 'kind'],
    ['?claim=yes', [], 'claim'],
    ['?named=1', [], 'named'],
    ['?after=50', [], 'after'],
    ['', ['Last-Event-ID: 50'], 'Last-Event-ID'],
  ])('%s %j is refused by name', async (query, headers, param) => {
    const { port, run, pool } = await world();
    const client = await attach(port, `/v1/runs/${run.runId}/events${query}`, headers);
    await client.until(({ text }) => text.endsWith('}'));
    expect(client.headers).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(client.body).error).toMatchObject({ type: 'invalid_request_error', param });
    expect(pool.live).toBe(0);
  });

  it('is good up to the head of the session, where another run has written', async () => {
    const made = await world();
    const other = await startRun(made);
    other.text('x', 'y');
    const client = await attach(made.port, `/v1/runs/${made.run.runId}/events?after=4`);
    await client.until(({ unchunked }) => unchunked === HEAD);
    made.run.finish();
    await client.until(ended);
    expect(seqs(client.unchunked)).toEqual([5]);
  });
});

describe('a claim on the stream of a run', () => {
  it('is taken when it is asked for, and released when the reader leaves', async () => {
    const { port, run, handle } = await world();
    const client = await attach(port, `/v1/runs/${run.runId}/events?claim=true`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    expect([run.claims.size, run.observers]).toEqual([1, 0]);
    client.socket.destroy();
    await run.settled;
    expect(handle.journal.entries('cs_1').map(({ type }) => type)).toEqual([
      'started',
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'cancelled',
    ]);
  });

  it('is not taken by default, and reading changes nothing but the count', async () => {
    const { port, run, handle } = await world();
    const released: string[] = [];
    handle.onRelease = (_run, observer) => released.push(observer);
    const client = await attach(port, `/v1/runs/${run.runId}/events`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    expect([run.claims.size, run.observers]).toEqual([0, 1]);
    client.socket.destroy();
    while (run.observers > 0) await nextTurn();
    expect([released, handle.journal.entries('cs_1').length]).toEqual([[], 1]);
  });

  it('is not lost when the store fails for a while, and no entry is lost or doubled', async () => {
    const { port, run, handle, clock, lines } = await world();
    const client = await attach(port, `/v1/runs/${run.runId}/events?claim=true`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    handle.journal.fail(new Error('disk'));
    run.text('a');
    handle.journal.fail(new Error('disk'));
    expect(run.claims.size).toBe(1);
    await clock.advance(250);
    await client.until(({ unchunked }) => unchunked.includes('id: 2'));
    run.finish();
    await client.until(ended);
    expect(seqs(client.unchunked)).toEqual([1, 2, 3]);
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  it('on a run that has ended is only a replay', async () => {
    const { port, run } = await world();
    run.finish();
    const { text } = await ask({ port, path: `/v1/runs/${run.runId}/events?claim=true` });
    expect(seqs(text)).toEqual([1, 2]);
  });

  it('is not taken by HEAD, which opens no stream', async () => {
    const { port, run, pool } = await world();
    const path = `/v1/runs/${run.runId}/events?claim=true`;
    const { status, headers, text } = await ask({ port, method: 'HEAD', path });
    expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream', '']);
    expect([run.claims.size, run.observers, pool.live]).toEqual([0, 0, 0]);
  });
});

describe('a reader of a run that is slow', () => {
  it('loses and doubles nothing, at any batch size', async () => {
    const { port, run, handle } = await world({ config: { sseBufferBytesMax: 200_000 } });
    handle.journal.batchMax = 3;
    const client = await attach(port, `/v1/runs/${run.runId}/events`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    client.socket.pause();
    const text = 'x'.repeat(30_000);
    for (let n = 0; n < 700; n++) run.text(text);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    client.socket.resume();
    run.finish();
    await client.until(({ tail }) => tail.endsWith('0\r\n\r\n'));
    expect(seqs(client.text)).toEqual(Array.from({ length: 702 }, (_, n) => n + 1));
  });
});

describe('a reader of a run that we cut', () => {
  it('gives its claim up as expired, and the log says why', async () => {
    const { port, run, handle, clock, lines } = await world({ config: { sseStallMs: 30_000 } });
    const client = await attach(port, `/v1/runs/${run.runId}/events?claim=true`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    client.socket.pause();
    for (let n = 0; n < 24; n++) run.text('x'.repeat(1_000_000));
    const released = new Promise<unknown[]>((tell) => {
      handle.onRelease = (...told) => tell(told);
    });
    while (run.end === undefined) {
      for (let turn = 0; turn < 50; turn++) await nextTurn();
      await clock.advance(7_500);
    }
    expect(await released).toEqual([run.runId, expect.any(String), 'expired']);
    const [warning, ...more] = lines.filter(({ level }) => level === 'warn');
    expect(warning?.fields).toEqual({ run_id: run.runId, because: 'stalled' });
    expect(more).toEqual([]);
  });

  it('leaves by itself otherwise, which is no expiry and no warning', async () => {
    const { port, run, handle, lines } = await world();
    const client = await attach(port, `/v1/runs/${run.runId}/events?claim=true`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    const released = new Promise<unknown[]>((tell) => {
      handle.onRelease = (...told) => tell(told);
    });
    client.socket.destroy();
    expect(await released).toEqual([run.runId, expect.any(String), 'released']);
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});

describe('a run whose end the store did not take', () => {
  it('ends the stream at once, without an end, so that the client comes back', async () => {
    const { port, run, handle } = await world();
    const client = await attach(port, `/v1/runs/${run.runId}/events`);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    run.lose();
    await client.ended;
    expect(client.body.endsWith('0\r\n\r\n')).toBe(false);
    expect([handle.journal.followers, run.lossListeners.size]).toEqual([0, 0]);
  });

  it('answers who waits for it to be cancelled', async () => {
    const { port, run, handle } = await world();
    handle.cancelMode = 'wait';
    const path = `/v1/runs/${run.runId}/cancel?wait=true`;
    const answer = ask({ port, method: 'POST', path });
    while (run.lossListeners.size === 0) await nextTurn();
    run.lose();
    expect((await answer).status).toBe(202);
  });
});

describe('what the store no longer has', () => {
  it('is a gap without an id, and the rest follows', async () => {
    const { port, run, handle } = await world();
    run.text('a', 'b', 'c');
    handle.journal.trim('cs_1', 2);
    const client = await attach(port, `/v1/runs/${run.runId}/events?named=true`);
    run.finish();
    await client.until(ended);
    const [gap, ...rest] = client.unchunked.slice(HEAD.length).split('\n\n');
    const [event, data, ...more] = gap?.split('\n') ?? [];
    expect([event, more]).toEqual(['event: gap', []]);
    const envelope = JSON.parse(data?.slice('data: '.length) ?? '') as Envelope & { seq?: number };
    expect(envelope).toMatchObject({
      session_id: 'cs_1',
      run_id: run.runId,
      payload: { kind: 'lifecycle', event: { type: 'gap', from: 1, to: 2 } },
    });
    expect(envelope.seq).toBeUndefined();
    expect(seqs(rest.join('\n\n'))).toEqual([3, 4, 5]);
  });

  it('is no gap of a run that began later', async () => {
    const made = await world();
    made.run.finish();
    const later = await startRun(made);
    later.finish();
    made.handle.journal.trim('cs_1', 2);
    const { text } = await ask({ port: made.port, path: `/v1/runs/${later.runId}/events` });
    expect(text).not.toContain('"gap"');
    expect(seqs(text)).toEqual([3, 4]);
  });

  it('may be the end of the run itself; the stream ends all the same', async () => {
    const { port, run, handle } = await world();
    run.text('a');
    run.finish();
    handle.journal.trim('cs_1', 3);
    const client = await attach(port, `/v1/runs/${run.runId}/events`);
    await client.until(ended);
    expect(seqs(client.unchunked)).toEqual([]);
    expect(client.unchunked).toContain('"gap"');
  });
});

describe('a run whose end the store did not take', () => {
  it('does not keep its readers for ever: they are cut, come back, and hear that it is over', async () => {
    const { port, run, clock } = await world();
    const path = `/v1/runs/${run.runId}/events`;
    const client = await attach(port, path);
    await client.until(({ unchunked }) => unchunked.includes('id: 1'));
    await clock.advance(60_000);
    expect(client.socket.closed).toBe(false);
    run.state = 'failed';
    await clock.advance(60_000);
    await client.ended;
    expect(client.body.endsWith('0\r\n\r\n')).toBe(false);
    const headers = { 'Last-Event-ID': '1' };
    expect((await ask({ port, path, headers })).status).toBe(204);
    expect(clock.pending).toEqual([]);
  });
});

describe('an unknown run', () => {
  it.each(['nobody', '01890000-0000-7000-8000-000000000001xyz', '%zz'])(
    '%s has no stream',
    async (id) => {
      const { port } = await world();
      const { status, text } = await ask({ port, path: `/v1/runs/${id}/events` });
      expect([status, JSON.parse(text).error.code]).toEqual([404, 'not_found']);
    },
  );
});
