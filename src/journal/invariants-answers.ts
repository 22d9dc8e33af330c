import {
  type Answered,
  approvalsOf,
  type ApprovalsOfRun,
  type ApprovalView,
  type Asked,
  isDecision,
  isElicitation,
} from './invariants-approval-view.ts';
import type { Check, EventOf, Placed, RunView, Violation } from './invariants-view.ts';

/**
 * JN-14: an answer holds what its outcome can have. Somebody decided only where there is a decision,
 * arguments are edited and a session is granted only by an approval of a call, and content answers a
 * question of a server.
 */
export const answersFit: Check = (entries) =>
  approvalsOf(entries).flatMap(({ run, approvals }) => {
    const own = new Set(run.of('approval_completed').map(({ seq }) => seq));
    return approvals.flatMap(({ asked, answers }) =>
      answers
        .filter(({ seq }) => own.has(seq))
        .flatMap(({ seq, event }) =>
          unfit(asked.event, event).map((what) =>
            run.violation('JN-14', seq, `${event.decision_id} is ${event.outcome.kind} ${what}`),
          ),
        ),
    );
  });

function unfit(asked: Asked, answer: Answered): string[] {
  const approved = answer.outcome.kind === 'approved';
  const asks = isElicitation(asked);
  const found = {
    'by somebody': answer.decided_by !== undefined && !isDecision(answer),
    'with an edit': answer.edited !== undefined && (!approved || asks),
    'for the session': answer.grant !== undefined && !(approved && isGrantable(asked)),
    'as granted': answer.granted_by !== undefined && !(approved && isGrantable(asked)),
    'with content': answer.content !== undefined && !(approved && asks),
    'for another call': answer.tool_call_id !== asked.tool_call_id,
    'for other arguments': answer.arguments_digest !== asked.arguments_digest,
  };
  return Object.entries(found).flatMap(([what, isSo]) => (isSo ? [what] : []));
}

/** A grant is for a pattern. */
const isGrantable = ({ origin }: Asked): boolean => origin.kind === 'config_gate';

/**
 * JN-15: the end of a call says how a person, or the lack of one, kept it from running, and says so of
 * no other call: a denial is none that timed out, and the other way round.
 */
export const refusalsTold: Check = (entries) => approvalsOf(entries).flatMap(untold);

function untold({ run, approvals }: ApprovalsOfRun): Violation[] {
  return run.of('tool_complete').flatMap((end) => {
    const kinds = kindsBefore(approvals, end);
    const { approval, tool_id: id } = end.event;
    const last = kinds.at(-1);
    if (approval !== undefined && approval !== last) {
      const message = `call ${id} ends as ${approval}, and its approval is ${last ?? 'not there'}`;
      return [run.violation('JN-15', end.seq, message)];
    }
    if (approval !== undefined || (last !== 'denied' && last !== 'timed_out')) return [];
    return [run.violation('JN-15', end.seq, `call ${id} does not say that it was ${last}`)];
  });
}

function kindsBefore(
  approvals: readonly ApprovalView[],
  { seq: end, event: { tool_id: id } }: Placed<EventOf<'tool_complete'>>,
): readonly string[] {
  return approvals
    .filter(({ asked: { event } }) => event.tool_call_id === id && !isElicitation(event))
    .flatMap(({ answers }) => answers.filter(({ seq }) => seq < end))
    .sort((a, b) => a.seq - b.seq)
    .map(({ event }) => event.outcome.kind);
}

/** JN-16: a server asks while it executes a call: the call has started, and ends after the answer. */
export const elicitationsWithinCalls: Check = (entries) =>
  approvalsOf(entries).flatMap(({ run, approvals }) =>
    approvals
      .filter(({ asked }) => isElicitation(asked.event))
      .flatMap((approval) => outside(run, approval)),
  );

function outside(run: RunView, { asked, answers }: ApprovalView): Violation[] {
  const { tool_call_id: id, decision_id } = asked.event;
  const [start] = run.of('tool_start').filter(({ event }) => event.tool_id === id);
  const [end] = run.of('tool_complete').filter(({ event }) => event.tool_id === id);
  const begins = start?.seq ?? Number.POSITIVE_INFINITY;
  const ends = end?.seq ?? Number.POSITIVE_INFINITY;
  const early = asked.seq < begins ? [asked.seq] : [];
  const late = [asked, ...answers].map(({ seq }) => seq).filter((seq) => seq > ends);
  return [...early, ...late].map((seq) =>
    run.violation('JN-16', seq, `${decision_id} is a question of call ${id}, which is not at work`),
  );
}
