import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { RunRecord } from '../../src/handle.ts';
import type { Envelope, JournalEvent } from '../../src/journal/events.ts';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import type { Exchange } from '../support/system-client.ts';
import {
  type ProcessOptions,
  type ProcessWorld,
  processWorlds,
  type ServerProcess,
} from '../support/system-process.ts';
import { expectSoundStore, readSessions } from '../support/system-store.ts';

/**
 * A process is killed with a run in it, and another one starts on its data: the run has its end, what
 * a reader saw is there, and the session goes on at once.
 */

const start = processWorlds();
const SECRET = 'sk-system-test-0123456789';
const COUNT = { id: 'call_1', name: 'slow_count', arguments: { to: 10_000, delay_ms: 100 } };

const CALL: UpstreamAnswer = { steps: reply({ text: ['One. '], toolCalls: [COUNT] }) };

const GATED = `[hitl]
require_approval = ["slow_count"]
route = { mode = "conversational", timeout_secs = 60 }`;

interface Lost {
  readonly world: ProcessWorld;
  readonly chat: Exchange;
  readonly server: ServerProcess;
  readonly runId: string;
  /** Every entry of the run, its end included. */
  readonly entries: readonly Envelope[];
}

interface Plan extends ProcessOptions {
  /** What the model is asked for before the end, if it is asked at all. */
  readonly answer?: UpstreamAnswer;
  /** Resolves when the run has come far enough. */
  readonly until?: (run: { server: ServerProcess; chat: Exchange; runId: string }) => Promise<void>;
}

/** Kills the process at the moment planned, and waits for what the next one tells. */
async function killed({ answer, until, ...options }: Plan): Promise<Lost> {
  const world = await start(options);
  if (answer !== undefined) world.answer(answer);
  const chat = world.server.chat('s');
  const runId = await chat.runId();
  await until?.({ server: world.server, chat, runId });
  world.server.signal('SIGKILL');
  expect(await world.server.exit()).toEqual([null, 'SIGKILL']);
  await chat.closed;
  const server = await world.again();
  const events = server.ask(`/v1/runs/${runId}/events`);
  const entries = (await events.all())
    .filter(({ data }) => data !== '')
    .map(({ data }) => JSON.parse(data) as Envelope);
  expect(events.complete).toBe(true);
  return { world, chat, server, runId, entries };
}

const eventsOf = ({ entries }: Lost): JournalEvent[] => entries.map(({ payload }) => payload.event);

/** What holds at whichever moment the process was killed. */
async function expectLost(lost: Lost): Promise<void> {
  const { world, server, chat, runId, entries } = lost;
  const last = entries.at(-1);
  expect(last?.payload.event).toMatchObject({ type: 'failed', error: { code: 'owner_lost' } });
  const record = (await server.ask(`/v1/runs/${runId}`).json()) as unknown as RunRecord;
  expect(record).toMatchObject({
    state: 'failed',
    claims: [],
    approvals: [],
    deadlines: [],
    last_seq: last?.seq,
    end: { by: 'supervisor', error: { code: 'owner_lost', retryable: true } },
  });
  const told = eventsOf(lost).flatMap((event) => (event.type === 'text_delta' ? event.text : []));
  expect(told.join('').startsWith(chat.text)).toBe(true);
  await expectGoesOn(world, server);
}

/** The session has no owner any more, and nobody waits for that. */
async function expectGoesOn(world: ProcessWorld, server: ServerProcess): Promise<void> {
  world.answer({ steps: reply({ text: ['Back'] }) });
  const next = server.chat('s');
  expect(await next.status()).toBe(200);
  await next.all();
  expect(next.text).toBe('Back');
  server.signal('SIGTERM');
  expect(await server.exit()).toEqual([0, null]);
  await expectSoundStore(world.dataDir, SECRET);
  const [session] = await readSessions(world.dataDir);
  expect(session?.records.map(({ state }) => state)).toEqual(['finished', 'failed']);
}

