import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { UpstreamRequest } from '../../src/testing/fake-upstream.ts';
import { delta, reply, type UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import { DONE } from '../support/fault-steps.ts';
import {
  askedOf,
  linesOf,
  readRun,
  recordOf,
  type Started,
  startRun,
  toolCall,
  wholeRun,
  type Witness,
  witnesses,
} from '../support/fault-world.ts';
import type { Exchange } from '../support/system-client.ts';
import { type ProcessWorld, processWorlds, type ServerProcess } from '../support/system-process.ts';
import { expectSoundStore } from '../support/system-store.ts';

/** A disk that takes nothing any more: who is told, what is kept, and what is made good later. */

const start = processWorlds();
const witness = witnesses();
const SECRET = 'sk-system-test-0123456789';
const MAIN = resolve('src/cli/main.ts');
const LONG = 'More '.repeat(20_000);
const OWNER_LOST = { type: 'failed', error: { code: 'owner_lost' } };
const STORE_LOST = { type: 'failed', error: { code: 'store_unavailable' } };

const troubled = (kind: string): readonly string[] => {
  const preload = `${new URL('../support/fault-disk.ts', import.meta.url).href}?${kind}`;
  return [process.execPath, '--import', preload, MAIN];
};

async function* endless(): AsyncGenerator<UpstreamStep> {
  for (let n = 0; ; n += 1) {
    yield delta({ content: `${n} ${'x'.repeat(500)}` });
    yield { kind: 'delay', ms: 5 };
  }
}

/** The prompt says what the model does. */
function respond(request: UpstreamRequest) {
  const { prompt, turn } = askedOf(request);
  if (prompt === 'speak') return { steps: endless() };
  if (prompt === 'work' && turn === 0) {
    return { steps: reply({ toolCalls: [toolCall('x', 'hold')] }) };
  }
  return DONE;
}

interface Troubled {
  readonly world: ProcessWorld;
  readonly server: ServerProcess;
  readonly seen: Witness;
  readonly chat: Exchange;
  readonly speaks: Started;
  readonly works: Started;
  readonly readers: readonly Exchange[];
}

/** A server with a chat, a run that speaks and one that works, whose disk then takes nothing. */
async function inTrouble(command: readonly string[]): Promise<Troubled> {
  const seen = witness();
  const world = await start({ command, respond, toml: seen.toml, grace: 0.1 });
  const { server } = world;
  const chat = server.chat('chat', { messages: [{ role: 'user', content: 'speak' }] });
  const speaks = await startRun(server, { prompt: 'speak', session_id: 'speaks' });
  const works = await startRun(server, { prompt: 'work', session_id: 'works' });
  const readers = [speaks, works].map(({ run_id: runId }) => readRun(server, runId));
  await readers[0]?.until(({ body }) => body.includes('text_delta'));
  await readers[1]?.until(({ body }) => body.includes('"Noted"'));
  await chat.until(({ text }) => text !== '');
  return { world, server, seen, chat, speaks, works, readers };
}

async function turn(server: ServerProcess, isWell: boolean): Promise<void> {
  const from = server.log.length;
  process.kill(server.pid, 'SIGUSR2');
  expect(await server.logged('disk', from)).toMatchObject({ isWell });
}

/** Everybody who asks or listens is told, and nothing pretends. */
async function expectTold({ server, chat, readers }: Troubled): Promise<void> {
  await chat.all();
  expect(chat.error).toMatchObject({ code: 'store_unavailable' });
  expect(chat.body.endsWith('data: [DONE]\n\n')).toBe(true);
  await readers[0]?.closed;
  // A short one may still fit where nothing else does.
  const refused = server.ask('/v1/runs', { method: 'POST', body: { prompt: LONG } });
  expect(await refused.status()).toBe(503);
  expect(await refused.json()).toMatchObject({ error: { code: 'store_unavailable' } });
  const health = await server.ask('/health').json();
  expect(health).toMatchObject({ status: 'degraded' });
  expect(JSON.stringify(health)).not.toContain(MAIN.slice(0, 5));
}

interface Ends {
  readonly speaks: object;
  readonly works: object;
}

/** What the store lacked is there: each run has its end, and what was open is closed. */
async function expectMadeGood(server: ServerProcess, { seen, ...runs }: Troubled, ends: Ends) {
  for (const which of ['speaks', 'works'] as const) {
    const { run_id: runId } = runs[which];
    const entries = await wholeRun(server, runId);
    const end = entries.at(-1)?.payload.event;
    expect(end).toMatchObject(ends[which]);
    expect(await recordOf(server, runId)).toMatchObject({ state: end?.type, claims: [] });
  }
  expect(seen.count('x')).toBe(1);
  const next = await startRun(server, { prompt: 'More', session_id: 'works' });
  const entries = await wholeRun(server, next.run_id);
  expect(entries.at(-1)?.payload.event.type).toBe('finished');
  expect(await server.ask('/health').json()).toMatchObject({ status: 'healthy' });
}

async function expectClean(server: ServerProcess, { dataDir, upstream }: ProcessWorld) {
  expect(upstream.faults).toEqual([]);
  server.signal('SIGTERM');
  expect(await server.exit()).toEqual([0, null]);
  await expectSoundStore(dataDir, SECRET);
}

describe.each(['full', 'readonly'])('a disk that is %s', (kind) => {
  it('ends what lives, refuses what comes, and is made good when it is well again', async () => {
    const troubles = await inTrouble(troubled(kind));
    const { server, world } = troubles;
    await turn(server, false);
    await expectTold(troubles);
    await turn(server, true);
    const again = await startRun(server, { prompt: 'More', session_id: 'other' });
    await wholeRun(server, again.run_id);
    expect(await server.logged('The store takes writes again')).toBeDefined();
    // It had nothing to write meanwhile, so it never noticed.
    const cancel = `/v1/runs/${troubles.works.run_id}/cancel?wait=true`;
    expect(await server.ask(cancel, { method: 'POST' }).status()).toBe(200);
    const works = { type: 'cancelled', reason: 'external' };
    await expectMadeGood(server, troubles, { speaks: STORE_LOST, works });
    await expectClean(server, world);
  }, 60_000);

  it('is made good by the next process too', async () => {
    const troubles = await inTrouble(troubled(kind));
    const { server, world } = troubles;
    await turn(server, false);
    await expectTold(troubles);
    server.signal('SIGTERM');
    expect(await server.exit()).toEqual([0, null]);
    const next = await world.again([process.execPath, MAIN]);
    await expectMadeGood(next, troubles, { speaks: OWNER_LOST, works: OWNER_LOST });
    await expectClean(next, world);
  }, 60_000);
});

/** In blocks of 1,024 bytes: what SQLite needs to begin with, and a little more. */
const FILE_BLOCKS = 512;
const LIMITED = [
  '/bin/bash',
  '-c',
  // The signal that comes with the error would end the process before it could tell anybody.
  `trap '' XFSZ; ulimit -f ${FILE_BLOCKS}; exec "$0" "$@"`,
  process.execPath,
  MAIN,
];

describe('a system that lets no file grow beyond a limit', () => {
  it('ends what lives, refuses what comes, and loses nothing that somebody saw', async (test) => {
    test.skip(process.platform === 'win32', 'there is no limit of a file there');
    const troubles = await inTrouble(LIMITED);
    const { server, world, readers } = troubles;
    await expectTold(troubles);
    await server.kill();
    const next = await world.again([process.execPath, MAIN]);
    await expectMadeGood(next, troubles, { speaks: { type: 'failed' }, works: { type: 'failed' } });
    const again = readRun(next, troubles.speaks.run_id);
    await again.all();
    const before = linesOf(readers[0] as Exchange); // `inTrouble` gives two.
    expect(linesOf(again).slice(0, before.length)).toEqual(before);
    await expectClean(next, world);
  }, 60_000);
});
