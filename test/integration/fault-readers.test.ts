import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { delta, type UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import { entriesOf, recordOf, type Started, startRun, wholeRun } from '../support/fault-world.ts';
import { processWorlds, type ServerProcess } from '../support/system-process.ts';
import { expectSoundStore } from '../support/system-store.ts';

/** Readers come and go without a word, thousands of them, and leave nothing behind. */

const start = processWorlds();
const SECRET = 'sk-system-test-0123456789';
const RUNS = 4;
const READERS = 3_000;
const WARM_UP = 300;
const AT_ONCE = 40;
const GRACE_MS = 20;
/** What one reader in a hundred would keep, if it kept but its buffers, is more. */
const HEAP_BYTES_MAX = 4_194_304;
/** What the event loop of the store's one thread opens; a leak of one reader in a hundred is more. */
const WORKER_FILES = 12;
const PROBED = [
  '--expose-gc',
  '--import',
  fileURLToPath(new URL('../support/fault-probe.ts', import.meta.url)),
];
const COMMAND = [process.execPath, ...PROBED, resolve('src/cli/main.ts')];

interface Visit {
  readonly claims: boolean;
  /** Leaves after so many frames and turns of the event loop. */
  readonly frames: number;
  readonly turns: number;
}

const visit: fc.Arbitrary<Visit> = fc.record({
  claims: fc.boolean(),
  frames: fc.integer({ min: 0, max: 6 }),
  turns: fc.integer({ min: 0, max: 10 }),
});

async function* endless(): AsyncGenerator<UpstreamStep> {
  for (let n = 0; ; n += 1) {
    yield delta({ content: `${n} ` });
    yield { kind: 'delay', ms: 25 };
  }
}

async function visitRun(server: ServerProcess, runId: string, how: Visit): Promise<void> {
  const reader = server.ask(`/v1/runs/${runId}/events${how.claims ? '?claim=true' : ''}`);
  if (how.frames > 0) await reader.until(({ frames }) => frames.length >= how.frames);
  for (let turn = 0; turn < how.turns; turn += 1) await new Promise(setImmediate);
  await reader.leave();
}

/** Lets all the visitors come, so many at once, to runs that live as long. */
async function visitAll(server: ServerProcess, visits: readonly Visit[]): Promise<void> {
  const runs = await Promise.all(
    Array.from({ length: RUNS }, () =>
      startRun(server, {
        prompt: 'Go on',
        liveness: { policy: 'continue', grace_ms: GRACE_MS },
      }),
    ),
  );
  const left = visits.entries();
  const worker = async () => {
    for (const [at, how] of left) await visitRun(server, runs[at % RUNS]?.run_id ?? '', how);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const run of runs) await expectLeft(server, run);
}

/** Nobody is there any more, the run went on regardless, and it ends once. */
async function expectLeft(server: ServerProcess, { run_id: runId }: Started): Promise<void> {
  const reader = server.ask(`/v1/runs/${runId}/events?kind=lifecycle`);
  const count = (type: string) =>
    entriesOf(reader).filter(({ payload }) => payload.event.type === type).length;
  await reader.until(() => {
    const last = entriesOf(reader).at(-1);
    return last?.payload.event.type === 'liveness_decided';
  });
  expect(await recordOf(server, runId)).toMatchObject({ state: 'running', claims: [] });
  expect(count('observer_attached')).toBeGreaterThan(0);
  expect(count('observer_detached')).toBe(count('observer_attached'));
  const cancel = `/v1/runs/${runId}/cancel?wait=true`;
  expect(await server.ask(cancel, { method: 'POST' }).status()).toBe(200);
  await reader.all();
  const entries = await wholeRun(server, runId);
  const ends = entries.filter(({ payload }) => 'end' in payload.event);
  expect(ends).toHaveLength(1);
  expect(await recordOf(server, runId)).toMatchObject({ state: 'cancelled', observers: 0 });
}

interface Held {
  readonly heapBytes: number;
  readonly handles: Readonly<Record<string, number>>;
  /** Open files and sockets, where the system tells. */
  readonly files: number;
}

async function held(server: ServerProcess): Promise<Held> {
  const before = server.log.length;
  process.kill(server.pid, 'SIGUSR2');
  const { heapBytes, handles } = (await server.logged('probe', before)) as unknown as Held;
  const files = process.platform === 'linux' ? readdirSync(`/proc/${server.pid}/fd`).length : 0;
  // The store's own thread comes with its first megabytes and stays.
  const { MessagePort: _thread, ...own } = handles;
  return { heapBytes, handles: own, files };
}

/** Sockets close a little after their requests, so what is left of them is waited for. */
async function heldAtRest(server: ServerProcess, atMost?: Held): Promise<Held> {
  for (let tries = 0; ; tries += 1) {
    const now = await held(server);
    const sockets = now.handles['TCPSocketWrap'] ?? 0;
    const most = atMost?.handles['TCPSocketWrap'] ?? 0;
    if (sockets <= most || tries === 100) return now;
    await new Promise((settled) => setTimeout(settled, 20));
  }
}

it(`${READERS} readers that come and go leave memory and handles as they were`, async () => {
  // A failure tells the one number that makes all of them.
  const property = fc.asyncProperty(fc.nat(), async (seed) => {
    const all = fc.sample(visit, { seed, numRuns: READERS });
    const world = await start({ command: COMMAND, respond: () => ({ steps: endless() }) });
    const { server } = world;
    await visitAll(server, all.slice(0, WARM_UP));
    const before = await heldAtRest(server);
    await visitAll(server, all);
    const after = await heldAtRest(server, before);
    expect(after.handles).toEqual(before.handles);
    expect(after.files).toBeLessThan(before.files + WORKER_FILES);
    expect(after.heapBytes - before.heapBytes).toBeLessThan(HEAP_BYTES_MAX);
    server.signal('SIGTERM');
    expect(await server.exit()).toEqual([0, null]);
    await expectSoundStore(world.dataDir, SECRET);
  });
  await fc.assert(property, { numRuns: 1, endOnFailure: true });
}, 120_000);
