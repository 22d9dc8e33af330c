import type { ExplainedStep, RunEnd } from '../handle.ts';
import type { TerminalEvent } from '../journal/events.ts';
import { decidedSteps, takenBackSteps } from './approvals.ts';
import { cancelledCause, cancelledText } from './cancelled.ts';
import { failedCause, failedText } from './failed.ts';
import { parkedCause, parkedText } from './parked.ts';
import { duration, list } from './say.ts';
import { entryStep, transitionStep } from './steps.ts';
import { stoppingSteps } from './stopping.ts';
import type { EntryOf, Story } from './story.ts';
import { beginningSteps, resumedSteps, toolsSteps } from './work.ts';

type Ended = 'finished' | 'cancelled' | 'failed' | 'parked';

/** Why a run ended as it did: from the first cause to its last entry. */
export function endedChain(story: Story, end: RunEnd): ExplainedStep[] {
  const cause = CAUSES[stateOf(story)](story, end);
  const stopping = stoppingSteps(story);
  // A stop that found nothing under way has no entry; then the chart's own step tells of it.
  const step = stopping.length === 0 ? decisionSteps(story) : [];
  const told = [...step, ...stopping, ...takenBackSteps(story)];
  return [...resumedSteps(story), ...cause, ...told, terminalStep(story, end)];
}

/** Sentences for what the chain leans on and does not have. */
export function missingText(story: Story, end: RunEnd): readonly string[] {
  const { record, transitions } = story.facts;
  const { evidence } = end;
  const trimmed = evidence.filter((seq) => seq < (story.own[0]?.seq ?? record.last_seq + 1));
  const texts: string[] = [];
  if (trimmed.length > 0) {
    const names = list(trimmed.map(String));
    texts.push(
      `The journal does not have its first entries any more; evidence was at seq ${names}.`,
    );
  }
  if (transitions === undefined) texts.push(NO_LOG[wasLost(end) ? 'lost' : 'kept']);
  return texts;
}

const wasLost = ({ reason, error }: RunEnd): boolean =>
  reason === 'owner_lost' || error?.code === 'owner_lost';

const NO_LOG = {
  lost: 'The log of its transitions went with its process.',
  kept: 'No log of the run’s transitions was kept.',
} as const;

const stateOf = ({ facts }: Story): Ended =>
  // A record with an end has one of the four.
  facts.record.state as Ended;

type Cause = (story: Story, end: RunEnd) => ExplainedStep[];

const finishedCause: Cause = (story) => [
  ...(story.facts.record.continues === null ? beginningSteps(story) : []),
  ...decidedSteps(story),
  ...toolsSteps(story),
];

const CAUSES: Readonly<Record<Ended, Cause>> = {
  finished: finishedCause,
  cancelled: cancelledCause,
  failed: failedCause,
  parked: parkedCause,
};

function decisionSteps({ decision }: Story): ExplainedStep[] {
  if (decision === undefined) return [];
  const text = `The run turned from its work to its end on “${decision.event}”`;
  return [transitionStep(decision, text)];
}

/** The terminal entry, or the record's own word for it when the entry is trimmed. */
function terminalStep(story: Story, end: RunEnd): ExplainedStep {
  const { record } = story.facts;
  const text = terminalText(story, end);
  const entry = terminalEntry(story);
  const detail = { by: end.by, after_ms: end.after_ms, evidence: end.evidence };
  if (entry !== undefined) return entryStep(entry, text, detail);
  return {
    at: end.at,
    kind: 'entry',
    seq: record.last_seq,
    text: `${text} (seq ${record.last_seq}).`,
    detail: { type: record.state, ...detail },
  };
}

function terminalEntry(story: Story): EntryOf<TerminalEvent['type']> | undefined {
  return story.last(stateOf(story));
}

function terminalText(story: Story, end: RunEnd): string {
  const after = `after ${duration(end.after_ms)}`;
  switch (stateOf(story)) {
    case 'finished':
      return finishedText(story, after);
    case 'cancelled':
      return cancelledText(story, end, after);
    case 'failed':
      return failedText(end, after);
    case 'parked':
      return parkedText(story, end, after);
  }
}

function finishedText(story: Story, after: string): string {
  const reason = story.last('finished')?.event.finish_reason;
  if (reason === 'length') {
    return `The answer was cut off at the model’s limit of tokens; the run finished ${after}`;
  }
  if (reason === 'content_filter') {
    return `The provider’s content filter cut the answer off; the run finished ${after}`;
  }
  return `The model answered and asked for no further tool, so the run finished ${after}`;
}
