import { checkJournal } from '../../journal/invariants.ts';
import type { Envelope } from '../../journal/events.ts';
import { HeardRun } from './heard-run.ts';
import { reenact } from './reenact.ts';
import { journalTable } from './table.ts';

/** What a journal from a file shows. */
export interface KeptReport {
  readonly report: string;
  readonly faults: readonly string[];
}

/** Checks a journal that was taken from a server, as JSON lines or as the text of an event stream. */
export async function checkKept(text: string): Promise<KeptReport> {
  const entries = entriesIn(text);
  const sessions = Map.groupBy(entries, ({ session_id: id }) => id);
  const faults: string[] = entries.length === 0 ? ['the file has no entries'] : [];
  const parts: string[] = [];
  for (const [id, told] of sessions) {
    parts.push(
      journalTable(
        id,
        told.map((entry) => JSON.stringify(entry)),
      ),
    );
    faults.push(...checkJournal(told).map((violation) => `${id}: ${JSON.stringify(violation)}`));
    const again = await reenactAll(told);
    parts.push(again.notes.join('\n'));
    faults.push(...again.faults);
  }
  return { report: parts.join('\n\n'), faults };
}

/** Each run by itself: what was decided about its life is decided again. */
async function reenactAll(entries: readonly Envelope[]) {
  const notes: string[] = [];
  const faults: string[] = [];
  for (const id of new Set(entries.map(({ run_id }) => run_id))) {
    if (id === undefined) continue;
    const heard = new HeardRun(id, entries);
    const { unplayable } = heard;
    if (unplayable !== undefined) {
      notes.push(`Run ${id} is checked and not played again: ${unplayable}.`);
      continue;
    }
    const [was, is] = [heard.decisions.join(', '), (await reenact(heard)).join(', ')];
    notes.push(`Run ${id} was played again: ${is}.`);
    if (was !== is) faults.push(`run ${id} was ${was}, and is ${is} when it is played again`);
  }
  return { notes, faults };
}

/** The entries of a file, in its order; lines that hold none are passed over. */
export function entriesIn(text: string): readonly Envelope[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const json = line.startsWith('data:') ? line.slice('data:'.length).trim() : line.trim();
    if (!json.startsWith('{')) return [];
    const entry = JSON.parse(json) as Partial<Envelope>;
    return entry.seq === undefined || entry.payload === undefined ? [] : [entry as Envelope];
  });
}
