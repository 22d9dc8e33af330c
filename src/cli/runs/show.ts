import { segment } from '../client/paths.ts';
import { read } from '../client/read.ts';
import { type Run, runShape } from '../client/shapes.ts';
import { argument, type OperatorCall, printJson } from '../operator.ts';
import { livenessText, causeText, verbLines } from '../print/run-text.ts';
import { type Section, sections } from '../print/sections.ts';
import { durationText, momentText } from '../print/time.ts';
import { RUN_MISSING } from './missing.ts';

/** `runwarden runs show RUN`: the record of a run. */
export async function showRun(call: OperatorCall): Promise<void> {
  const path = `/v1/runs/${segment(argument(call))}`;
  const { text, json } = await call.client.get(path, { ifMissing: RUN_MISSING });
  if (call.json) return printJson(call, text);
  call.io.out(sections(partsOf(read(runShape, json), call.io.now())));
}

function partsOf(run: Run, now: number): readonly Section[] {
  const { claims, deadlines, obligations, approvals } = run;
  return [
    { title: `Run ${run.run_id}`, rows: headRows(run, now) },
    { title: 'Ended', rows: endRows(run) },
    { title: 'Deadlines', rows: deadlines.map((one) => [one.which, countdown(one)]) },
    { title: 'Waits for a person', rows: approvals.map((id) => ['approval', id]) },
    { title: 'Open obligations', rows: obligations.map((o) => [o.what, `${o.id} (${o.state})`]) },
    { title: 'Claims', rows: claims.map(({ id, presence }) => [id, presence ? 'a person' : '']) },
    { title: 'What may be done now', rows: verbLines(run) },
  ];
}

function headRows(run: Run, now: number): Section['rows'] {
  const { usage, continues, continued_by } = run;
  const tokens = `${usage.prompt_tokens} in, ${usage.completion_tokens} out, ${usage.total_tokens} in all`;
  return [
    ['state', run.state],
    ['agent', run.agent],
    ['session', run.session_id],
    ['liveness', livenessText(run.liveness)],
    ['created', momentText(run.created_at, now)],
    ['started', momentText(run.started_at, now)],
    ['ended', momentText(run.ended_at, now)],
    ['readers', `${run.claims.length} with a claim, ${run.observers} without`],
    ['entries', `${run.first_seq} to ${run.last_seq}`],
    ['tokens', tokens],
    ...named('continues', continues),
    ...named('continued by', continued_by),
  ];
}

const named = (name: string, id: string | null | undefined): [string, string][] =>
  id === null || id === undefined ? [] : [[name, id]];

const countdown = ({ remaining_ms, suspended }: Run['deadlines'][number]): string =>
  `${durationText(remaining_ms)} left${suspended ? ', suspended' : ''}`;

function endRows({ end }: Run): Section['rows'] {
  if (end === null) return [];
  const { by, after_ms, evidence, error } = end;
  return [
    ['because', causeText(end) || 'its work was done'],
    ...(error === null || error === undefined ? [] : [['error', error.message] as const]),
    ['by', by],
    ['after', durationText(after_ms)],
    ...(evidence.length === 0 ? [] : [['evidence', `entries ${evidence.join(', ')}`] as const]),
  ];
}
