import { type Session, sessionShape } from '../client/shapes.ts';
import type { OperatorCall } from '../operator.ts';
import { printList } from '../print/list.ts';
import type { Column } from '../print/table.ts';
import { durationText } from '../print/time.ts';

/** `runwarden sessions ls`: the sessions, newest first. */
export function listSessions(call: OperatorCall): Promise<void> {
  return printList(call, {
    path: '/v1/sessions',
    query: {},
    shape: sessionShape,
    columns: columnsAt(call.io.now()),
    none: 'No sessions.',
  });
}

const columnsAt = (now: number): readonly Column<Session>[] => [
  { title: 'SESSION', text: ({ session_id }) => session_id },
  { title: 'STATE', text: ({ state }) => state },
  { title: 'RUNS', text: ({ runs }) => String(runs), least: 4 },
  { title: 'LIVE', text: ({ live }) => String(live.length), least: 4 },
  { title: 'AGE', text: ({ created_at }) => durationText(now - created_at), least: 3 },
  { title: 'ENTRIES', text: ({ last_seq }) => String(last_seq), least: 7 },
  { title: 'LAST RUN', text: ({ last_run }) => last_run, least: 36 },
];
