/**
 * What the product costs, against a proxy that only copies bytes.
 *
 * Everything runs on loopback in processes of its own: the upstream, the proxy, the product; the
 * load comes from here. It reports and asserts nothing. `--quick` takes half a minute; `--profile
 * FOLDER` writes the product's CPU profile there.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { figure, median, quantile, table } from './figures.ts';
import { countRuns, openStreams, readStreams } from './load.ts';
import { type Target, startProduct, startProxy, startUpstream } from './targets.ts';

interface Plan {
  readonly chunks: number;
  /** Rounds that are not measured; a fresh process runs twice as slowly. */
  readonly warmUps: number;
  /** Rounds of the small levels and of the largest; product and proxy take turns in each. */
  readonly rounds: number;
  readonly roundsOfLargest: number;
  readonly held: number;
  readonly runsMs: number;
}

const FULL: Plan = {
  chunks: 200,
  warmUps: 8,
  rounds: 3,
  roundsOfLargest: 2,
  held: 500,
  runsMs: 4_000,
};
const QUICK: Plan = {
  chunks: 50,
  warmUps: 3,
  rounds: 1,
  roundsOfLargest: 1,
  held: 200,
  runsMs: 1_500,
};

const LEVELS = [1, 10, 100, 500] as const;
const INTERVAL_MS = 20;
/** Beyond this the generator on a small machine measures itself, so many streams are paced slower. */
const CHUNKS_A_SECOND_MAX = 5_000;
/** Between the starts of two streams, so that the flow is measured and not the rush at its door. */
const START_MS = 4;
/** Ends well before five minutes, whatever the machine: what was not begun by then is left out. */
const TIME_MS_MAX = 270_000;

interface Sample {
  readonly chunksPerCpuSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const began = performance.now();
const isLate = (): boolean => performance.now() - began > TIME_MS_MAX;
const say = (line: string): boolean => process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, profile: { type: 'string' } },
});
const plan = values.quick ? QUICK : FULL;

const upstream = await startUpstream();
const started: Target[] = [upstream];
try {
  const proxy = await startProxy(upstream.url);
  started.push(proxy);
  const product = await startProduct(upstream.url, values.profile);
  started.push(product);
  say(`Node ${process.version}, ${cpus().length} cores, ${plan.chunks} chunks a stream\n`);
  await warmUp([proxy, product], plan.warmUps);
  await relayFigures([proxy, product]);
  await memoryFigures();
  await runFigures([proxy, product]);
  say(`\n${figure((performance.now() - began) / 1000, 0)} s in all.`);
} finally {
  await Promise.all(started.map((target) => target.stop()));
}

/**
 * Code runs slowly until it was compiled; nobody wants to measure that. Chunks one by one: many at
 * once would take other paths.
 */
async function warmUp(targets: readonly Target[], rounds: number): Promise<void> {
  await upstream.pace({ chunks: 100, intervalMs: 5, hold: false });
  for (const { url } of targets) {
    for (let round = 0; round < rounds; round += 1) {
      await readStreams(url, { streams: 50, chunks: 100, spreadMs: 0 });
    }
  }
}

async function relayFigures(targets: readonly Target[]): Promise<void> {
  const rows: string[][] = [];
  for (const streams of LEVELS) {
    if (isLate()) say(`Out of time: ${streams} streams are left out.`);
    else rows.push(...(await level(streams, targets)));
  }
  say(
    table(
      ['streams', 'through', 'chunks/CPU s', 'of proxy', 'p50 ms', 'p99 ms', '+p50', '+p99'],
      rows,
    ),
  );
  say('p50, p99: upstream wrote to client read. +: beyond the same without anything between.');
}

