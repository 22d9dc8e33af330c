import { actOf } from './acts/acts.ts';
import { begin } from './acts/begin.ts';
import type { Stage } from './acts/stage.ts';
import { checkJournals, checkRuns } from './checks/journal.ts';
import { checkOutcome } from './checks/outcome.ts';
import { checkResumed } from './checks/resume.ts';
import { TOOLS } from './kit/agents.ts';
import type { ClientPath } from './paths/scenario.ts';

/** Takes one path of a chart over HTTP. Rejects with what was expected and what was seen. */
export async function takePath(stage: Stage, path: ClientPath): Promise<void> {
  await begin(stage, path);
  for (const step of path.steps) await actOf(step)(stage, path.begins);
  await finish(stage, path);
  checkOutcome(stage, path);
  await checkRuns(stage);
  if (stage.terminal()?.startsWith('parked') === true) await checkResumed(stage);
  await checkJournals(stage);
}

/** Lets everything go on that still waits, and waits until all runs have ended. */
async function finish(stage: Stage, { expected }: ClientPath): Promise<void> {
  const parks = expected.every(({ terminal }) => terminal?.startsWith('parked') === true);
  stage.letGo((call) => {
    // A run that is to park does so at its next checkpoint, which an answer is not.
    if (!parks) call.say();
    else call.call(...stage.toolCalls({ name: TOOLS.work, which: 'a' }));
  });
  for (const { letter } of stage.runs) await stage.ended(letter);
}
