import { short } from '../transitions/words.ts';
import { list } from './say.ts';
import type { CallStory, Story } from './story.ts';

/** The event by which a tool call's own deadline ends it, as the log has it. */
export const OWN_DEADLINE = 'after startToClose';

/** How a call ended. */
export type CallEnding =
  | 'answered'
  | 'failed'
  | 'timed_out'
  | 'timed_out_unknown'
  | 'denied'
  | 'undecided'
  | 'unasked';

/** Words for the middle of a sentence, after the tool's name. */
const ENDED: Readonly<Record<CallEnding, string>> = {
  answered: 'answered',
  failed: 'failed',
  timed_out: 'timed out by its own deadline',
  timed_out_unknown: 'timed out by its own deadline and did not stop: what it did is not known',
  denied: 'was denied by a person',
  undecided: 'was not approved in time',
  unasked: 'was not approved before it was stopped',
};

/** What calls came to, in a clause that says what each did that did not answer. */
export function callsText(story: Story, calls: readonly CallStory[]): string {
  const [only] = calls;
  if (only !== undefined && calls.length === 1) {
    const { tool_name } = only.requested.event;
    return `The model called the tool ${tool_name}, which ${ENDED[endingOf(story, only)]}`;
  }
  const names = [...new Set(calls.map(({ requested }) => requested.event.tool_name))];
  const made = `The model made ${calls.length} tool calls (${list(names)})`;
  const troubles = troublesOf(story, calls);
  return `${made}; ${troubles.length === 0 ? 'all of them answered' : troubles.join('; ')}`;
}

function troublesOf(story: Story, calls: readonly CallStory[]): readonly string[] {
  const troubled = new Map<CallEnding, string[]>();
  for (const call of calls) {
    const ending = endingOf(story, call);
    if (ending === 'answered') continue;
    const { tool_name, tool_id } = call.requested.event;
    const named = troubled.get(ending) ?? [];
    troubled.set(ending, [...named, `${tool_name} (${tool_id})`]);
  }
  return [...troubled].map(([ending, named]) => `${list(named)} ${ENDED[ending]}`);
}

function endingOf(story: Story, call: CallStory): CallEnding {
  const end = call.ended?.event;
  if (end?.approval === 'denied') return 'denied';
  if (end?.approval === 'timed_out') return 'undecided';
  if (end?.approval === 'cancelled') return 'unasked';
  if (end === undefined || end.success) return 'answered';
  if (!ranOut(story, call)) return 'failed';
  return end.effect === 'unknown' ? 'timed_out_unknown' : 'timed_out';
}

/** The log knows best; what it does not have any more, the call's own end says. */
function ranOut(story: Story, { requested, ended }: CallStory): boolean {
  const actor = short(`tool.${requested.event.tool_id}`);
  const log = story.facts.transitions;
  const steps = log?.steps.filter((step) => step.actor === actor) ?? [];
  if (steps.length > 0 && log?.dropped === 0) {
    return steps.some(({ event }) => event === OWN_DEADLINE);
  }
  return ended?.event.error?.startsWith(TIMED_OUT) === true;
}

/** What the model is told of a call whose deadline passed. */
const TIMED_OUT = 'ToolCallError: timed out';
