import { segment } from '../client/paths.ts';
import { read } from '../client/read.ts';
import { type Session, sessionShape } from '../client/shapes.ts';
import { argument, type OperatorCall, printJson } from '../operator.ts';
import { type Section, sections } from '../print/sections.ts';
import { momentText } from '../print/time.ts';
import { SESSION_MISSING } from './missing.ts';

/** `runwarden sessions show SESSION`: the record of a session. */
export async function showSession(call: OperatorCall): Promise<void> {
  const path = `/v1/sessions/${segment(argument(call))}`;
  const { text, json } = await call.client.get(path, { ifMissing: SESSION_MISSING });
  if (call.json) return printJson(call, text);
  call.io.out(sections(partsOf(read(sessionShape, json), call.io.now())));
}

function partsOf(session: Session, now: number): readonly Section[] {
  const rows: Section['rows'] = [
    ['state', session.state],
    ['created', momentText(session.created_at, now)],
    ['runs', String(session.runs)],
    ['last run', session.last_run],
    ['entries', `up to ${session.last_seq}`],
  ];
  return [
    { title: `Session ${session.session_id}`, rows },
    { title: 'Live runs', rows: session.live.map((id) => ['run', id]) },
  ];
}
