import type { ExplainedStep, RunEnd } from '../handle.ts';
import { unclaimedOf, unclaimedSteps } from './claims.ts';
import type { Obstacle, Resumption } from './facts.ts';
import { keptApprovalSteps } from './kept-approvals.ts';
import { duration, list } from './say.ts';
import { timerStep, transitionStep } from './steps.ts';
import type { Story } from './story.ts';

/** What came before the end of a run that was parked. */
export function parkedCause(story: Story, end: RunEnd): ExplainedStep[] {
  const open = keptApprovalSteps(story);
  switch (end.reason) {
    case 'unclaimed': {
      const unclaimed = unclaimedOf(story);
      return [...open, ...(unclaimed === undefined ? [] : unclaimedSteps(story, unclaimed))];
    }
    case 'owner_lost':
      return [...open, ...lostSteps(story, end)];
    default:
      return [...open, ...parkingSteps(story)];
  }
}

export function parkedText(story: Story, { reason }: RunEnd, after: string): string {
  const checkpoint = story.last('parked')?.event.checkpoint;
  const where = checkpoint === undefined ? '' : ` at the checkpoint ${checkpoint}`;
  const why = PARKED[reason ?? ''] ?? '';
  return `${why}The run was parked${where} ${after} and holds nothing in memory`;
}

const PARKED: Readonly<Record<string, string>> = {
  unclaimed: '',
  external: 'Somebody asked to park it. ',
  shutdown: 'The server was shutting down and its policy is to park. ',
  owner_lost: '',
};

/** What brings a parked run back, or has. */
export function resumptionText(story: Story): string {
  const { record, resumption } = story.facts;
  if (record.continued_by !== null) return `The run ${record.continued_by} goes on with it.`;
  if (resumption === undefined) return waysBack({ ...BY_HAND, undecided: record.approvals });
  const { obstacle } = resumption;
  if (obstacle !== null) return OBSTACLES[obstacle](record.agent);
  return waysBack({ ...resumption, decided: resumption.decided || areOver(story) });
}

/** An approval that nobody decided in time is over, too: its expiry brings the run back. */
function areOver({ facts: { approvals = [], now } }: Story): boolean {
  return (
    approvals.length > 0 && approvals.every((one) => one.outcome !== null || one.expiresAt <= now)
  );
}

const BY_HAND: Ways = { automatic: false, onStart: false, decided: false, undecided: [] };

const OBSTACLES: Readonly<Record<Obstacle, (agent: string) => string>> = {
  cancelled: () => 'It was cancelled after it had been parked, so nothing brings it back.',
  agent_not_served: (agent) =>
    `It cannot go on here: this server does not serve the agent ${agent}. ` +
    'It can when the agent is in the configuration again.',
  checkpoint_gone: () => 'It cannot go on: its checkpoint is not kept any more.',
  checkpoint_unreadable: () =>
    'It cannot go on: this version of the server cannot read its checkpoint.',
};

type Ways = Omit<Resumption, 'obstacle'>;

function waysBack({ automatic, onStart, decided, undecided }: Ways): string {
  if (undecided.length > 0) {
    const ids = list(undecided);
    return automatic
      ? `It goes on by itself when ${ids} ${undecided.length === 1 ? 'is' : 'are'} decided or timed out.`
      : `A person must decide ${ids}, or the time for that must pass; after that a resume request ` +
          'starts it again.';
  }
  const byRequest = 'when a resume request asks for it';
  if (automatic && decided) {
    const ways = onStart ? `when the server starts next, or ${byRequest}` : byRequest;
    return `It was to go on by itself once nothing was left to decide. Where that failed, it goes on ${ways}.`;
  }
  return automatic && onStart
    ? `It goes on when the server starts next, or ${byRequest}.`
    : `It goes on ${byRequest}, and not before.`;
}

/** That the run was asked to park, and whether it ran out of its time for that. */
export function parkingSteps(story: Story): ExplainedStep[] {
  const asked = story.parkingAsked;
  if (asked === undefined) return [];
  const steps = [
    transitionStep(asked, 'The run was asked to end resumable at its next checkpoint'),
  ];
  const { decision } = story;
  if (decision?.event !== 'after parkBound') return steps;
  const ms = decision.at - asked.at;
  const text = `It came to no checkpoint within ${duration(ms)}`;
  return [...steps, timerStep(decision.at, text, { timer: 'park', ms })];
}

function lostSteps(story: Story, { evidence, at }: RunEnd): ExplainedStep[] {
  const seq = Math.max(0, ...evidence);
  const text = `The process that had the run was lost; the last that it told is the entry ${seq}`;
  return [timerStep(story.at(seq)?.at ?? at, text, { last_seq: seq })];
}
