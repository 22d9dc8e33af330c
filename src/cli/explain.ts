import { segment } from './client/paths.ts';
import { read } from './client/read.ts';
import { type Explained, explanationShape } from './client/shapes.ts';
import { argument, type OperatorCall, printJson } from './operator.ts';
import { plain } from './print/plain.ts';
import { type Section, sections } from './print/sections.ts';
import { clockText } from './print/time.ts';
import { RUN_MISSING } from './runs/missing.ts';

/** `runwarden explain RUN`: why a run is in the state it is in. */
export async function explain(call: OperatorCall): Promise<void> {
  const path = `/v1/runs/${segment(argument(call))}/explain`;
  const { text, json } = await call.client.get(path, { ifMissing: RUN_MISSING });
  if (call.json) return printJson(call, text);
  const explained = read(explanationShape, json);
  const parts = partsOf(explained).filter(({ rows }) => rows.length > 0);
  const rest = parts.length === 0 ? '' : `\n${sections(parts)}`;
  call.io.out(`${proseOf(explained)}\n${rest}`);
}

function proseOf({ run_id, state, prose }: Explained): string {
  return [`Run ${run_id} is ${state}.`, ...prose].map(plain).join('\n');
}

function partsOf({ chain, blocked_by }: Explained): readonly Section[] {
  return [
    {
      title: 'Held back by',
      rows: blocked_by.map(({ chart, guard, event, because }) => [
        `${chart}.${guard}`,
        event === null ? because : `${because} (on ${event})`,
      ]),
    },
    {
      title: 'Evidence',
      rows: chain.map(({ at, kind, seq, text }) => [
        `${clockText(at)} ${seq === null ? kind : `entry ${seq}`}`,
        text,
      ]),
    },
  ];
}
