import type { ExplainedStep } from '../handle.ts';
import type { JournalEvent } from '../journal/events.ts';
import { type Asking, decider, questionText, webhookTold } from './asking.ts';
import { clause, count, deadlineName, duration, quoted } from './say.ts';
import { entryStep } from './steps.ts';
import type { EntryOf, Story } from './story.ts';

type Answered = Extract<JournalEvent, { type: 'approval_completed' }>;

/** Approvals that are told of one by one: the newest. */
const SHOWN_MAX = 3;

interface Which {
  /** `seq` of the first entry that may tell of one. */
  readonly from?: number;
  /** `seq` of the first entry that may not. */
  readonly before?: number;
  /** How they ended; any unless told. */
  readonly outcome?: Answered['outcome']['kind'];
  /** Ids of calls; all of them unless told. */
  readonly calls?: ReadonlySet<string>;
}

/** How approvals of the run ended, each in one link: who decided what, and who was told of the end. */
export function approvalSteps(story: Story, which: Which = {}): ExplainedStep[] {
  const { from = 0, before = Number.POSITIVE_INFINITY, outcome, calls } = which;
  return story
    .all('approval_completed')
    .filter(({ seq }) => seq >= from && seq < before)
    .filter(({ event }) => outcome === undefined || event.outcome.kind === outcome)
    .filter(({ event }) => calls === undefined || calls.has(event.tool_call_id))
    .slice(-SHOWN_MAX)
    .map((answer) => answeredStep(story, answer));
}

/** Those that ended while the run did its work. */
export function decidedSteps(story: Story): ExplainedStep[] {
  const stopping = story.last('stopping');
  return approvalSteps(story, stopping === undefined ? {} : { before: stopping.seq });
}

/** Those that the stop of the run, or its parking, took back. */
export function takenBackSteps(story: Story): ExplainedStep[] {
  const stopping = story.last('stopping');
  if (stopping !== undefined) return approvalSteps(story, { from: stopping.seq });
  return isParked(story) ? approvalSteps(story, { outcome: 'cancelled' }) : [];
}

const isParked = ({ facts }: Story): boolean => facts.record.state === 'parked';

function answeredStep(story: Story, answer: EntryOf<'approval_completed'>): ExplainedStep {
  const { event } = answer;
  const { decision_id: id, outcome, decided_by, granted_by, grant, edited } = event;
  const asking = askingOf(story, event);
  const notice = story.all('approval_withdrawn').find((told) => told.event.decision_id === id);
  const reminders = story.all('approval_reminder').filter((told) => told.event.decision_id === id);
  const reminded = reminders.length === 0 ? '' : `, with ${count(reminders.length, 'reminder')}`;
  const told = notice === undefined ? '' : webhookTold(notice.event.notified);
  const anew = outcome.kind === 'cancelled' && isParked(story) ? ASKED_ANEW : '';
  const text = `${endedText(asking, event)}${reminded} (approval ${id})${told}${anew}`;
  return entryStep(answer, text, {
    decision_id: id,
    tool_name: asking.toolName,
    outcome: outcome.kind,
    ...(decided_by !== undefined && { decided_by }),
    ...(granted_by !== undefined && { granted_by }),
    ...(grant !== undefined && { grant }),
    ...(edited !== undefined && { edited: true }),
    ...(reminders.length > 0 && { reminders: reminders.length }),
    ...(notice !== undefined && { notified: notice.event.notified }),
  });
}

/** What was asked may be trimmed, or told by the run that this one goes on with. */
export function askingOf(
  story: Story,
  { decision_id: id, tool_call_id: callId }: Pick<Answered, 'decision_id' | 'tool_call_id'>,
): Asking {
  const asked = story.all('approval_requested').find(({ event }) => event.decision_id === id);
  if (asked !== undefined) {
    const { tool_name: toolName, route = 'conversational', origin } = asked.event;
    return { toolName, route, question: origin.kind === 'elicitation' ? origin : null };
  }
  const call = story.all('tool_requested').find(({ event }) => event.tool_id === callId);
  return { toolName: call?.event.tool_name ?? callId, route: 'conversational' };
}

/** A question that was taken back at a park is of a call that goes on. */
const ASKED_ANEW = '; the run that goes on with it asks anew';

function endedText(asking: Asking, event: Answered): string {
  const { outcome, duration_ms: ms } = event;
  const after = duration(ms);
  switch (outcome.kind) {
    case 'approved':
      return `${approvedText(asking, event)}${saying(outcome.reason)}`;
    case 'denied':
      return `${refusedText(asking)} by ${decider(event.decided_by)} after ${after}${saying(outcome.reason)}`;
    case 'timed_out':
      return `Nobody ${questionText(asking, 'answered')} within ${duration(outcome.waited_ms)}`;
    case 'cancelled':
      return `The question ${questionText(asking, 'asked')} was taken back after ${after}${because(outcome)}`;
    case 'errored':
      return `The question ${questionText(asking, 'asked')} could not be put: ${clause(outcome.message)}`;
  }
}

function approvedText(asking: Asking, event: Answered): string {
  const { granted_by, decided_by, duration_ms: ms, edited, grant } = event;
  const { toolName, question } = asking;
  if (granted_by !== undefined) {
    return (
      `The tool ${toolName} was approved without asking, because the approval ${granted_by} holds ` +
      'for the rest of the session'
    );
  }
  const by = `by ${decider(decided_by)} after ${duration(ms)}`;
  if (question)
    return `A question of the server ${question.server} for the tool ${toolName} was answered ${by}`;
  const changed = edited === undefined ? '' : ', who changed its arguments';
  const held = grant === undefined ? '' : ', for the rest of the session';
  return `The tool ${toolName} was approved ${by}${changed}${held}`;
}

const refusedText = ({ toolName, question }: Asking): string =>
  question
    ? `A question of the server ${question.server} for the tool ${toolName} was declined`
    : `The tool ${toolName} was denied`;

const saying = (reason: string | undefined): string =>
  reason === undefined || reason.trim() === '' ? '' : `, saying ${quoted(reason)}`;

type Cancelled = Extract<Answered['outcome'], { kind: 'cancelled' }>;

function because({ reason, which }: Cancelled): string {
  if (reason === 'call_over') return ', because the call that asked it was over';
  if (reason === 'deadline') {
    return `, because the ${deadlineName(which ?? 'total')} deadline of the run had passed`;
  }
  if (reason === 'owner_lost') return ', because the process that asked it was lost';
  return reason === 'error' ? ', because the run failed' : ', because the run was stopped';
}
