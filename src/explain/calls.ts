import { short } from '../transitions/words.ts';
import { askingOf } from './approvals.ts';
import { list } from './say.ts';
import type { CallStory, EntryOf, Story } from './story.ts';

/** The event by which a tool call's own deadline ends it, as the log has it. */
export const OWN_DEADLINE = 'after startToClose';

/** How a call ended. */
export type CallEnding =
  | 'answered'
  | 'failed'
  | 'timed_out'
  | 'timed_out_unknown'
  | 'denied'
  | 'denied_by_webhook'
  | 'undecided'
  | 'unasked'
  | 'unaskable'
  | 'forbidden';

/** Words for the middle of a sentence, after the tool's name. */
const ENDED: Readonly<Record<CallEnding, string>> = {
  answered: 'answered',
  failed: 'failed',
  timed_out: 'timed out by its own deadline',
  timed_out_unknown: 'timed out by its own deadline and did not stop: what it did is not known',
  denied: 'was denied by a person',
  denied_by_webhook: 'was denied by the webhook that was asked',
  undecided: 'was not approved in time',
  unasked: 'was not approved before it was stopped',
  unaskable: 'did not run, because nobody could be asked to approve it',
  forbidden: 'did not run, because a rule forbids it',
};

/** What calls came to, in a clause that says what each did that did not answer. */
export function callsText(story: Story, calls: readonly CallStory[]): string {
  const [only] = calls;
  if (only !== undefined && calls.length === 1) {
    const { tool_name } = only.requested.event;
    return `The model called the tool ${tool_name}, which ${ENDED[endingOf(story, only)]}${rule(only)}`;
  }
  const names = [...new Set(calls.map(({ requested }) => requested.event.tool_name))];
  const made = `The model made ${calls.length} tool calls (${list(names)})`;
  const troubles = troublesOf(story, calls);
  return `${made}; ${troubles.length === 0 ? 'all of them answered' : troubles.join('; ')}`;
}

/** Which rule forbids it, where one does. */
function rule({ ended }: CallStory): string {
  const by = ended?.event.forbidden_by;
  return by === undefined ? '' : ` (${by})`;
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
  const answer = answerOf(story, call);
  if (end?.forbidden_by !== undefined) return 'forbidden';
  if (end?.approval === 'denied') return isByWebhook(answer) ? 'denied_by_webhook' : 'denied';
  if (end?.approval === 'timed_out') return 'undecided';
  if (end?.approval === 'cancelled') return 'unasked';
  if (end === undefined || end.success) return 'answered';
  if (answer?.outcome.kind === 'errored') return 'unaskable';
  if (!ranOut(story, call)) return 'failed';
  return end.effect === 'unknown' ? 'timed_out_unknown' : 'timed_out';
}

/** Of the newest approval of the call; a question that it asked while it ran is about something else. */
function answerOf(story: Story, { requested }: CallStory): Answered | undefined {
  const id = requested.event.tool_id;
  return story
    .all('approval_completed')
    .map(({ event }) => event)
    .findLast((event) => event.tool_call_id === id && !isElicited(story, event));
}

type Answered = EntryOf<'approval_completed'>['event'];

const isElicited = (story: Story, answer: Answered): boolean =>
  Boolean(askingOf(story, answer).question);

const isByWebhook = (answer: Answered | undefined): boolean => answer?.decided_by === 'webhook';

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
