import type { Envelope } from './events.ts';
import { type EventOf, type Placed, type RunView, runsOf } from './invariants-view.ts';

export type Asked = EventOf<'approval_requested'>;
export type Answered = EventOf<'approval_completed'>;

/** One approval as a run knows it. */
export interface ApprovalView {
  readonly asked: Placed<Asked>;
  /** It was asked for by a run that this one goes on with. */
  readonly inherited: boolean;
  /** How it was answered, by this run and those before it; one answer where all is well. */
  readonly answers: readonly Placed<Answered>[];
  /** It had no answer when the run took it over; what its own run asks for has none. */
  readonly wasOpen: boolean;
}

/** A run with every approval that binds its calls. */
export interface ApprovalsOfRun {
  readonly run: RunView;
  readonly approvals: readonly ApprovalView[];
}

/** The runs of a journal, each with its own approvals and with those that it inherits. */
export function approvalsOf(entries: readonly Envelope[]): readonly ApprovalsOfRun[] {
  const left = new Map<string, readonly ApprovalView[]>();
  return runsOf(entries).map((run) => {
    const approvals = [...inherited(run, left.get(run.continues ?? '') ?? []), ...ownOf(run)];
    if (run.terminal?.event.type === 'parked') left.set(run.runId, leftBy(run, approvals));
    return { run, approvals };
  });
}

const inherited = (run: RunView, before: readonly ApprovalView[]): ApprovalView[] =>
  before.map(({ asked, answers }) => ({
    asked,
    inherited: true,
    answers: [...answers, ...answersIn(run, asked)],
    wasOpen: answers.length === 0,
  }));

const ownOf = (run: RunView): ApprovalView[] =>
  run.of('approval_requested').map((asked) => ({
    asked,
    inherited: false,
    answers: answersIn(run, asked),
    wasOpen: true,
  }));

const answersIn = (run: RunView, { event: asked }: Placed<Asked>): Placed<Answered>[] =>
  run.of('approval_completed').filter(({ event }) => event.decision_id === asked.decision_id);

/**
 * What binds the run that goes on: approvals without an answer, and every approval of a call that is
 * asked for there again. A question of a server has no one to ask it when its call is made again.
 */
function leftBy(run: RunView, approvals: readonly ApprovalView[]): readonly ApprovalView[] {
  const ended = new Set(run.of('tool_complete').map(({ event }) => event.tool_id));
  return approvals.filter(
    ({ asked: { event }, answers }) =>
      !isElicitation(event) && (answers.length === 0 || !ended.has(event.tool_call_id)),
  );
}

export const isElicitation = ({ origin }: Pick<Asked, 'origin'>): boolean =>
  origin.kind === 'elicitation';

/** A webhook was asked; what older versions told of has no route and asked a person. */
export const isByWebhook = ({ route }: Pick<Asked, 'route'>): boolean => route === 'webhook';

/** A person, or who answers for one, decided; everything else ends it without a decision. */
/** Whether whoever was asked by a webhook has answered himself: a signed decision came by another way. */
export const isAnswered = (event: Answered): boolean => isDecision(event) && event.signed !== true;

export const isDecision = ({ outcome }: Pick<Answered, 'outcome'>): boolean =>
  outcome.kind === 'approved' || outcome.kind === 'denied';
