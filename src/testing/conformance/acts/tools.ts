import type { ToolAnswer } from '../kit/tools.ts';
import { STEPS } from '../paths/steps.ts';
import { type Act, MAIN, type Stage } from './stage.ts';

/** What the tools of the scripted MCP server do. */
export const TOOL_ACTS: Readonly<Record<string, Act>> = {
  [STEPS.toolAnswers]: (stage) => answer(stage, MAIN, { text: 'done' }),
  [STEPS.otherToolAnswers]: (stage) => answer(stage, 'b', { text: 'done' }),
  [STEPS.toolFails]: (stage) => answer(stage, MAIN, { text: 'no luck', isError: true }),
  [STEPS.toolTimePasses]: (stage) => stage.more('tool_complete', stage.count('tool_complete')),
};

/** Answers the call and waits until the run has heard of it. */
export async function answer(stage: Stage, which: string, given: ToolAnswer): Promise<void> {
  const before = stage.count('tool_complete');
  (await stage.toolCall(which)).answer(given);
  await stage.more('tool_complete', before);
}
