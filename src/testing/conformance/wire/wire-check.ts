import type { Stage } from '../acts/stage.ts';
import type { AgentName } from '../kit/agents.ts';
import type { Task } from '../run-tasks.ts';
import { begin } from '../acts/begin.ts';
import { checkJournals, checkRuns } from '../checks/journal.ts';

/** A promise of the wire that no chart makes, checked by hand. */
export type WireCheck = readonly [path: string, take: (stage: Stage) => Promise<void>];

/** After each, the runs it started have ended and their journals are sound. */
export const wireTasks = (feature: string, checks: readonly WireCheck[]): readonly Task[] =>
  checks.map(([path, take]) => ({
    feature,
    path,
    take: async (stage) => {
      await take(stage);
      stage.letGo((call) => call.say());
      for (const { letter } of stage.runs) await stage.ended(letter);
      if (stage.runs.length === 0) return;
      await checkRuns(stage);
      await checkJournals(stage);
    },
  }));

/** Starts a run without a reader; its model waits, or has begun to speak. */
export const startRun = (
  stage: Stage,
  agent: AgentName,
  model: 'waits' | 'speaks' | { readonly calls: string } = 'waits',
): Promise<void> =>
  begin(stage, {
    feature: '',
    scenario: '',
    begins: { agent, by: 'start', model },
    steps: [],
    tells: [],
    expected: [],
  });
