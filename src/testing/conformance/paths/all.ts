import { approvalScenarios } from './approval.ts';
import { claimScenarios } from './claims.ts';
import { runScenarios } from './run.ts';
import type { ClientPath, Scenario } from './scenario.ts';
import { sessionScenarios } from './session.ts';
import { toolCallScenarios } from './tool-call.ts';
import { turnScenarios } from './turn.ts';

/** What a walk over the charts came to. */
export interface Walked {
  readonly chartEdges: number;
  /** Paths that several scenarios have in common are there once. */
  readonly paths: readonly ClientPath[];
}

const FEATURES: Readonly<Record<string, () => readonly Scenario[]>> = {
  runs: runScenarios,
  model: turnScenarios,
  tools: toolCallScenarios,
  liveness: claimScenarios,
  approvals: approvalScenarios,
  'busy sessions': sessionScenarios,
};

export const CHART_FEATURES: readonly string[] = Object.keys(FEATURES);

/** Walks the charts of the features that are wanted. */
export function walkCharts(isWanted: (feature: string) => boolean): Walked {
  const scenarios = Object.entries(FEATURES)
    .filter(([feature]) => isWanted(feature))
    .flatMap(([, walk]) => walk());
  const paths = new Map<string, ClientPath>();
  for (const path of scenarios.flatMap((scenario) => scenario.paths)) {
    const { by, liveness, model } = path.begins;
    const key = JSON.stringify([path.feature, by, liveness, model, path.steps]);
    if (!paths.has(key)) paths.set(key, path);
  }
  const chartEdges = scenarios.reduce((sum, one) => sum + one.chartEdges, 0);
  return { chartEdges, paths: [...paths.values()] };
}
