import {
  approvalsOf,
  type ApprovalsOfRun,
  type ApprovalView,
  isByWebhook,
  isElicitation,
} from './invariants-approval-view.ts';
import type { Check, EventOf, Placed, RunView, Violation } from './invariants-view.ts';

/**
 * JN-11: an approval is asked for once, answered once and after that, and never left open at the end,
 * unless the run was parked: then the run that goes on with it answers, if it ever starts. A question
 * that a server asked is not kept, since the call that asked it is over, and neither is one to a webhook,
 * whose answer would have nobody to come to.
 */
export const approvalsAnswered: Check = (entries) => approvalsOf(entries).flatMap(unanswered);

function unanswered({ run, approvals }: ApprovalsOfRun): Violation[] {
  const story = new OpenStory(approvals);
  const violations = run.of('approval_requested', 'approval_completed').flatMap((placed) => {
    const wrong = story.note(placed);
    return wrong === undefined ? [] : [run.violation('JN-11', placed.seq, wrong)];
  });
  const left = leftOpen(run, approvals).map(({ asked: { seq, event }, inherited }) =>
    run.violation('JN-11', inherited ? 0 : seq, `${event.decision_id} stays open`),
  );
  return [...violations, ...left];
}

function leftOpen(run: RunView, approvals: readonly ApprovalView[]): readonly ApprovalView[] {
  const open = approvals.filter(({ answers }) => answers.length === 0);
  if (run.terminal === undefined) return [];
  // What it would have gone on with goes with it, untold.
  if (run.first('started') === undefined) return [];
  return run.terminal.event.type === 'parked'
    ? open.filter(({ asked: { event } }) => isElicitation(event) || isByWebhook(event))
    : open;
}

/** Which approvals are open, entry by entry. */
class OpenStory {
  readonly #known: Set<string>;
  readonly #open: Set<string>;

  constructor(approvals: readonly ApprovalView[]) {
    const inherited = approvals.filter((approval) => approval.inherited);
    const idsOf = (some: readonly ApprovalView[]) =>
      new Set(some.map(({ asked }) => asked.event.decision_id));
    this.#known = idsOf(inherited);
    this.#open = idsOf(inherited.filter(({ wasOpen }) => wasOpen));
  }

  isOpen(decisionId: string): boolean {
    return this.#open.has(decisionId);
  }

  /** What is wrong with the entry at its place. */
  note({
    event,
  }: Placed<EventOf<'approval_requested' | 'approval_completed'>>): string | undefined {
    const { decision_id: id } = event;
    if (event.type === 'approval_completed') {
      if (this.#open.delete(id)) return undefined;
      return `${id} is answered ${this.#known.has(id) ? 'a second time' : 'without having been asked for'}`;
    }
    const again = this.#known.has(id);
    this.#known.add(id);
    this.#open.add(id);
    return again ? `${id} is asked for twice` : undefined;
  }
}

/**
 * JN-12: that an approval waits is told by the conversational route alone, that it still waits is told
 * with the expiry that it was asked with, and neither is told of one that is not open.
 */
export const approvalsToldWhileOpen: Check = (entries) => approvalsOf(entries).flatMap(toldLate);

function toldLate({ run, approvals }: ApprovalsOfRun): Violation[] {
  const story = new OpenStory(approvals);
  const waitedMs = new Map<string, number>();
  const shown = new Set<string>();
  return run.of(...WAITING).flatMap((placed) => {
    const { seq, event } = placed;
    if (event.type === 'approval_requested' || event.type === 'approval_completed') {
      story.note(placed as Parameters<OpenStory['note']>[0]);
      return [];
    }
    const { decision_id: id, expires_at: expires } = event;
    const view = approvals.find(({ asked }) => asked.event.decision_id === id);
    const wrong = [
      ...(story.isOpen(id) ? [] : [`${event.type} of ${id}, which is not open`]),
      ...wrongExpiry(view, expires),
      ...(event.type === 'approval_pending'
        ? wrongPending(view, shown)
        : wrongReminder(event, waitedMs)),
    ];
    return wrong.map((what) => run.violation('JN-12', seq, what));
  });
}

const WAITING = [
  'approval_requested',
  'approval_completed',
  'approval_pending',
  'approval_reminder',
] as const;

function wrongExpiry(view: ApprovalView | undefined, expires: string): string[] {
  const asked = view?.asked.event.expires_at;
  return asked === undefined || asked === expires ? [] : [`${expires} is not when it expires`];
}

function wrongPending(view: ApprovalView | undefined, shown: Set<string>): string[] {
  if (view === undefined) return [];
  const { route, decision_id: id } = view.asked.event;
  const again = shown.has(id) ? [`${id} is told to wait twice`] : [];
  shown.add(id);
  return route === 'webhook' ? ['a webhook is asked, so nobody decides here', ...again] : again;
}

function wrongReminder(
  { decision_id: id, waited_ms: waited }: EventOf<'approval_reminder'>,
  before: Map<string, number>,
): string[] {
  const last = before.get(id) ?? 0;
  before.set(id, waited);
  return waited > last ? [] : [`${id} has waited ${waited} ms, and ${last} ms before`];
}
