import type { JournalEvent, Payload, UsageFields } from './events.ts';
import { type OpenApproval, OpenEnds } from './open-ends.ts';
import type { JournalReader, StoredEntry } from './reader.ts';
import { StoryTurns } from './story-turns.ts';
import type { RunJournal } from './run-journal.ts';

/** A page of this many entries leaves room for others before the next one. */
const PAGE_ENTRIES = 512;

/** Entries that explain an end, so that it names them. */
const EVIDENCE: ReadonlySet<JournalEvent['type']> = new Set([
  'observer_detached',
  'claims_exhausted',
  'liveness_decided',
  'stopping',
]);

export const isEvidence = ({ type }: JournalEvent): boolean => EVIDENCE.has(type);

/** What is known of a run before its entries are read. */
export interface KnownBefore {
  /** What its checkpoint knows of, which is told by no turn. */
  readonly since: number;
  /** Ids of the calls that its checkpoint has; a run that goes on with another tells of them again. */
  readonly calls: ReadonlySet<string>;
  /** Approvals that the run before it left open. */
  readonly asked: readonly OpenApproval[];
}

const NOTHING_KNOWN: KnownBefore = { since: 0, calls: new Set(), asked: [] };

/** What the entries of one run say, read in order. */
export class RunStory {
  readonly ends = new OpenEnds();
  /** What the run added to its conversation after its checkpoint. */
  readonly turns = new StoryTurns();
  readonly evidence: number[] = [];
  /** State by `what:id`. */
  readonly obligations = new Map<string, { what: string; id: string; state: string }>();
  startedAt: number | null = null;
  /** It waited for its session, so that no other run was at work when it started. */
  waited = false;
  /** A stop of it had begun. */
  stopping = false;
  /** 0 while there is none. */
  firstSeq = 0;
  lastSeq = 0;
  lastAt = 0;
  prompt = '';
  readonly #known: KnownBefore;
  #turns: UsageFields = NO_USAGE;
  #total: UsageFields = NO_USAGE;
  #recorded: UsageFields = NO_USAGE;

  constructor(known: KnownBefore = NOTHING_KNOWN) {
    this.#known = known;
    for (const asked of known.asked) this.ends.inherit(asked);
  }

  note({ seq, at, event }: Pick<StoredEntry, 'seq' | 'at' | 'event'>): void {
    if (seq > this.#known.since && !this.#isToldAgain(event)) this.turns.note(event);
    if (this.firstSeq === 0) this.firstSeq = seq;
    this.lastSeq = seq;
    this.lastAt = at;
    if (isEvidence(event)) this.evidence.push(seq);
    this.ends.note(event, at);
    switch (event.type) {
      case 'queued':
        this.waited = true;
        return;
      case 'started':
        this.startedAt = at;
        this.prompt = event.prompt;
        return;
      case 'stopping':
        this.stopping = true;
        return;
      case 'obligation': {
        const { what, id, state } = event;
        this.obligations.set(`${what}:${id}`, { what, id, state });
        return;
      }
      case 'tool_usage':
        this.#turns = usageOf({
          prompt_tokens: this.#turns.prompt_tokens + event.prompt_tokens,
          completion_tokens: this.#turns.completion_tokens + event.completion_tokens,
        });
        return;
      case 'usage':
        this.#total = event;
        return;
      default:
    }
  }

  /** What the run's record tells of its use. */
  noteRecorded(usage: UsageFields): void {
    this.#recorded = usage;
  }

  #isToldAgain(event: JournalEvent): boolean {
    return event.type === 'tool_requested' && this.#known.calls.has(event.tool_id);
  }

  /** As much as was told: single turns, the record, or the total of a run that was about to end. */
  get usage(): UsageFields {
    const told = [this.#turns, this.#total, this.#recorded];
    return usageOf({
      prompt_tokens: Math.max(...told.map((usage) => usage.prompt_tokens)),
      completion_tokens: Math.max(...told.map((usage) => usage.completion_tokens)),
    });
  }
}

const NO_USAGE: UsageFields = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

const usageOf = (usage: Omit<UsageFields, 'total_tokens'>): UsageFields => ({
  prompt_tokens: usage.prompt_tokens,
  completion_tokens: usage.completion_tokens,
  total_tokens: usage.prompt_tokens + usage.completion_tokens,
});

interface RunRange {
  /** Where the session is stored. */
  readonly sessionId: string;
  readonly runId: string;
  /** The first `seq` wanted. */
  readonly from: number;
}

/** Reads what the store has of a run. Rejects as the reader does. */
export async function readStory(
  journal: JournalReader,
  range: RunRange,
  known: KnownBefore = NOTHING_KNOWN,
): Promise<RunStory> {
  const story = new RunStory(known);
  for await (const entry of storedEntries(journal, range)) story.note(entry);
  return story;
}

/** What the store has now of a run, a page at a time. Throws what the reader rejects with. */
export async function* storedEntries(
  journal: JournalReader,
  { sessionId, runId, from }: RunRange,
): AsyncGenerator<StoredEntry> {
  const head = await journal.head(sessionId);
  for (let next = from; next <= head; ) {
    const page = await journal.read(sessionId, next, PAGE_ENTRIES);
    for (const entry of page) if (entry.runId === runId) yield entry;
    next = (page.at(-1)?.seq ?? head) + 1;
    if (next <= head) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Appends an event of either kind. Answers its `seq`, or 0 when it was dropped. */
export function appendPayload(run: RunJournal, payload: Payload): number {
  return payload.kind === 'agent'
    ? run.append('agent', payload.event)
    : run.append('lifecycle', payload.event);
}
