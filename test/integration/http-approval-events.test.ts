import { describe, expect, it } from 'vitest';
import { SupervisorError } from '../../src/errors.ts';
import type { ApprovalItem } from '../../src/approval-item.ts';
import { approvalItem as item } from '../support/approval-item.ts';
import { ask } from '../support/raw-client.ts';
import {
  ended,
  errorOf,
  nextTurn,
  refusal,
  runsWorlds,
  type RunsWorld,
} from '../support/runs-world.ts';

/** `GET /v1/approvals/events`: the inbox as it changes. */

const world = runsWorlds();
const FEED = '/v1/approvals/events';
const HEAD = 'retry: 1000\n: heartbeat\n';

const frame = (one: ApprovalItem): string => `event: approval\ndata: ${JSON.stringify(one)}\n\n`;
const ready = (pending: number): string =>
  `event: approvals_ready\ndata: {"pending":${pending}}\n\n`;

/** A reader that has been told how things stand. */
async function reading(made: RunsWorld, query = '', headers: string[] = []) {
  const reader = await made.reader(`${FEED}${query}`, headers);
  await reader.until(({ unchunked }) => unchunked.includes('event: approvals_ready'));
  return reader;
}

const drained = async (made: RunsWorld): Promise<void> => {
  while (made.handle.watchers.size > 0 || made.handle.tracked > 0) await nextTurn();
};

