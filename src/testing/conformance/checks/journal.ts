import type { Envelope } from '../../../journal/events.ts';
import { checkJournal } from '../../../journal/invariants.ts';
import type { EventReader } from '../acts/api.ts';
import { entriesOf, isTerminal } from '../acts/entries.ts';
import { Mismatch, shown } from '../acts/mismatch.ts';
import type { Stage } from '../acts/stage.ts';

/** The session's whole journal is sound, and whoever read it live read the same. */
export async function checkJournals(stage: Stage): Promise<void> {
  const journal = await readAgain(stage);
  const violations = checkJournal(journal, { ended: true });
  if (violations.length > 0) {
    throw new Mismatch('a journal that keeps every invariant', shown(violations));
  }
  for (const { reader, runId } of stage.readers) {
    checkReader(
      reader,
      journal.filter((entry) => runId === undefined || entry.run_id === runId),
    );
  }
}

/** The journal from its first entry to the last one that the session's record knows. */
async function readAgain(stage: Stage): Promise<readonly Envelope[]> {
  const { json } = await stage.api.expect(200, `/v1/sessions/${stage.id}`);
  const last = Number(json['last_seq']);
  const reader = await stage.api.stream(`/v1/sessions/${stage.id}/events?from=1`);
  const isWhole = (): boolean => entriesOf(reader).some(({ seq }) => seq >= last);
  const whole = new Promise<void>((resolve) => {
    reader.onFrame(() => isWhole() && resolve());
    if (isWhole()) resolve();
  });
  await stage.bounded(whole, `entry ${last} of the session again`);
  reader.leave();
  return entriesOf(reader).filter(({ seq }) => seq <= last);
}

/** What a reader saw is a part of the journal without a hole or a double, each frame under its `seq`. */
function checkReader(reader: EventReader, journal: readonly Envelope[]): void {
  const seen = entriesOf(reader);
  const odd = reader.frames.find(
    ({ id, data }) => id !== String((JSON.parse(data) as Envelope).seq),
  );
  if (odd !== undefined) throw new Mismatch('the id of each frame to be its seq', shown(odd));
  const [first] = seen;
  if (first === undefined) return;
  const from = journal.findIndex(({ seq }) => seq === first.seq);
  for (const [index, entry] of seen.entries()) {
    const kept = journal[from + index];
    if (JSON.stringify(kept) === JSON.stringify(entry)) continue;
    const what = `${shown(kept ?? 'nothing more')} at place ${index + 1} of a stream`;
    throw new Mismatch(what, shown(entry));
  }
}

/** Each run's record, its explanation and a reader that comes back say what the journal says. */
export async function checkRuns(stage: Stage): Promise<void> {
  for (const { runId } of stage.runs) {
    const own = stage.entries.filter((entry) => entry.run_id === runId);
    const terminal = own.find(isTerminal);
    if (terminal === undefined) throw new Mismatch(`run ${runId} to have ended`, stage.excerpt());
    await checkRecord(stage, runId, terminal);
    await checkExplained(stage, runId, terminal);
    await checkReplay(stage, runId, own);
  }
}

async function checkRecord(stage: Stage, runId: string, { payload, seq }: Envelope): Promise<void> {
  const { json } = await stage.api.expect(200, `/v1/runs/${runId}`);
  const { type } = payload.event;
  if (json['state'] === type && json['last_seq'] === seq) return;
  const what = `a record in state ${type} whose last entry is ${seq}`;
  throw new Mismatch(what, `${shown(json['state'])}, ${shown(json['last_seq'])}`);
}

/** Every end has a reason that can be named, and it leads to the entry that ended the run. */
async function checkExplained(
  stage: Stage,
  runId: string,
  { payload, seq }: Envelope,
): Promise<void> {
  const { json } = await stage.api.expect(200, `/v1/runs/${runId}/explain`);
  const { state, prose, chain } = json as {
    state?: string;
    prose?: readonly string[];
    chain?: readonly { seq: number | null }[];
  };
  const leads = chain?.some((step) => step.seq === seq) === true;
  if (state === payload.event.type && (prose?.length ?? 0) > 0 && leads) return;
  throw new Mismatch(`an explanation of ${payload.event.type} at entry ${seq}`, shown(json));
}

/** Who comes back with `Last-Event-ID` gets the rest, and past the end nothing. */
async function checkReplay(stage: Stage, runId: string, own: readonly Envelope[]): Promise<void> {
  const middle = own[Math.floor(own.length / 2)]?.seq ?? 0;
  const last = own.at(-1)?.seq ?? 0;
  const path = `/v1/runs/${runId}/events`;
  const headers = { 'Last-Event-ID': String(middle) };
  const reader = await stage.api.stream(path, { headers });
  const over = await stage.bounded(reader.over, 'the stream of an ended run to end');
  const rest = own.filter(({ seq }) => seq > middle).map(({ seq }) => seq);
  const seen = entriesOf(reader).map(({ seq }) => seq);
  if (over !== 'ended' || JSON.stringify(seen) !== JSON.stringify(rest)) {
    throw new Mismatch(
      `entries ${shown(rest)} after ${middle}, and the end`,
      `${shown(seen)}, ${over}`,
    );
  }
  await stage.api.expect(204, path, { headers: { 'Last-Event-ID': String(last) } });
}