async function level(streams: number, targets: readonly Target[]): Promise<string[][]> {
  const intervalMs = Math.max(INTERVAL_MS, Math.ceil((streams * 1000) / CHUNKS_A_SECOND_MAX));
  const load = { streams, chunks: plan.chunks, spreadMs: streams * START_MS };
  await upstream.pace({ chunks: plan.chunks, intervalMs, hold: false });
  const direct = await sample(upstream, load);
  const samples = new Map(targets.map((target) => [target, [] as Sample[]]));
  const rounds = streams === LEVELS.at(-1) ? plan.roundsOfLargest : plan.rounds;
  for (let round = 0; round < rounds; round += 1) {
    for (const target of targets) samples.get(target)?.push(await sample(target, load));
  }
  const [best] = samples.values();
  const limit = median((best ?? []).map((one) => one.chunksPerCpuSecond));
  return [
    row(`${streams}`, 'nothing', [direct], { direct, limit: Number.NaN }),
    ...targets.map((target) =>
      row(`${streams}`, target.name, samples.get(target) ?? [], { direct, limit }),
    ),
  ];
}

async function sample(
  target: Target,
  load: { readonly streams: number; readonly chunks: number; readonly spreadMs: number },
): Promise<Sample> {
  const before = await target.usage();
  const { chunks, latenciesMs } = await readStreams(target.url, load);
  const after = await target.usage();
  return {
    chunksPerCpuSecond: chunks / ((after.cpuMicros - before.cpuMicros) / 1e6),
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
  };
}

function row(
  streams: string,
  name: string,
  samples: readonly Sample[],
  { direct, limit }: { readonly direct: Sample; readonly limit: number },
): string[] {
  const rate = median(samples.map((one) => one.chunksPerCpuSecond));
  const p50 = median(samples.map((one) => one.p50Ms));
  const p99 = median(samples.map((one) => one.p99Ms));
  const isDirect = samples[0] === direct;
  return [
    streams,
    name,
    isDirect ? '-' : figure(rate, 0),
    figure(rate / limit, 2),
    figure(p50, 2),
    figure(p99, 2),
    isDirect ? '-' : figure(p50 - direct.p50Ms, 2),
    isDirect ? '-' : figure(p99 - direct.p99Ms, 2),
  ];
}

/** Streams that have begun and wait: what each costs a process that has done little before. */
async function memoryFigures(): Promise<void> {
  if (isLate()) return void say('Out of time: memory is left out.');
  const rows = [await memoryOf(startProxy), await memoryOf((url) => startProduct(url))];
  say(`\n${table(['open streams', 'through', 'RSS kB each', 'heap kB each'], rows)}`);
}

async function memoryOf(startTarget: (upstream: string) => Promise<Target>): Promise<string[]> {
  const target = await startTarget(upstream.url);
  try {
    await warmUp([target], 1);
    await upstream.pace({ chunks: 1, intervalMs: 1, hold: true });
    const before = await target.usage({ collect: true });
    const close = await openStreams(target.url, plan.held);
    const after = await target.usage({ collect: true });
    close();
    const each = (key: 'rssBytes' | 'heapBytes') =>
      figure((after[key] - before[key]) / plan.held / 1024, 1);
    return [`${plan.held}`, target.name, each('rssBytes'), each('heapBytes')];
  } finally {
    await target.stop();
  }
}

/** Runs of one chunk, as fast as they go: what a start and an end cost. */
async function runFigures(targets: readonly Target[]): Promise<void> {
  if (isLate()) return void say('Out of time: starts and ends are left out.');
  const lanes = 32;
  await upstream.pace({ chunks: 1, intervalMs: 0, hold: false });
  const rows: string[][] = [];
  for (const target of targets) {
    const before = await target.usage();
    const runs = await countRuns(target.url, { lanes, ms: plan.runsMs });
    const after = await target.usage();
    rows.push([
      `${lanes}`,
      target.name,
      figure(runs / (plan.runsMs / 1000), 0),
      figure((after.cpuMicros - before.cpuMicros) / runs, 0),
    ]);
  }
  say(`\n${table(['lanes', 'through', 'runs/s', 'CPU µs a run'], rows)}`);
}
