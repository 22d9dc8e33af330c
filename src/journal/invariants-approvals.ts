import type { Envelope, JournalEvent } from './events.ts';
import { type Check, type RunView, runsOf, type Violation } from './invariants-view.ts';

/** Approvals that a parked run left open, by the run that goes on with it. */
function inherited(entries: readonly Envelope[]): ReadonlyMap<string, readonly Gate[]> {
  const open = new Map<string, readonly Gate[]>();
  const inheritedBy = new Map<string, readonly Gate[]>();
  for (const run of runsOf(entries)) {
    const before = open.get(run.continues ?? '') ?? [];
    inheritedBy.set(run.runId, before);
    const answered = new Set(run.of('approval_completed').map(({ event }) => event.decision_id));
    const asked = run.of('approval_requested').map(({ event }) => event);
    const left = [...before, ...asked].filter(({ decision_id: id }) => !answered.has(id));
    if (run.terminal?.event.type === 'parked') open.set(run.runId, left);
  }
  return inheritedBy;
}

/**
 * RUNS: a call that a rule holds back starts only after a person approved it, with the very
 * arguments that were shown.
 */
export const gatedToolsApproved: Check = (entries) => {
  const inheritedBy = inherited(entries);
  return runsOf(entries).flatMap((run) => ungated(run, inheritedBy.get(run.runId) ?? []));
};

function ungated(run: RunView, before: readonly Gate[]): Violation[] {
  const gates = [...before, ...run.of('approval_requested').map(({ event }) => event)];
  return run.of('tool_start').flatMap(({ seq, event }) =>
    gates
      .filter((gate) => gate.tool_call_id === event.tool_id && gate.origin.kind === 'config_gate')
      .filter((gate) => !isApproved(run, gate, seq))
      .map((gate) => {
        const message = `call ${event.tool_id} starts without approval ${gate.decision_id}`;
        return run.violation('RUNS', seq, message);
      }),
  );
}

type Gate = Pick<
  Extract<JournalEvent, { type: 'approval_requested' }>,
  'decision_id' | 'arguments_digest' | 'tool_call_id' | 'origin'
>;

function isApproved(run: RunView, gate: Gate, before: number): boolean {
  return run.of('approval_completed').some(({ seq, event }) => {
    return (
      seq < before &&
      event.decision_id === gate.decision_id &&
      event.arguments_digest === gate.arguments_digest &&
      event.outcome.kind === 'approved'
    );
  });
}

/**
 * RUNS: an approval is asked for once, answered once and after that, and never left open at the end,
 * unless the run was parked: then the run that goes on with it answers, if it ever starts.
 */
export const approvalsAnswered: Check = (entries) => {
  const inheritedBy = inherited(entries);
  return runsOf(entries).flatMap((run) => unanswered(run, inheritedBy.get(run.runId) ?? []));
};

function unanswered(run: RunView, before: readonly Gate[]): Violation[] {
  const open = new Map(before.map((gate) => [gate.decision_id, 0]));
  const known = new Set(open.keys());
  const violations: Violation[] = [];
  for (const { seq, event } of run.of('approval_requested', 'approval_completed')) {
    const { decision_id: id } = event;
    if (event.type === 'approval_requested') {
      if (known.has(id)) violations.push(run.violation('RUNS', seq, `${id} is asked for twice`));
      known.add(id);
      open.set(id, seq);
    } else if (!open.delete(id)) {
      const how = known.has(id) ? 'a second time' : 'without having been asked for';
      violations.push(run.violation('RUNS', seq, `${id} is answered ${how}`));
    }
  }
  if (run.terminal === undefined || run.terminal.event.type === 'parked') return violations;
  // What it would have gone on with goes with it, untold.
  if (run.first('started') === undefined) return violations;
  const left = [...open].map(([id, seq]) => run.violation('RUNS', seq, `${id} stays open`));
  return [...violations, ...left];
}
