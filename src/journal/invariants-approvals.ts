import { type Check, perRun, type RunView, type Violation } from './invariants-view.ts';

/**
 * RUNS: a call that a rule holds back starts only after a person approved it, with the very
 * arguments that were shown.
 */
export const gatedToolsApproved: Check = perRun((run) =>
  run.of('tool_start').flatMap(({ seq, event }) => {
    const gates = run
      .of('approval_requested')
      .filter(({ event: gate }) => gate.tool_call_id === event.tool_id)
      .filter(({ event: gate }) => gate.origin.kind === 'config_gate');
    return gates
      .filter(({ event: gate }) => !isApproved(run, gate, seq))
      .map(({ event: gate }) => {
        const message = `call ${event.tool_id} starts without approval ${gate.decision_id}`;
        return run.violation('RUNS', seq, message);
      });
  }),
);

interface Gate {
  readonly decision_id: string;
  readonly arguments_digest: string;
}

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

/** RUNS: an approval is asked for once, answered once and after that, and never left open at the end. */
export const approvalsAnswered: Check = perRun((run) => {
  const open = new Map<string, number>();
  const known = new Set<string>();
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
  if (run.terminal === undefined) return violations;
  const unanswered = [...open].map(([id, seq]) => run.violation('RUNS', seq, `${id} stays open`));
  return [...violations, ...unanswered];
});
