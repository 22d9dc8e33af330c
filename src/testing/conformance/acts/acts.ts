import { MODEL_ACTS } from './model.ts';
import { OBSERVER_ACTS } from './observers.ts';
import { PEOPLE_ACTS } from './people.ts';
import { sessionAct } from './sessions.ts';
import type { Act } from './stage.ts';
import { TOOL_ACTS } from './tools.ts';

const ACTS: Readonly<Record<string, Act>> = {
  ...OBSERVER_ACTS,
  ...MODEL_ACTS,
  ...TOOL_ACTS,
  ...PEOPLE_ACTS,
};

/** How a step is taken over HTTP. Throws for a step that nobody knows how to take. */
export function actOf(step: string): Act {
  const act = ACTS[step] ?? sessionAct(step);
  if (act === undefined) throw new Error(`No act takes the step "${step}".`);
  return act;
}
