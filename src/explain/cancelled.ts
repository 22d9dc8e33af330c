import type { ExplainedStep, RunEnd } from '../handle.ts';
import type { CancelReason, DeadlineName } from '../journal/events.ts';
import { unclaimedOf, unclaimedSteps } from './claims.ts';
import { parkingSteps } from './parked.ts';
import { clause, deadlineName, duration, quoted } from './say.ts';
import { entryStep, timerStep, transitionStep } from './steps.ts';
import { meanwhile } from './stopping.ts';
import type { Story } from './story.ts';
import { openWorkSteps } from './work.ts';

/** What came before the stop of a run that was cancelled. */
export function cancelledCause(story: Story, end: RunEnd): ExplainedStep[] {
  const parking = parkingSteps(story);
  switch (reasonOf(end)) {
    case 'unclaimed': {
      const unclaimed = unclaimedOf(story);
      return [...(unclaimed === undefined ? [] : unclaimedSteps(story, unclaimed)), ...parking];
    }
    case 'deadline':
      return deadlineSteps(story, end);
    case 'client_tool':
      return clientToolSteps(story);
    case 'superseded':
      return supersededSteps(story, end);
    case 'external':
    case 'shutdown':
      return parking.length > 0 ? parking : askedSteps(story);
    case 'lease_lost':
      return [];
  }
}

export function cancelledText(story: Story, end: RunEnd, after: string): string {
  const reason = reasonOf(end);
  if (reason === 'deadline') {
    return `The run was cancelled by its ${deadlineName(end.which ?? 'total')} deadline ${after}`;
  }
  if (reason === 'external') return `${externalText(story)}, so it was cancelled ${after}`;
  return `${BECAUSE[reason]}${saying(story, reason)} ${after}`;
}

// A record that says cancelled has one of the reasons.
const reasonOf = ({ reason }: RunEnd): CancelReason => reason as CancelReason;

function externalText(story: Story): string {
  const message = story.last('cancelled')?.event.message;
  // With something under way, the entry that tells of the stop says what it was at.
  const asked = `Somebody asked to cancel the run${isToldOf(story) ? '' : meanwhile(story)}`;
  return message === undefined ? asked : `${asked} and said ${quoted(message)}`;
}

/** Which run displaced it. */
function saying(story: Story, reason: CancelReason): string {
  const message = story.last('cancelled')?.event.message;
  return reason === 'superseded' && message !== undefined ? ` (${clause(message)})` : '';
}

const BECAUSE: Readonly<Record<Exclude<CancelReason, 'deadline' | 'external'>, string>> = {
  unclaimed: 'The run was cancelled, because nobody was reading it any more,',
  shutdown: 'The run was cancelled, because the server was shutting down,',
  client_tool: 'The run ended, so that the caller can execute the tool and ask again,',
  superseded: 'The run was cancelled, because a newer run of its session took its place',
  lease_lost:
    'The run was cancelled, because this process lost the right to write the session to another,',
};

/** The wait that a deadline cut off, and the deadline itself. */
function deadlineSteps(story: Story, { which, at, evidence }: RunEnd): ExplainedStep[] {
  const name = (which ?? 'total') as DeadlineName;
  const stopping = story.last('stopping');
  const seq = stopping?.seq ?? evidence.at(-1) ?? story.facts.record.last_seq;
  const open = name === 'total' || name === 'step' ? openWorkSteps(story, seq) : [];
  const ms = story.last('cancelled')?.event.after_ms;
  const detail = { timer: name, ...(ms !== undefined && { ms }) };
  const reached = timerStep(stopping?.at ?? at, deadlineText(story, name, ms), detail);
  return [...retrySteps(story), ...open, reached];
}

function deadlineText(story: Story, name: DeadlineName, ms: number | undefined): string {
  const time = ms === undefined ? '' : ` of ${duration(ms)}`;
  switch (name) {
    case 'first_chunk':
      return `The window${time} for the model’s first output passed, and nothing had come`;
    case 'inactivity':
      return `The model had begun to answer and then sent nothing for its whole window${time}`;
    case 'setup':
      return `Setup took longer than its time${time}: the run’s tools were not connected by then`;
    case 'step':
      return `One step of the run, a model turn with its tools, took longer than its time${time}`;
    case 'total':
      return `The run’s total time${time} was over${meanwhile(story)}`;
  }
}

function clientToolSteps(story: Story): ExplainedStep[] {
  return story
    .all('tool_requested')
    .filter(({ event }) => event.client === true)
    .slice(-3)
    .map((entry) => {
      const { tool_name, tool_id } = entry.event;
      const text = `The model asked for the tool ${tool_name}, which the caller executes itself`;
      return entryStep(entry, text, { tool_id, tool_name });
    });
}

/** Evidence of a displaced run may be the first entry of the one that displaced it. */
function supersededSteps(story: Story, { evidence }: RunEnd): ExplainedStep[] {
  const { run_id } = story.facts.record;
  const newer = evidence
    .map((seq) => story.at(seq))
    .find((entry) => entry?.runId !== undefined && entry.runId !== run_id);
  if (newer === undefined) return [];
  const text = `A newer run, ${newer.runId}, was started in the session to interrupt this one`;
  return [entryStep(newer, text, { run_id: newer.runId })];
}

/** The step in which the chart was told to stop; who told it is in the terminal entry. */
function askedSteps(story: Story): ExplainedStep[] {
  const { decision } = story;
  if (decision === undefined || !isToldOf(story)) return [];
  return [transitionStep(decision, `The run was told to stop${meanwhile(story)}`)];
}

const isToldOf = (story: Story): boolean => story.last('stopping') !== undefined;

/** Tries of the newest model turn's request that failed, in one link. */
export function retrySteps(story: Story): ExplainedStep[] {
  const retries = story.turnSteps.filter(({ to }) => to === 'backingOff');
  const last = retries.at(-1);
  if (last === undefined) return [];
  const times = retries.length === 1 ? 'once' : `${retries.length} times`;
  return [transitionStep(last, `The model request failed and was tried again ${times}`)];
}
