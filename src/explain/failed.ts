import type { ExplainedStep, RunEnd } from '../handle.ts';
import { decidedSteps } from './approvals.ts';
import { retrySteps } from './cancelled.ts';
import { finalBecause } from './retries.ts';
import { clause, duration } from './say.ts';
import { entryStep, timerStep, transitionStep } from './steps.ts';
import type { Story } from './story.ts';
import { openWorkSteps, toolsSteps } from './work.ts';

/** What came before the end of a run that failed. */
export function failedCause(story: Story, end: RunEnd): ExplainedStep[] {
  switch (end.error?.code) {
    case 'turn_limit':
      return unbegunSteps(story);
    case 'owner_lost':
      return lostSteps(story, end);
    case 'store_unavailable':
    case 'internal_error':
    case 'invariant_violated':
      return workAtEnd(story, end);
    default:
      return [
        ...decidedSteps(story),
        ...toolsSteps(story),
        ...retrySteps(story),
        ...finalFailureSteps(story),
      ];
  }
}

export function failedText({ error, by }: RunEnd, after: string): string {
  const code = error?.code ?? 'internal_error';
  if (code === 'invariant_violated') {
    return `The server stopped the run, whose journal is wrong: ${clause(error?.message ?? code)} (${code}), ${after}`;
  }
  const known = OURS[code];
  if (known !== undefined) return `${known} (${code}) ${after}`;
  const who = by === 'provider' ? 'The model provider failed' : 'The run failed';
  return `${who}: ${clause(error?.message ?? code)} (${code}), ${after}`;
}

/** Failures that are no provider's, in words of our own. */
const OURS: Readonly<Record<string, string>> = {
  turn_limit:
    'The agent took all the model turns that it may take and asked for one more; the run failed',
  owner_lost:
    'The process that had the run was lost before the run ended, so it was settled as failed',
  store_unavailable:
    'The store did not take the run’s entries, so the run could not keep its record and failed',
  internal_error: 'A part of the run crashed, which is a fault of the server; the run failed',
};

/** The newest call: it came in the turn that was one too many, and none of that turn is begun. */
function unbegunSteps(story: Story): ExplainedStep[] {
  const last = story.last('tool_requested');
  if (last === undefined) return [];
  const { tool_id, tool_name } = last.event;
  const text = `The model then asked for the tool ${tool_name}, which was not begun any more`;
  return [...toolsSteps(story, last.seq), entryStep(last, text, { tool_id, tool_name })];
}

/** The last sign of life, what was open then, and how long it took until somebody looked. */
function lostSteps(story: Story, { evidence, at }: RunEnd): ExplainedStep[] {
  const seq = Math.max(0, ...evidence);
  const open = openWorkSteps(story, seq);
  const last = story.at(seq);
  const heard = seq === 0 ? 'nothing' : `the entry ${seq}`;
  const since =
    last === undefined ? '' : `, and ${duration(at - last.at)} later it was found without an owner`;
  const text = `The last that the lost process told of the run is ${heard}${since}`;
  return [...open, timerStep(last?.at ?? at, text, { last_seq: seq })];
}

function workAtEnd(story: Story, { evidence }: RunEnd): ExplainedStep[] {
  const stopping = story.last('stopping');
  return openWorkSteps(story, stopping?.seq ?? evidence.at(-1) ?? story.facts.record.last_seq);
}

/** The attempt that was the last one, with the guard that allowed no other. */
function finalFailureSteps(story: Story): ExplainedStep[] {
  const step = story.lastStep(
    ({ chart, to, refused }) => chart === 'turn' && to === 'failed' && refused.includes('mayRetry'),
  );
  if (step === undefined) return [];
  const text = `The model request failed and was not tried again: ${finalBecause(story)}`;
  return [transitionStep(step, text)];
}
