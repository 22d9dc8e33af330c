import type { RunRecord } from '../../handle.ts';
import type { JournalEvent } from '../../journal/events.ts';
import type { AtRest } from './oracles.ts';
import type { Executed } from './tools.ts';

type Completed = Extract<JournalEvent, { type: 'approval_completed' }>;

/**
 * What was executed, as the tools saw it, against what people said, as they said it: the journal only
 * tells which question was about which call.
 */
export function executionFaults(rest: AtRest): readonly string[] {
  const chains = chainsOf(rest.records);
  const before = new Set<string>();
  return rest.world.executed.flatMap((execution) => {
    const call = `${chains(execution.runId)} ${execution.callId}`;
    const isAgain = before.has(call) && execution.tool !== 'again';
    before.add(call);
    return [
      ...(isAgain ? [`${execution.tool} ${execution.callId} is executed again`] : []),
      ...(execution.tool === 'danger' ? unapproved(rest, execution, chains) : []),
    ];
  });
}

/** The first run of those that go on with each other. */
function chainsOf(records: readonly RunRecord[]): (runId: string) => string {
  const continues = new Map(records.map((record) => [record.run_id, record.continues]));
  const first = (runId: string): string => {
    const before = continues.get(runId);
    return before === null || before === undefined ? runId : first(before);
  };
  return first;
}

function unapproved(
  { world, journals }: AtRest,
  { callId, runId, order, args }: Executed,
  chains: (runId: string) => string,
): readonly string[] {
  const told = [...journals.values()].flat();
  const answers = told.flatMap(({ run_id, payload: { event } }) =>
    event.type === 'approval_completed' &&
    event.tool_call_id === callId &&
    chains(run_id ?? '') === chains(runId)
      ? [event]
      : [],
  );
  const isSaid = answers.some((answer) =>
    world.said.some(
      (said) =>
        said.approved &&
        said.order < order &&
        said.decisionId === (answer.granted_by ?? answer.decision_id),
    ),
  );
  if (!isSaid) return [`danger ${callId} of ${runId} is executed, and nobody approved`];
  return isEditedRight(answers, args)
    ? []
    : [`danger ${callId} is executed with ${JSON.stringify(args)}`];
}

/** Arguments that nobody put in are those that were shown. */
const isEditedRight = (answers: readonly Completed[], args: Executed['args']): boolean =>
  (args['edited'] === true) === answers.some(({ edited }) => edited !== undefined);
