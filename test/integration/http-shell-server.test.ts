import { once } from 'node:events';
import http from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type FakeRun, startCommand } from '../support/fake-handle.ts';
import { type HttpWorld, httpWorld } from '../support/http-world.ts';
import { RawConnection } from '../support/raw-client.ts';

const opened: HttpWorld[] = [];

async function world(): Promise<HttpWorld> {
  const made = await httpWorld();
  opened.push(made);
  return made;
}

async function startRun({ handle }: HttpWorld): Promise<FakeRun> {
  const { runId } = await handle.start(startCommand());
  const run = handle.runs.get(runId);
  if (run === undefined) throw new Error('invariant: the fake keeps what it starts');
  return run;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('a listening server', () => {
  it('takes no connection once it drains, ends idle ones, and lets the rest finish', async () => {
    const made = await world();
    const run = await startRun(made);
    const agent = new http.Agent({ keepAlive: true });
    const request = http.get({ host: '127.0.0.1', port: made.port, path: '/health', agent });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.resume();
    const [idle] = (await once(agent, 'free')) as [NodeJS.EventEmitter];
    const busy = await RawConnection.open(made.port);
    busy.get(`/v1/runs/${run.runId}/events`);
    await busy.until(({ unchunked }) => unchunked.includes('id: 1'));
    const idleEnded = once(idle, 'close');
    made.server.drain();
    await idleEnded;
    await expect(RawConnection.open(made.port)).rejects.toThrow(/ECONNREFUSED/);
    run.finish();
    await busy.ended;
    expect(busy.unchunked).toContain('"finished"');
    expect(busy.body.endsWith('0\r\n\r\n')).toBe(true);
  });

  it('says in what it answers while it drains that the connection ends', async () => {
    const made = await world();
    made.handle.cancelMode = 'wait';
    const run = await startRun(made);
    const busy = await RawConnection.open(made.port);
    busy.write(`POST /v1/runs/${run.runId}/cancel?wait=true HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    while (made.handle.journal.followers === 0) await nextTurn();
    made.server.drain();
    run.cancelled('external');
    await busy.ended;
    expect(busy.headers).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(busy.headers).toContain('Connection: close');
  });

  it('cuts what is left when it closes', async () => {
    const made = await world();
    const run = await startRun(made);
    const busy = await RawConnection.open(made.port);
    busy.get(`/v1/runs/${run.runId}/events`);
    await busy.until(({ unchunked }) => unchunked.includes('id: 1'));
    await made.server.close();
    await busy.ended;
    expect([busy.body.endsWith('0\r\n\r\n'), made.pool.live]).toEqual([false, 0]);
  });

  it('names what is under way, the oldest first, without what may be secret', async () => {
    const made = await world();
    const run = await startRun(made);
    made.handle.cancelMode = 'wait';
    const reader = await RawConnection.open(made.port);
    reader.get(`/v1/runs/${run.runId}/events?claim=true&key=sk-secret`);
    await reader.until(({ unchunked }) => unchunked.includes('id: 1'));
    await made.clock.advance(2_500);
    const waiting = await RawConnection.open(made.port);
    waiting.write(
      `POST /v1/runs/${run.runId}/cancel?wait=true HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    await reader.until(({ unchunked }) => unchunked.includes('"stopping"'));
    const events = { method: 'GET', path: `/v1/runs/${run.runId}/events`, age_ms: 2_500 };
    const cancel = { method: 'POST', path: `/v1/runs/${run.runId}/cancel`, age_ms: 0 };
    expect(made.server.inFlight(9)).toEqual({ count: 2, oldest: [events, cancel] });
    expect(made.server.inFlight(1)).toEqual({ count: 2, oldest: [events] });
    run.cancelled('external');
    await waiting.until(({ text }) => text.includes('"state":"cancelled"'));
  });

  it('says which address is taken', async () => {
    const made = await world();
    const taken = httpWorld({ config: { port: made.port } });
    await expect(taken).rejects.toThrow(`port ${made.port}: it is taken`);
  });
});
