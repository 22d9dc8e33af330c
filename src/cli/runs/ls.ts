import { type Run, runShape } from '../client/shapes.ts';
import { type OperatorCall, option } from '../operator.ts';
import { printList } from '../print/list.ts';
import { endText, waitingText } from '../print/run-text.ts';
import type { Column } from '../print/table.ts';
import { durationText } from '../print/time.ts';

/** `runwarden runs ls`: the runs, newest first. */
export function listRuns(call: OperatorCall): Promise<void> {
  const query = {
    state: option(call, 'state'),
    session_id: option(call, 'session'),
    agent: option(call, 'agent'),
  };
  const columns = columnsAt(call.io.now());
  return printList(call, { path: '/v1/runs', query, shape: runShape, columns, none: 'No runs.' });
}

const columnsAt = (now: number): readonly Column<Run>[] => [
  { title: 'RUN', text: ({ run_id }) => run_id },
  { title: 'STATE', text: ({ state }) => state },
  { title: 'AGENT', text: ({ agent }) => agent, least: 6 },
  { title: 'AGE', text: ({ created_at }) => durationText(now - created_at), least: 3 },
  { title: 'END', text: endText, least: 8 },
  { title: 'WAITING FOR', text: waitingText, least: 12 },
  { title: 'SESSION', text: ({ session_id }) => session_id, least: 8 },
  { title: 'CLAIMS', text: ({ claims }) => String(claims.length), least: 6 },
];
