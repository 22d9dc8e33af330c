import type { ClientPath } from './paths/scenario.ts';
import type { Task } from './run-tasks.ts';
import { takePath } from './take-path.ts';

/** The paths of the charts, each said as a sentence. */
export const chartTasks = (paths: readonly ClientPath[]): readonly Task[] =>
  paths.map((path) => ({
    feature: path.feature,
    path: sentenceOf(path),
    take: (stage) => takePath(stage, path),
  }));

function sentenceOf({ scenario, steps, expected }: ClientPath): string {
  const ends = [...new Set(expected.flatMap(({ terminal }) => terminal ?? []))];
  const way = steps.length === 0 ? 'nothing else happens' : steps.join(', ');
  return `${scenario}: ${way}${ends.length === 0 ? '' : `: ${ends.join(' or ')}`}`;
}
