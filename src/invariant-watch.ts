import type { Failure } from '../machines/vocabulary.ts';
import type { RunRecord } from './handle.ts';
import type { Envelope, JournalEvent } from './journal/events.ts';
import { checkRuns, type Violation } from './journal/invariants.ts';
import type { Journal } from './journal/journal.ts';
import type { StoredEntry } from './journal/reader.ts';
import type { Log } from './log.ts';
import type { StoredRun } from './stores/store.ts';

export interface InvariantWatchDeps {
  readonly journal: Pick<Journal, 'read' | 'getRecord'>;
  readonly log: Pick<Log, 'error' | 'warn'>;
  /** Stops the run for good, or gives it up if it is parked. Rejects as the journal does. */
  readonly quarantine: (run: StoredRun, failure: Failure) => Promise<void>;
}

/** Entries after which a run may have done what it must not; between them it only goes on. */
const TELLING: ReadonlySet<JournalEvent['type']> = new Set([
  'started',
  'tool_start',
  'tool_complete',
  'approval_completed',
  'stopping',
  'finished',
  'failed',
  'cancelled',
  'parked',
]);

/** Runs that are longer than this, with those that they go on with, are not looked at any more. */
const ENTRIES_MAX = 20_000;

const PAGE_ENTRIES = 1_000;

/** Runs before a run, each of which the next one went on with. */
const CHAIN_MAX = 50;

/** Entries that are named as evidence: the one where it shows, and those of the run before it. */
const EVIDENCE_MAX = 8;

/**
 * Checks the journal of each run against the invariants while it is written. Never throws.
 *
 * IW1. A run is looked at after each entry that may break one, from what the store has; runs wait for
 *      each other, so that checking takes no more than one run's journal at a time.
 * IW2. A violation is logged once with its evidence, and its run is quarantined: it is stopped as failed,
 *      and given up if it was parked before it heard of that, so that nothing goes on with it.
 * IW3. What cannot be read whole is not judged: trimmed runs, those that are too long, and those of a
 *      store that does not answer.
 */
export class InvariantWatch {
  readonly #deps: InvariantWatchDeps;
  /** Sessions by the runs in them that are to be looked at. */
  readonly #due = new Map<string, string>();
  /** What was told of runs that have not been looked at after their end. */
  readonly #told = new Map<string, Set<string>>();
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: InvariantWatchDeps) {
    this.#deps = deps;
  }

  /** What the store took. Returns before it looks. */
  heard(entries: readonly StoredEntry[]): void {
    if (this.#stopped) return;
    for (const { sessionId, runId, event } of entries) {
      if (runId !== undefined && TELLING.has(event.type)) this.#due.set(runId, sessionId);
    }
    if (this.#due.size > 0) this.#looking ??= this.#look();
  }

  /** Begins nothing more. Resolves when nothing is being looked at. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking;
  }

  async #look(): Promise<void> {
    // It is told in the middle of writes.
    await pause();
    for (const [runId, sessionId] of this.#due) {
      if (this.#stopped) break;
      this.#due.delete(runId);
      await this.#check(runId, sessionId).catch((err: unknown) => {
        this.#deps.log.warn({ run_id: runId, err }, 'A run could not be checked');
      });
      await pause();
    }
    this.#looking = undefined;
  }

  async #check(runId: string, sessionId: string): Promise<void> {
    const stored = await this.#deps.journal.getRecord(runId);
    const chain = stored && (await this.#chainOf(recordOf(stored)));
    const entries = chain && (await this.#read(sessionId, chain.from));
    if (stored === undefined || entries === undefined) return;
    const violations = checkRuns(entries.map(envelopeOf), chain?.ids ?? new Set()).filter(
      (violation) => violation.runId === runId,
    );
    const [first] = violations;
    if (first === undefined) return;
    this.#tellNew(violations, entries);
    if (stored.settledSeq !== undefined) this.#told.delete(runId);
    await this.#deps.quarantine(stored, failureOf(first));
  }

  /** The run with those that it goes on with, and where the oldest begins; undefined for a part. */
  async #chainOf(record: RunRecord): Promise<{ ids: Set<string>; from: number } | undefined> {
    const ids = new Set([record.run_id]);
    let oldest = record;
    while (oldest.continues !== null && ids.size < CHAIN_MAX) {
      const before = await this.#deps.journal.getRecord(oldest.continues);
      if (before === undefined) return undefined;
      ids.add(before.runId);
      oldest = recordOf(before);
    }
    return oldest.continues === null ? { ids, from: Math.max(1, oldest.first_seq) } : undefined;
  }

  /** Everything of the session from there on; undefined when that is too much, or not there any more. */
  async #read(sessionId: string, from: number): Promise<readonly StoredEntry[] | undefined> {
    const entries: StoredEntry[] = [];
    for (;;) {
      const next = from + entries.length;
      const page = await this.#deps.journal.read(sessionId, next, PAGE_ENTRIES);
      if (page.length === 0) return entries;
      if (page[0]?.seq !== next) return undefined;
      entries.push(...page);
      if (entries.length > ENTRIES_MAX) return undefined;
    }
  }

  #tellNew(violations: readonly Violation[], entries: readonly StoredEntry[]): void {
    for (const violation of violations) {
      const known = this.#told.get(violation.runId ?? '') ?? new Set();
      if (known.has(textOf(violation))) continue;
      this.#told.set(violation.runId ?? '', known.add(textOf(violation)));
      this.#tell(violation, entries);
    }
  }

  #tell({ invariant, seq, runId, message }: Violation, entries: readonly StoredEntry[]): void {
    const evidence = entries
      .filter((entry) => entry.runId === runId && entry.seq <= seq)
      .slice(-EVIDENCE_MAX)
      .map((entry) => `${entry.seq} ${entry.type}`);
    const fields = { run_id: runId, invariant, seq, because: message, evidence };
    this.#deps.log.error(fields, 'The journal breaks an invariant; its run is quarantined');
  }
}

/** It was written by this product. */
const recordOf = ({ record }: StoredRun): RunRecord => JSON.parse(record) as RunRecord;

const envelopeOf = ({ json }: StoredEntry): Envelope => JSON.parse(json) as Envelope;

const textOf = ({ invariant, seq, message }: Violation): string => `${invariant} ${seq} ${message}`;

const failureOf = ({ invariant, seq, message }: Violation): Failure => ({
  code: 'invariant_violated',
  message: `${invariant} at entry ${seq}: ${message}.`,
  retryable: false,
});

/** Lets others have their turn of the event loop. */
const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
