import type { ExplainedStep } from '../handle.ts';
import { short } from '../transitions/words.ts';
import { callsText } from './calls.ts';
import { askedText, type Asking } from './asking.ts';
import { askingOf } from './approvals.ts';
import { entryStep } from './steps.ts';
import type { CallStory, OpenAsking, Story } from './story.ts';

/** Links that name what was under way, at most; the rest is counted in the text after them. */
const LINKS_MAX = 3;

/** Where a run began: with its prompt, with what a parked run left, or in the queue. */
export function beginningSteps(story: Story): ExplainedStep[] {
  const started = story.first('started');
  if (started !== undefined) {
    const { agent, continues } = started.event;
    const text =
      continues === undefined
        ? `The run was started with a prompt for the agent ${agent}`
        : `The run goes on with the run ${continues}, which had been parked`;
    return [entryStep(started, text, { agent, ...(continues !== undefined && { continues }) })];
  }
  const queued = story.first('queued');
  if (queued === undefined) return [];
  return [entryStep(queued, 'The run was queued, because its session had a live run')];
}

/** A resumed run says so whatever became of it; for others it would only be a longer chain. */
export const resumedSteps = (story: Story): ExplainedStep[] =>
  story.facts.record.continues === null ? [] : beginningSteps(story);

/** What tools did, in one link: the last end that came before the entry. */
export function toolsSteps(story: Story, before?: number): ExplainedStep[] {
  const last = story.last('tool_complete', before);
  if (last === undefined) return [];
  const ended = story.calls.filter(({ ended: end }) => end !== undefined && end.seq <= last.seq);
  const failed = ended.filter(({ ended: end }) => end?.event.success === false).length;
  const { tool_name, tool_id } = last.event;
  const detail = { tool_id, tool_name, calls: ended.length, failed };
  // That it was asked for may be trimmed.
  const text = ended.length === 0 ? `The tool ${tool_name} ended` : callsText(story, ended);
  return [entryStep(last, text, detail)];
}

/** Calls and approvals that were open when the entry was written, as links of a chain. */
export function openWorkSteps(story: Story, seq: number): ExplainedStep[] {
  const asked = new Set(story.approvalsOpenAt(seq).map(({ event }) => event.tool_call_id));
  const approvals = story.approvalsOpenAt(seq).map((entry) => {
    const { tool_name, decision_id } = entry.event;
    return entryStep(entry, openText(story, entry), { decision_id, tool_name });
  });
  const calls = story
    .callsOpenAt(seq)
    .filter(({ requested }) => !asked.has(requested.event.tool_id))
    .map((call) => callStep(story, call));
  return [...approvals, ...calls].slice(0, LINKS_MAX);
}

function callStep(story: Story, { requested }: CallStory): ExplainedStep {
  const { tool_id, tool_name } = requested.event;
  const started = story.all('tool_start').find(({ event }) => event.tool_id === tool_id);
  const begun = started !== undefined || wasBegun(story, tool_id);
  const how = begun ? 'had been begun' : 'had been asked for';
  const text = `The tool ${tool_name} (${tool_id}) ${how} and had no result`;
  return entryStep(started ?? requested, text, { tool_id, tool_name });
}

/** Not every executor tells when it begins, but the call's chart knows. */
const wasBegun = (story: Story, toolId: string): boolean =>
  story.steps.some(
    ({ actor, to }) => actor === short(`tool.${toolId}`) && to?.startsWith('running'),
  );

/** That somebody was asked, and that there was no answer. */
export function openText(story: Story, { event }: OpenAsking): string {
  const asking = askingOf(story, event);
  return `${askedText(asking, event.decision_id)} and ${unansweredText(asking)}`;
}

function unansweredText({ question, route }: Asking): string {
  if (question) return 'had no answer';
  return route === 'webhook' ? 'had not answered' : 'had not decided';
}

/** What the run was at, from where its chart stood: for the middle of a sentence. */
export function occupation(state: string | null | undefined): string | undefined {
  if (state === null || state === undefined) return undefined;
  const found = OCCUPATIONS.find(([part]) => state.includes(part));
  return found?.[1];
}

/** The first that is found counts, so inner states come before those around them. */
const OCCUPATIONS: readonly (readonly [string, string])[] = [
  ['awaitingPerson', 'a person was asked'],
  ['acting', 'its tools were at work'],
  ['turning', 'the model was at work'],
  ['preparing', 'its tools were being connected'],
  ['queued', 'it waited for its session'],
];