describe('GET /v1/approvals/events', () => {
  it('is how things stand, a mark behind that, and every change', async () => {
    const made = await world();
    made.handle.approvals = [item(2), item(1, { state: 'denied' })];
    const reader = await reading(made);
    const approved = item(2, { state: 'approved', decided_by: 'key:ops' });
    made.handle.approvalChanged(approved);
    made.handle.approvalChanged(item(3));
    await reader.until(({ unchunked }) => unchunked.endsWith(frame(item(3))));
    expect(reader.unchunked).toBe(
      HEAD +
        frame(item(2)) +
        frame(item(1, { state: 'denied' })) +
        ready(1) +
        frame(approved) +
        frame(item(3)),
    );
    expect(reader.headers).toContain('Content-Type: text/event-stream\r\n');
  });

  it.each([
    ['?agent=other', { agent: 'other' }],
    ['?session_id=cs_9', { session_id: 'cs_9' }],
    ['?run_id=run_9', { run_id: 'run_9' }],
    ['?tool_name=rm', { tool_name: 'rm' }],
    [
      '?origin=agent_requested',
      { origin: { kind: 'agent_requested', reason: 'r', agent_name: 'a' } as const },
    ],
  ])('%s leaves others out, now and later', async (query, change) => {
    const made = await world();
    made.handle.approvals = [item(2), item(1, change)];
    const reader = await reading(made, query);
    made.handle.approvalChanged(item(3));
    made.handle.approvalChanged(item(4, change));
    await reader.until(({ unchunked }) => unchunked.endsWith(frame(item(4, change))));
    expect(reader.unchunked).toBe(
      HEAD + frame(item(1, change)) + ready(1) + frame(item(4, change)),
    );
  });

  it('?state=pending tells of the one that is decided, once, and of no other decided one', async () => {
    const made = await world();
    made.handle.approvals = [item(2), item(1, { state: 'approved' })];
    const reader = await reading(made, '?state=pending');
    made.handle.approvalChanged(item(2, { state: 'timed_out' }));
    made.handle.approvalChanged(item(2, { state: 'timed_out', reason: 'again' }));
    made.handle.approvalChanged(item(1, { state: 'denied' }));
    made.handle.approvalChanged(item(3));
    await reader.until(({ unchunked }) => unchunked.endsWith(frame(item(3))));
    expect(reader.unchunked).toBe(
      HEAD + frame(item(2)) + ready(1) + frame(item(2, { state: 'timed_out' })) + frame(item(3)),
    );
  });

  it('?state=denied counts none as pending', async () => {
    const made = await world();
    made.handle.approvals = [item(2), item(1, { state: 'denied' })];
    const reader = await reading(made, '?state=denied');
    expect(reader.unchunked).toBe(HEAD + frame(item(1, { state: 'denied' })) + ready(0));
  });

  it('tells a reader that comes again how things stand, whatever it saw last', async () => {
    const made = await world();
    made.handle.approvals = [item(1)];
    const first = await reading(made);
    first.socket.destroy();
    const again = await reading(made, '', ['Last-Event-ID: 7']);
    expect(again.unchunked).toBe(HEAD + frame(item(1)) + ready(1));
  });

  it('is let go of when its reader leaves, also one that left while it was asked for', async () => {
    const made = await world();
    const reader = await reading(made);
    reader.socket.destroy();
    await drained(made);
    expect([made.pool.live, made.clock.pending]).toEqual([0, []]);
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const { promise: go, resolve: answer } = Promise.withResolvers<void>();
    made.handle.beforeWatch = () => {
      ask();
      return go;
    };
    const early = await made.reader(FEED);
    await asked;
    early.socket.destroy();
    await early.ended;
    answer();
    await drained(made);
    expect([made.pool.live, made.clock.pending]).toEqual([0, []]);
  });

  it('claims no run, and is counted by none', async () => {
    const made = await world();
    const run = await made.run({ claim: { observerId: 'obs' } });
    await reading(made);
    expect([run.claims.size, run.observers]).toEqual([1, 0]);
  });

  it('beats while nothing changes', async () => {
    const made = await world();
    const reader = await reading(made);
    await made.clock.advance(15_000);
    await reader.until(({ unchunked }) => unchunked === `${HEAD}${ready(0)}: heartbeat\n`);
  });

  it('is an error with a status when the store fails, or no place is left', async () => {
    const made = await world({ config: { sseStreamsMax: 1 } });
    made.handle.beforeWatch = async () => {
      throw new SupervisorError('store_unavailable', 'The store is down.');
    };
    expect(refusal(await made.get(FEED))).toEqual([503, 'store_unavailable']);
    made.handle.beforeWatch = async () => {};
    await reading(made);
    expect(refusal(await made.get(FEED))).toEqual([503, 'too_many_streams']);
    expect(made.handle.watchers.size).toBe(1);
  });

  it('lets go when the last place is taken while it is asked for', async () => {
    const made = await world({ config: { sseStreamsMax: 1 } });
    const { promise: go, resolve: answer } = Promise.withResolvers<void>();
    const asked: unknown[] = [];
    made.handle.beforeWatch = () => {
      asked.push(0);
      return go;
    };
    const both = [await made.reader(FEED), await made.reader(FEED)];
    while (asked.length < 2) await nextTurn();
    answer();
    await Promise.all(both.map((one) => one.until(({ text }) => text.includes('\r\n\r\n'))));
    const statuses = both.map(({ headers }) => headers.slice(0, 12)).toSorted();
    expect(statuses).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503']);
    expect([made.handle.watchers.size, made.pool.live]).toEqual([1, 1]);
  });

  it('opens no stream for HEAD, nor for a wrong filter', async () => {
    const made = await world();
    const { status, headers, text } = await ask({ port: made.port, method: 'HEAD', path: FEED });
    expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream', '']);
    const wrong = await made.get(`${FEED}?state=open`);
    expect([wrong.status, errorOf(wrong)['param']]).toEqual([400, 'state']);
    expect([made.handle.watchers.size, made.pool.live]).toEqual([0, 0]);
  });

  it('gives a slow reader what stands, whole, however much it is', async () => {
    const made = await world({ config: { sseBufferBytesMax: 100_000 } });
    const big = { arguments: { text: 'x'.repeat(30_000) } };
    made.handle.approvals = Array.from({ length: 300 }, (_, n) => item(300 - n, big));
    const reader = await made.reader(FEED);
    reader.socket.pause();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    reader.socket.resume();
    await reader.until(({ tail }) => tail.includes(ready(300)));
    expect([...reader.text.matchAll(/^event: approval$/gm)]).toHaveLength(300);
  });

  it('cuts a reader that takes less than changes, and says so in the log', async () => {
    const made = await world({ config: { sseBufferBytesMax: 100_000 } });
    const reader = await reading(made);
    reader.socket.pause();
    const big = { arguments: { text: 'x'.repeat(30_000) } };
    for (let n = 1; made.handle.watchers.size > 0 && n < 2_000; n++) {
      made.handle.approvalChanged(item(n, big));
      await nextTurn();
    }
    await drained(made);
    expect([made.pool.live, made.clock.pending]).toEqual([0, []]);
    const warnings = made.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ fields }) => fields)).toEqual([
      { feed: 'approvals', because: 'overflow' },
    ]);
  });
});

