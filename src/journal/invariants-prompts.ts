import { approvalsOf, isByWebhook, isAnswered } from './invariants-approval-view.ts';
import type { ApprovalsOfRun, ApprovalView } from './invariants-approval-view.ts';
import type { Check, RunView, Violation } from './invariants-view.ts';

/**
 * JN-13: nobody is left with a question that nobody waits for any more. An approval that a webhook was
 * asked for and that ends otherwise than by its answer is withdrawn, once, between its end and the end
 * of its run. Nothing else is: who decides in the inbox hears of the end of an approval there.
 */
export const promptsWithdrawn: Check = (entries) =>
  approvalsOf(entries).flatMap(({ run, approvals }) => [
    ...strayNotices({ run, approvals }),
    ...approvals.flatMap((approval) => missingNotice(run, approval)),
  ]);

function strayNotices({ run, approvals }: ApprovalsOfRun): Violation[] {
  const told = new Set<string>();
  return run.of('approval_withdrawn').flatMap(({ seq, event: { decision_id: id } }) => {
    const view = approvals.find(({ asked }) => asked.event.decision_id === id);
    const wrong = told.has(id) ? `${id} is withdrawn twice` : strayNotice(view, { id, seq });
    told.add(id);
    return wrong === undefined ? [] : [run.violation('JN-13', seq, wrong)];
  });
}

function strayNotice(
  view: ApprovalView | undefined,
  { id, seq }: { readonly id: string; readonly seq: number },
): string | undefined {
  if (view === undefined) return `${id} is withdrawn without having been asked for`;
  if (!isByWebhook(view.asked.event)) return `${id} is withdrawn, and no webhook was asked`;
  const answer = view.answers.find((given) => given.seq < seq);
  if (answer === undefined) return `${id} is withdrawn before it ends`;
  return isAnswered(answer.event) ? `${id} is withdrawn though it was answered` : undefined;
}

/** The run in which it ends tells; while that run lives, there is time for it. */
function missingNotice(run: RunView, { asked, answers }: ApprovalView): Violation[] {
  const end = run.terminal;
  if (end === undefined || !isByWebhook(asked.event)) return [];
  const { decision_id: id } = asked.event;
  const own = new Set(run.of('approval_completed').map(({ seq }) => seq));
  const [answer] = answers.filter(({ seq }) => own.has(seq));
  if (answer === undefined || isAnswered(answer.event)) return [];
  const told = run.of('approval_withdrawn').filter(({ event }) => event.decision_id === id);
  if (told.some(({ seq }) => seq < end.seq)) return [];
  return [run.violation('JN-13', answer.seq, `${id} is over, and who was asked is not told`)];
}
