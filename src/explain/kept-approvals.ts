import type { ExplainedStep } from '../handle.ts';
import type { KeptApproval } from './facts.ts';
import { count, duration, moment, quoted } from './say.ts';
import { entryStep, obligationStep } from './steps.ts';
import type { Story } from './story.ts';
import { askedText, decider } from './asking.ts';
import { openText } from './work.ts';

/** Approvals that are told of one by one; the rest is counted. */
const SHOWN_MAX = 4;

/** The approvals that a run was parked with, and what became of each since. */
export function keptApprovalSteps(story: Story): ExplainedStep[] {
  const kept = story.facts.approvals ?? [];
  const ids = new Set(kept.map(({ decisionId }) => decisionId));
  const known = kept.map((approval) => keptStep(story, approval));
  const others = story
    .approvalsOpenAt(story.facts.record.last_seq)
    .filter(({ event }) => !ids.has(event.decision_id))
    .map((entry) => {
      const { tool_name, decision_id } = entry.event;
      const text = `${openText(story, entry)} when it was parked`;
      return entryStep(entry, text, { decision_id, tool_name });
    });
  const all = [...known, ...others];
  const more = all.length - SHOWN_MAX;
  const last = all[SHOWN_MAX];
  if (last === undefined) return all;
  const text = `A person was asked to approve ${count(more, 'further tool call')}`;
  return [...all.slice(0, SHOWN_MAX), obligationStep(last.at, text, { what: 'approval', more })];
}

/** Its question may have been asked by a run that this one goes on with, so it has no entry here. */
function keptStep(story: Story, approval: KeptApproval): ExplainedStep {
  const { decisionId, toolName, requestedAt, expiresAt } = approval;
  const state = stateOf(approval, story.facts.now);
  const text = `${askedText({ toolName, route: 'conversational' }, decisionId)}${became(approval, story.facts.now)}`;
  const detail = { decision_id: decisionId, tool_name: toolName, state, expires_at: expiresAt };
  const entry = story
    .approvalsOpenAt(story.facts.record.last_seq)
    .find(({ event }) => event.decision_id === decisionId);
  if (entry !== undefined) return entryStep(entry, text, detail);
  return obligationStep(requestedAt, text, { what: 'approval', id: decisionId, ...detail });
}

type KeptState = 'pending' | 'approved' | 'denied' | 'timed_out';

function stateOf({ outcome, expiresAt }: KeptApproval, now: number): KeptState {
  if (outcome !== null) return outcome.approved ? 'approved' : 'denied';
  return expiresAt > now ? 'pending' : 'timed_out';
}

function became(approval: KeptApproval, now: number): string {
  const { outcome, expiresAt } = approval;
  const after = `after the run was parked${said(outcome?.reason)}`;
  switch (stateOf(approval, now)) {
    case 'pending':
      return ` and has not decided; without an answer it times out in ${duration(expiresAt - now)}`;
    case 'approved':
      return ` and ${decided('approved', outcome?.by)} ${after}`;
    case 'denied':
      return ` and ${decided('denied', outcome?.by)} ${after}, ${NOT_EXECUTED}`;
    case 'timed_out':
      return ` and nobody did; it timed out at ${moment(expiresAt)}, ${NOT_EXECUTED}`;
  }
}

const decided = (how: 'approved' | 'denied', by: string | undefined): string =>
  by === undefined ? `${how} it` : `it was ${how} by ${decider(by)}`;

const said = (reason: string | undefined): string =>
  reason === undefined || reason.trim() === '' ? '' : `, saying ${quoted(reason)}`;

const NOT_EXECUTED = 'so the tool is not executed';
