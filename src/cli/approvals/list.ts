import { type Approval, approvalShape } from '../client/shapes.ts';
import type { OperatorCall } from '../operator.ts';
import { argumentsText, deciderText, reasonText } from '../print/approval-text.ts';
import { printList } from '../print/list.ts';
import type { Column } from '../print/table.ts';
import { durationText } from '../print/time.ts';
import { asksForPending, filtersOf } from './filters.ts';

/** `runwarden approvals list`: what waits for a person, or what is chosen. */
export function listApprovals(call: OperatorCall): Promise<void> {
  const pending = asksForPending(call);
  const now = call.io.now();
  return printList(call, {
    path: '/v1/approvals',
    query: filtersOf(call),
    shape: approvalShape,
    columns: pending ? [...HEAD, ...whenAt(now), ...REST] : [...HEAD, ...decidedAt(now), ...REST],
    none: pending ? 'Nothing waits for an approval.' : 'No approvals.',
  });
}

type Columns = readonly Column<Approval>[];

const HEAD: Columns = [
  { title: 'APPROVAL', text: ({ decision_id }) => decision_id },
  { title: 'TOOL', text: ({ tool_name }) => tool_name },
];

const whenAt = (now: number): Columns => [
  { title: 'WAITS', text: ({ requested_at }) => durationText(now - requested_at), least: 5 },
  { title: 'LEFT', text: ({ expires_at }) => durationText(expires_at - now), least: 4 },
];

const decidedAt = (now: number): Columns => [
  { title: 'STATE', text: ({ state }) => state },
  { title: 'ASKED', text: ({ requested_at }) => durationText(now - requested_at), least: 5 },
  { title: 'BY', text: deciderText, least: 6 },
  { title: 'REASON', text: reasonText, least: 6 },
];

const REST: Columns = [
  { title: 'ARGUMENTS', text: argumentsText, least: 12 },
  { title: 'ROUTE', text: ({ route }) => route, least: 7 },
  { title: 'AGENT', text: ({ agent }) => agent, least: 6 },
  {
    title: 'RUN',
    text: ({ run_id, parked }) => `${run_id}${parked ? ' (parked)' : ''}`,
    least: 36,
  },
  { title: 'SESSION', text: ({ session_id }) => session_id, least: 8 },
];