describe('a process that is killed', () => {
  it('while a model speaks: what was read is kept (INV-57)', async () => {
    const words = Array.from({ length: 5_000 }, (_, at) => `${at} `);
    const lost = await killed({
      answer: { steps: reply({ text: words, everyMs: 1 }) },
      until: ({ chat }) => chat.until(({ text }) => text.includes('200 ')),
    });
    await expectLost(lost);
    expect(
      lost.server.log.filter(({ msg }) => msg === 'A lost run has been settled'),
    ).toMatchObject([{ run_id: lost.runId, session_id: 's' }]);
  }, 60_000);

  it('while a tool works: its effect is not known', async () => {
    const lost = await killed({
      mcp: ['demo'],
      answer: CALL,
      until: ({ server, runId }) =>
        server.ask(`/v1/runs/${runId}/events`).until(({ body }) => body.includes('tool_progress')),
    });
    const ends = eventsOf(lost).filter(({ type }) => type === 'tool_complete');
    expect(ends).toEqual([
      expect.objectContaining({ tool_id: 'call_1', success: false, effect: 'unknown' }),
    ]);
    await expectLost(lost);
  }, 60_000);

  it('while a person is asked: nothing can be approved any more', async () => {
    const isAsked = (chat: Exchange) => chat.data('aura.approval_pending').length > 0;
    const lost = await killed({
      mcp: ['demo'],
      toml: GATED,
      answer: CALL,
      until: ({ chat }) => chat.until(isAsked),
    });
    const ends = eventsOf(lost).filter(({ type }) => type === 'tool_complete');
    expect(ends).toEqual([expect.objectContaining({ success: false, approval: 'cancelled' })]);
    const id = String(lost.chat.data('aura.approval_pending')[0]?.['decision_id']);
    const decided = lost.server.ask(`/v1/approvals/${id}`, {
      method: 'POST',
      body: { approved: true },
    });
    expect(await decided.status()).toBe(404);
    await expectLost(lost);
  }, 60_000);

  it('in the setup of a run: the run has its end although nothing was done', async () => {
    const hung = Promise.withResolvers<void>();
    // Silent as long as the first process lives, then in nobody's way.
    const server = createServer((request) => void hung.promise.then(() => request.destroy()));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // It listens on a port.
    const lost = await killed({
      toml: `[mcp.servers.mute]
transport = "http_streamable"
url = "http://127.0.0.1:${port}/mcp"`,
    });
    expect(eventsOf(lost).map(({ type }) => type)).toEqual([
      'started',
      'observer_attached',
      'failed',
    ]);
    hung.resolve();
    await expectLost(lost);
    server.closeAllConnections();
    server.close();
  }, 60_000);
});

describe('two processes on the same data', () => {
  it('leave each other the runs they have, and one goes on where the other was killed', async () => {
    const world = await start();
    const going = Promise.withResolvers<void>();
    const steps = reply({ text: ['One. ', 'Two.'] });
    world.answer({
      steps: [...steps.slice(0, 2), { kind: 'gate', open: going.promise }, ...steps.slice(2)],
    });
    const chat = world.server.chat('s');
    await chat.until(({ text }) => text === 'One. ');
    const other = await world.again();
    const runId = await chat.runId();
    expect(await other.ask(`/v1/runs/${runId}`).json()).toMatchObject({ state: 'running' });
    expect(await other.chat('s').status()).toBe(409);
    going.resolve();
    await chat.all();
    expect(chat.text).toBe('One. Two.');
    expect(await other.ask(`/v1/runs/${runId}`).json()).toMatchObject({ state: 'finished' });

    world.answer({ steps: [...steps.slice(0, 2), { kind: 'stall' }] });
    const second = world.server.chat('s');
    await second.until(({ text }) => text === 'One. ');
    await world.server.kill();
    world.answer({ steps: reply({ text: ['Mine.'] }) });
    const mine = other.chat('s');
    await mine.all();
    expect(mine.text).toBe('Mine.');
  }, 60_000);
});
