import { chartTasks } from './chart-tasks.ts';
import type { ConformanceOptions } from './options.ts';
import { CHART_FEATURES, walkCharts } from './paths/all.ts';
import type { Report } from './report.ts';
import type { Task } from './run-tasks.ts';
import { shutdownTasks } from './shutdown-tasks.ts';
import { CHAT_CHECKS } from './wire/chat.ts';
import { ERROR_CHECKS } from './wire/errors.ts';
import { REPLAY_CHECKS } from './wire/replay.ts';
import { RUNS_CHECKS } from './wire/runs.ts';
import { type WireCheck, wireTasks } from './wire/wire-check.ts';

const WIRE: Readonly<Record<string, readonly WireCheck[]>> = {
  chat: CHAT_CHECKS,
  'runs api': RUNS_CHECKS,
  replay: REPLAY_CHECKS,
  errors: ERROR_CHECKS,
};

const SHUTDOWN = 'shutdown';

/** Every feature that a report has, in its order. */
export const FEATURES: readonly string[] = [...Object.keys(WIRE), ...CHART_FEATURES, SHUTDOWN];

/** The paths of these features, and what the walk over the charts came to. */
export function tasksOf(
  features: readonly string[],
  {
    kit,
    startServer,
    ...deps
  }: Pick<ConformanceOptions, 'kit' | 'startServer' | 'fetch' | 'timers'>,
): { readonly tasks: readonly Task[]; readonly charts: Report['charts'] } {
  const isWanted = (feature: string): boolean => features.includes(feature);
  const wire = Object.entries(WIRE)
    .filter(([feature]) => isWanted(feature))
    .flatMap(([feature, checks]) => wireTasks(feature, checks));
  const { chartEdges: edges, paths } = walkCharts(isWanted);
  const shutdown = isWanted(SHUTDOWN) ? shutdownTasks(startServer, { ...kit, ...deps }) : [];
  const tasks = [...wire, ...chartTasks(paths), ...shutdown];
  return { tasks, charts: { edges, paths: paths.length } };
}
