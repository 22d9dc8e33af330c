import type { Envelope } from '../../journal/events.ts';

const DETAIL_CHARS_MAX = 110;

/** A session's journal for a person: seq, milliseconds since its first entry, run, event. */
export function journalTable(sessionId: string, lines: readonly string[]): string {
  const entries = lines.map((line) => JSON.parse(line) as Envelope);
  const from = entries[0]?.at ?? 0;
  const names = new Map<string | undefined, string>([[undefined, '-']]);
  for (const { run_id: id } of entries) if (!names.has(id)) names.set(id, `run ${names.size}`);
  const rows = entries.map(({ seq, at, run_id, payload: { event } }) => {
    const { type, ...detail } = event;
    const place = `${String(seq).padStart(5)} ${String(at - from).padStart(8)}`;
    return `${place}  ${(names.get(run_id) ?? '').padEnd(6)} ${type.padEnd(18)} ${detailOf(detail)}`.trimEnd();
  });
  const head = `  seq       at  run    event`;
  const ids = [...names].flatMap(([id, name]) => (id === undefined ? [] : [`  ${name}: ${id}`]));
  return [`Session ${sessionId}`, ...ids, head, ...rows].join('\n');
}

function detailOf(detail: object): string {
  const text = JSON.stringify(detail);
  if (text === '{}') return '';
  return text.length > DETAIL_CHARS_MAX ? `${text.slice(0, DETAIL_CHARS_MAX)}…` : text;
}
