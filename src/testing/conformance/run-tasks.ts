import { lineOf } from './acts/entries.ts';
import { Api, type Target } from './acts/api.ts';
import { Mismatch, Skip } from './acts/mismatch.ts';
import { Stage } from './acts/stage.ts';
import { type Timers, within } from './acts/within.ts';
import type { Kit } from './kit/kit.ts';
import type { Verdict } from './report.ts';

/** One path to take, from a chart or written by hand. */
export interface Task {
  readonly feature: string;
  /** The path as a sentence. */
  readonly path: string;
  /** It starts a process of its own, so it is taken when the others are done. */
  readonly alone?: true;
  /** The signal bounds it; the stage's own requests end with it too. */
  take(stage: Stage, signal: AbortSignal): Promise<void>;
}

export interface RunOptions {
  readonly target: Target;
  readonly kit: Kit;
  readonly fetch: typeof fetch;
  readonly timers: Timers;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Told after each path. */
  readonly onVerdict: (verdict: Verdict) => void;
}

/** As many paths at a time as spread their waiting out and do not slow a small machine down. */
const PARALLEL = 12;
/** No path may take longer, whatever the server does. */
const PATH_MS_MAX = 60_000;

/** Takes the paths, some at a time, and gives their verdicts in the order of the tasks. */
export async function runTasks(tasks: readonly Task[], options: RunOptions): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const work = async (left: [number, Task][]): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, task] = next;
      const verdict = await takeTask(task, `${options.kit.name}-${index}`, options);
      verdicts[index] = verdict;
      options.onVerdict(verdict);
    }
  };
  const all = [...tasks.entries()];
  // Those that wait for a deadline come first, so that the others fill the time.
  const beside = all
    .filter(([, { alone }]) => alone !== true)
    .sort(([, a], [, b]) => Number(isSlow(b)) - Number(isSlow(a)));
  await Promise.all(Array.from({ length: PARALLEL }, () => work(beside)));
  await work(all.filter(([, { alone }]) => alone === true));
  return verdicts;
}

const isSlow = ({ path }: Task): boolean => /passes|is late|silent/.test(path);

async function takeTask(task: Task, id: string, options: RunOptions): Promise<Verdict> {
  const { feature, path } = task;
  const begun = options.now();
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const { fetch, timers } = options;
  const api = new Api(options.target, { fetch, timers, signal });
  const { model, tools } = options.kit;
  const stage = new Stage({ id, api, model, tools, signal });
  const timed = (): { feature: string; path: string; ms: number } => ({
    feature,
    path,
    ms: options.now() - begun,
  });
  try {
    await within({ ms: PATH_MS_MAX, timers, signal }, async (limit) => {
      const late = new Promise<never>((_, failed) => {
        limit.addEventListener('abort', () => failed(limit.reason), { once: true });
      });
      await Promise.race([task.take(stage, limit), late]);
    });
    return { ...timed(), verdict: 'pass' };
  } catch (error) {
    if (error instanceof Skip) return { ...timed(), verdict: 'skipped', why: error.message };
    return { ...timed(), verdict: 'fail', ...failureOf(error, stage) };
  } finally {
    stage.letGo((call) => call.say());
    over.abort();
  }
}

function failureOf(error: unknown, stage: Stage) {
  const why = error instanceof Error ? `${error.message}${causeOf(error)}` : String(error);
  return {
    why,
    ...(error instanceof Mismatch && { expected: error.expected, seen: error.seen }),
    journal: stage.entries.map(lineOf),
    requests: stage.api.trace,
  };
}

/** Of a failed request, what the network said. */
const causeOf = ({ cause }: Error): string => (cause instanceof Error ? ` (${cause.message})` : '');
