import type { JournalEvent } from '../journal/events.ts';
import type { JournalReader, StoredEntry } from '../journal/reader.ts';
import type { RunEntry } from './facts.ts';

/** Entries of the session that are read at a time; others get their turn before the next ones. */
const PAGE = 512;

/** Entries read from the beginning and from the end of a run; most of a long one is text. */
const HEAD_MAX = 2_048;
const TAIL_MAX = 16_384;

/** Entries of evidence that are looked up one by one, where they lie between. */
const EVIDENCE_MAX = 64;

/** Of what was read, what is kept: a run's beginning and end explain more than its middle. */
const FIRST_MAX = 200;
const LAST_MAX = 2_000;

/** What says nothing of why a run is where it is; most of a journal is that. */
const TALK: ReadonlySet<string> = new Set<JournalEvent['type']>([
  'session_info',
  'text_delta',
  'reasoning',
  'tool_progress',
  'tool_usage',
  'usage',
]);

export interface RunRange {
  readonly sessionId: string;
  readonly runId: string;
  /** The run's first and newest entry, both included. */
  readonly from: number;
  readonly to: number;
  /** What its end names; it may be another run's. */
  readonly evidence: readonly number[];
}

/**
 * The entries of a run that an explanation is made of, in order. Of a long run its beginning, its
 * end and the evidence of its end are read, so that the price has a bound. Rejects as the reader
 * does.
 */
export async function readRun(
  journal: Pick<JournalReader, 'read'>,
  range: RunRange,
): Promise<readonly RunEntry[]> {
  const { from, to, evidence } = range;
  const head = Math.min(to, from + HEAD_MAX - 1);
  const tail = Math.max(head + 1, to - TAIL_MAX + 1);
  const first = await readDecisive(journal, range, { from, to: head });
  const last = await readDecisive(journal, range, { from: tail, to });
  const between = evidence.filter((seq) => seq < from || seq > to || (seq > head && seq < tail));
  const found = await readOnes(journal, range, between.slice(-EVIDENCE_MAX));
  const kept = [...first.slice(0, FIRST_MAX), ...first.slice(FIRST_MAX).slice(-LAST_MAX)];
  return [...kept, ...found, ...last.slice(-LAST_MAX)].sort((a, b) => a.seq - b.seq);
}

async function readDecisive(
  journal: Pick<JournalReader, 'read'>,
  { sessionId, runId, evidence }: RunRange,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<RunEntry[]> {
  const kept: RunEntry[] = [];
  const named = new Set(evidence);
  for (let next = from; next <= to; ) {
    const page = await journal.read(sessionId, next, Math.min(PAGE, to - next + 1));
    for (const entry of page) {
      if (entry.runId !== runId || entry.seq > to) continue;
      // The last sign of life of a run that was lost may be any entry.
      if (!TALK.has(entry.type) || named.has(entry.seq)) kept.push(toEntry(entry));
    }
    next = (page.at(-1)?.seq ?? to) + 1;
    if (next <= to) await new Promise((resolve) => setImmediate(resolve));
  }
  return kept;
}

async function readOnes(
  journal: Pick<JournalReader, 'read'>,
  { sessionId }: RunRange,
  seqs: readonly number[],
): Promise<RunEntry[]> {
  const found: RunEntry[] = [];
  for (const seq of seqs) {
    const [entry] = await journal.read(sessionId, seq, 1);
    // A trimmed journal answers with what it has after that.
    if (entry?.seq === seq) found.push(toEntry(entry));
  }
  return found;
}

const toEntry = ({ seq, at, event, runId }: StoredEntry): RunEntry => ({ seq, at, event, runId });