const text = 'x'.repeat(2_097_152);
/** So many of one agent; the kernel takes the first few of them for each reader. */
const huge = (agent: string, first: number, count: number): ApprovalItem[] =>
  Array.from({ length: count }, (_, n) => item(first + n, { agent, arguments: { text } }));

describe('many streams of approvals', () => {
  it('may all wait for the same, but not for more than the server can keep', async () => {
    const made = await world();
    made.handle.approvals = [...huge('a', 100, 24), ...huge('b', 200, 30), ...huge('c', 300, 24)];
    const warnings = () =>
      made.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
    const slow = async (agent: string, live: number) => {
      const reader = await made.reader(`${FEED}?agent=${agent}`);
      reader.socket.pause();
      while (made.pool.live < live) await nextTurn();
      return reader;
    };
    for (let live = 1; live <= 4; live++) await slow('a', live);
    const most = await slow('b', 5);
    expect(warnings()).toEqual([]);
    await made.reader(`${FEED}?agent=c`);
    while (warnings().length === 0) await nextTurn();
    most.socket.resume();
    await most.ended;
    expect(warnings()).toEqual([{ feed: 'approvals', because: 'overflow' }]);
    while (made.pool.live !== 5) await nextTurn();
    expect(made.handle.watchers.size).toBe(5);
  });
});

describe('a stream of approvals that was refused when much had been told for it', () => {
  it('takes no room from others', async () => {
    const made = await world();
    const told = Object.getPrototypeOf(made.handle).watchApprovals;
    made.handle.watchApprovals = async (_filter, watcher) => {
      for (const one of refused.splice(-12)) watcher.changed(one);
      throw new SupervisorError('store_unavailable', 'The store is down.');
    };
    const refused = huge('a', 100, 48);
    while (refused.length > 0) expect((await made.get(FEED)).status).toBe(503);
    made.handle.watchApprovals = told;
    made.handle.approvals = huge('b', 200, 30);
    const reader = await made.reader(FEED);
    await reader.until(({ tail }) => tail.includes('\n\n'));
    expect(reader.headers).toContain('HTTP/1.1 200');
  });
});

describe('the stream of approvals at shutdown', () => {
  it('ends soon when nothing waits for a decision', async () => {
    const made = await world();
    made.handle.approvals = [item(1, { parked: true }), item(2, { state: 'approved' })];
    const reader = await reading(made);
    await made.clock.advance(60_000);
    expect(ended(reader)).toBe(false);
    made.handle.phase = 'gated';
    await made.clock.advance(500);
    await reader.until(ended);
    await drained(made);
    expect(made.clock.pending).toEqual([]);
  });

  it('stays while a live run waits, to the end of that', async () => {
    const made = await world();
    made.handle.approvals = [item(1)];
    const reader = await reading(made);
    made.handle.phase = 'gated';
    await made.clock.advance(5_000);
    expect(ended(reader)).toBe(false);
    made.handle.approvalChanged(item(1, { state: 'approved' }));
    await made.clock.advance(500);
    await reader.until(ended);
    expect(reader.unchunked).toContain(frame(item(1, { state: 'approved' })));
  });

  it('ends at the drain, whatever waits', async () => {
    const made = await world();
    made.handle.approvals = [item(1)];
    const reader = await reading(made);
    made.handle.phase = 'draining';
    await made.clock.advance(500);
    await reader.until(ended);
  });

  it('is refused from the first signal on', async () => {
    const made = await world();
    made.handle.phase = 'gated';
    expect((await made.get(FEED)).status).toBe(503);
  });
});
