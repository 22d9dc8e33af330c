import { type Approval, approvalShape } from '../client/shapes.ts';
import type { OperatorCall } from '../operator.ts';
import { printList } from '../print/list.ts';
import type { Column } from '../print/table.ts';
import { durationText } from '../print/time.ts';
import { fitted } from '../print/width.ts';

/** `runwarden approvals ls`: what waits for a person. */
export function listApprovals(call: OperatorCall): Promise<void> {
  return printList(call, {
    path: '/v1/approvals',
    query: { state: 'pending' },
    shape: approvalShape,
    columns: columnsAt(call.io.now()),
    none: 'Nothing waits for an approval.',
  });
}

/** Columns; more of the arguments is shown by `--json`. */
const ARGUMENTS_MAX = 200;

const columnsAt = (now: number): readonly Column<Approval>[] => [
  { title: 'APPROVAL', text: ({ decision_id }) => decision_id },
  { title: 'TOOL', text: ({ tool_name }) => tool_name },
  { title: 'LEFT', text: ({ expires_at }) => durationText(expires_at - now), least: 4 },
  { title: 'ARGUMENTS', text: argumentsText, least: 12 },
  { title: 'AGENT', text: ({ agent }) => agent, least: 6 },
  {
    title: 'RUN',
    text: ({ run_id, parked }) => `${run_id}${parked ? ' (parked)' : ''}`,
    least: 36,
  },
  { title: 'SESSION', text: ({ session_id }) => session_id, least: 8 },
];

const argumentsText = ({ arguments: value }: Approval): string =>
  fitted(JSON.stringify(value) ?? '', ARGUMENTS_MAX);
