import { TERMINAL_TYPES, type Envelope, type JournalEvent } from '../../src/journal/events.ts';
import type {
  Follower,
  FollowOptions,
  JournalReader,
  JournalSink,
  StoredEntry,
} from '../../src/journal/reader.ts';
import { publicSessionId } from '../../src/session-key.ts';

const LIFECYCLE: ReadonlySet<string> = new Set([
  'queued',
  'started',
  'observer_attached',
  'observer_detached',
  'claims_exhausted',
  'liveness_decided',
  'stopping',
  'obligation',
  ...TERMINAL_TYPES,
]);

/** Entries of one read, so that a test can make batches small. */
const BATCH_MAX = 64;

/**
 * A journal in memory with the reader's promises: dense `seq` per session, delivery in order, no
 * entry lost or doubled whatever the reader pauses. Entries arrive in a microtask after `append`.
 */
export class FakeJournal implements JournalReader {
  readonly #sessions = new Map<string, StoredEntry[]>();
  readonly #trimmed = new Map<string, number>();
  readonly #followers = new Set<FakeFollower>();
  /** Entries handed over at once; a test lowers it to see every batch border. */
  batchMax = BATCH_MAX;
  #now = 1_700_000_000_000;

  append(sessionId: string, runId: string | undefined, event: JournalEvent): StoredEntry {
    const entries = this.entries(sessionId);
    const entry = stored({ sessionId, runId, event, seq: entries.length + 1, at: this.#now++ });
    entries.push(entry);
    for (const follower of this.#followers) if (follower.sessionId === sessionId) follower.wake();
    return entry;
  }

  /** Forgets the entries up to `seq`, included. Readers before it get a gap. */
  trim(sessionId: string, seq: number): void {
    this.#trimmed.set(sessionId, seq);
  }

  /** Every follower is told that the store failed. */
  fail(error: Error): void {
    for (const follower of [...this.#followers]) follower.fail(error);
  }

  follow(options: FollowOptions, sink: JournalSink): Follower {
    const follower = new FakeFollower(this, options, sink);
    this.#followers.add(follower);
    follower.wake();
    return follower;
  }

  async head(sessionId: string): Promise<number> {
    return this.entries(sessionId).length;
  }

  async read(sessionId: string, from: number, limit: number): Promise<readonly StoredEntry[]> {
    const first = Math.max(from, this.trimmed(sessionId) + 1);
    return this.entries(sessionId).slice(first - 1, first - 1 + limit);
  }

  /** How many readers are attached now; 0 once every reader has let go. */
  get followers(): number {
    return this.#followers.size;
  }

  entries(sessionId: string): StoredEntry[] {
    let entries = this.#sessions.get(sessionId);
    if (entries === undefined) this.#sessions.set(sessionId, (entries = []));
    return entries;
  }

  trimmed(sessionId: string): number {
    return this.#trimmed.get(sessionId) ?? 0;
  }

  drop(follower: FakeFollower): void {
    this.#followers.delete(follower);
  }
}

class FakeFollower implements Follower {
  readonly sessionId: string;
  readonly #journal: FakeJournal;
  readonly #runId: string | undefined;
  readonly #sink: JournalSink;
  #next: number;
  #paused = false;
  #closed = false;
  #scheduled = false;

  constructor(journal: FakeJournal, options: FollowOptions, sink: JournalSink) {
    this.#journal = journal;
    this.sessionId = options.sessionId;
    this.#runId = options.runId;
    this.#next = options.from;
    this.#sink = sink;
  }

  wake(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  resume(): void {
    this.#paused = false;
    this.wake();
  }

  close(): void {
    this.#closed = true;
    this.#journal.drop(this);
  }

  fail(error: Error): void {
    this.close();
    this.#sink.failed(error);
  }

  #pump(): void {
    this.#skipTrimmed();
    while (!this.#closed && !this.#paused) {
      const batch = this.#take();
      if (batch === undefined) return;
      if (batch.length > 0 && !this.#sink.entries(batch)) this.#paused = true;
    }
  }

  #skipTrimmed(): void {
    const trimmed = this.#journal.trimmed(this.sessionId);
    if (this.#closed || this.#next > trimmed) return;
    const gap = { from: this.#next, to: trimmed };
    this.#next = trimmed + 1;
    this.#sink.gap(gap);
  }

  #take(): StoredEntry[] | undefined {
    const all = this.#journal.entries(this.sessionId);
    const batch = all.slice(this.#next - 1, this.#next - 1 + this.#journal.batchMax);
    if (batch.length === 0) return undefined;
    this.#next += batch.length;
    const runId = this.#runId;
    return runId === undefined ? batch : batch.filter((entry) => entry.runId === runId);
  }
}

interface Facts {
  readonly sessionId: string;
  readonly runId: string | undefined;
  readonly event: JournalEvent;
  readonly seq: number;
  readonly at: number;
}

function stored({ sessionId, runId, event, seq, at }: Facts): StoredEntry {
  const kind = LIFECYCLE.has(event.type) ? 'lifecycle' : 'agent';
  const envelope = {
    session_id: publicSessionId(sessionId),
    ...(runId === undefined ? {} : { run_id: runId }),
    seq,
    at,
    payload: { kind, event },
    // The kind was chosen from the event's type, which the union cannot see.
  } as Envelope;
  return {
    sessionId,
    runId,
    seq,
    at,
    kind,
    type: event.type,
    event,
    json: JSON.stringify(envelope),
  };
}
