import type { ExplainedStep } from '../handle.ts';
import type { Away } from './facts.ts';
import { duration } from './say.ts';
import { entryStep } from './steps.ts';
import type { Story } from './story.ts';
import { beginningSteps, openWorkSteps } from './work.ts';

/** What the store tells of a run that has no end and is not in this process. */
export function awayChain(story: Story): ExplainedStep[] {
  const begun = beginningSteps(story);
  const last = story.own.at(-1);
  if (last === undefined) return begun;
  const open = openWorkSteps(story, last.seq);
  const known = [...begun, ...open];
  if (known.some(({ seq }) => seq === last.seq)) return known;
  const ago = duration(story.facts.now - last.at);
  return [...known, entryStep(last, `The last step that it told of came ${ago} ago`)];
}

/** Where it may be, and what becomes of it. */
export const awayTexts = (away: Away): readonly string[] => AWAY[away];

const AWAY: Readonly<Record<Away, readonly string[]>> = {
  elsewhere: [
    'This process does not have the run, so its state is the one that was stored last.',
    'Either another process has it, which can tell more; or the one that had it was lost, and the ' +
      'run is looked after as soon as its session is free.',
  ],
  unsettled: [
    'The run is over in this process, and the store has not taken its end yet; that is tried again.',
  ],
};
