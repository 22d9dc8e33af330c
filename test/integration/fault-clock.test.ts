import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/journal/events.ts';
import { delta, finish, reply } from '../../src/testing/fake-upstream-steps.ts';
import { DONE } from '../support/fault-steps.ts';
import {
  askedOf,
  entriesOf,
  readRun,
  recordOf,
  type Respond,
  type Started,
  startRun,
  toolCall,
  wholeRun,
  witnesses,
} from '../support/fault-world.ts';
import { type ProcessWorld, processWorlds, type ServerProcess } from '../support/system-process.ts';
import { expectSoundStore } from '../support/system-store.ts';

/**
 * The machine's clock is set by an hour while runs live. What is measured in the process goes by time
 * that has really passed; `at` shows what the clock said, and `seq` alone is the order.
 */

const start = processWorlds();
const witness = witnesses();
const SECRET = 'sk-system-test-0123456789';
const MAIN = resolve('src/cli/main.ts');
const HOUR_MS = 3_600_000;
const INACTIVITY = ['--stream-inactivity-timeout-secs', '0.8'];
const PRELOAD = new URL('../support/fault-clock.ts', import.meta.url).href;

interface Jumping {
  readonly world: ProcessWorld;
  readonly server: ServerProcess;
  readonly jump: () => Promise<void>;
}

async function jumping(
  byMs: number,
  { respond, toml = '', flags }: { respond: Respond; toml?: string; flags?: readonly string[] },
): Promise<Jumping> {
  const world = await start({
    command: [process.execPath, '--import', `${PRELOAD}?${byMs}`, MAIN],
    clock: 'set',
    toml,
    respond: (request) => respond(askedOf(request)),
    ...(flags !== undefined && { flags }),
  });
  const { server } = world;
  const jump = async () => {
    const from = server.log.length;
    process.kill(server.pid, 'SIGUSR2');
    await server.logged('clock', from);
  };
  return { world, server, jump };
}

async function expectClean({ server, world }: Jumping): Promise<void> {
  server.signal('SIGTERM');
  expect(await server.exit()).toEqual([0, null]);
  await expectSoundStore(world.dataDir, SECRET, { clock: 'set' });
}

const endOf = (entries: readonly Envelope[]) => entries.at(-1)?.payload.event;

/** How far the clock had been set by the last entry, in hours. */
function hoursOf(entries: readonly Envelope[]): number {
  const [first, last] = [entries[0]?.at ?? 0, entries.at(-1)?.at ?? 0];
  return Math.round((last - first) / HOUR_MS);
}

/** Half an answer, and the rest when it is let go. */
function halves() {
  const { promise: open, resolve: go } = Promise.withResolvers<void>();
  const steps = [delta({ content: 'Half' }), { kind: 'gate', open } as const, finish('stop')];
  return { answer: { steps }, go };
}

async function speaking(server: ServerProcess, body: object): Promise<Started> {
  const run = await startRun(server, { prompt: 'Go', session_id: 's', ...body });
  await readRun(server, run.run_id).until(({ body: read }) => read.includes('Half'));
  return run;
}

describe.each([
  ['forward', HOUR_MS, 1],
  ['back', -HOUR_MS, -1],
])('a clock that is set %s by an hour', (_way, byMs, hours) => {
  it('neither ends a run nor unsettles the order of its entries', async () => {
    const { answer, go } = halves();
    const jumped = await jumping(byMs, { respond: () => answer });
    const { server, jump } = jumped;
    const run = await speaking(server, {});
    await jump();
    go();
    const entries = await wholeRun(server, run.run_id);
    expect(endOf(entries)?.type).toBe('finished');
    expect(hoursOf(entries)).toBe(hours);
    const seqs = entries.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, at) => at + 1));
    expect((await recordOf(server, run.run_id)).end?.after_ms).toBeGreaterThanOrEqual(0);
    await expectClean(jumped);
  });

  it('leaves the deadlines of a run when they were due', async () => {
    const { answer } = halves();
    const jumped = await jumping(byMs, { respond: () => answer, flags: INACTIVITY });
    const { server, jump } = jumped;
    const total = await speaking(server, { session_id: 'total', timeout_ms: 700 });
    const silence = await speaking(server, { session_id: 'silence' });
    await jump();
    const ends = { total: endOf(await wholeRun(server, total.run_id)), silence: undefined };
    expect(ends.total).toMatchObject({ type: 'cancelled', which: 'total' });
    const end = endOf(await wholeRun(server, silence.run_id));
    expect(end).toMatchObject({ type: 'cancelled', which: 'inactivity' });
    for (const { after_ms } of [ends.total, end] as { after_ms: number }[]) {
      expect(after_ms).toBeGreaterThan(0);
      expect(after_ms).toBeLessThan(HOUR_MS / 2);
    }
    await expectClean(jumped);
  });

  it('takes nothing from the time that a run has left when it waits for a person', async () => {
    const seen = witness();
    const { promise: open, resolve: go } = Promise.withResolvers<void>();
    const asks = reply({ text: ['Half'], toolCalls: [toolCall('x', 'quick', 'gated')] });
    const steps = [...asks.slice(0, 2), { kind: 'gate', open } as const, ...asks.slice(2)];
    const jumped = await jumping(byMs, {
      respond: ({ turn }) => (turn === 0 ? { steps } : DONE),
      toml: `${seen.toml}\n[hitl]\nrequire_approval = ["gated"]
route = { mode = "conversational", timeout_secs = 600 }`,
    });
    const { server, jump } = jumped;
    const run = await speaking(server, {});
    await jump();
    go();
    const reader = readRun(server, run.run_id);
    await reader.until(({ body }) => body.includes('approval_pending'));
    await jump();
    const { approvals } = await recordOf(server, run.run_id);
    const asked = { method: 'POST', body: { approved: true } };
    expect(await server.ask(`/v1/approvals/${approvals[0]}`, asked).status()).toBe(204);
    await reader.all();
    expect(endOf(entriesOf(reader))?.type).toBe('finished');
    expect(seen.count('x')).toBe(1);
    await expectClean(jumped);
  });

  it('leaves a grace window open as long as it was, and closes it then', async () => {
    const { answer, go } = halves();
    const jumped = await jumping(byMs, { respond: () => answer });
    const { server, jump } = jumped;
    const left = async (session: string, graceMs: number) => {
      const liveness = { policy: 'cancel', grace_ms: graceMs };
      const run = await speaking(server, { session_id: session, liveness });
      const claim = server.ask(`/v1/runs/${run.run_id}/events?claim=true`);
      await claim.until(({ body }) => body.includes('observer_attached'));
      await claim.leave();
      await readRun(server, run.run_id).until(({ body }) => body.includes('claims_exhausted'));
      return run;
    };
    const [long, short] = [await left('long', 60_000), await left('short', 500)];
    await jump();
    const end = endOf(await wholeRun(server, short.run_id));
    expect(end).toMatchObject({ type: 'cancelled', reason: 'unclaimed' });
    const back = server.ask(`/v1/runs/${long.run_id}/events?claim=true`);
    await back.until(({ body }) => body.includes('"within_grace":true'));
    go();
    await back.all();
    expect(endOf(entriesOf(back))?.type).toBe('finished');
    await expectClean(jumped);
  });
});
