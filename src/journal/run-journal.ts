import type { AgentEvent, LifecycleEvent, Payload, TerminalEvent } from './events.ts';
import { encodeEvent, encodeText, envelopeHead, EventEntry, TextEntry } from './entry.ts';
import { LeaseLostError } from './errors.ts';
import type { EndedApprovalLine, RunLine } from '../stores/store.ts';
import type { JournalLog } from './log.ts';
import type { LastWords, Session, SessionRun, Settlement } from './session.ts';
import type { Writer } from './writer.ts';

export type { LastWords, Settlement } from './session.ts';

/** An event that was appended and that the store is not known to have. */
export interface UnstoredEvent {
  readonly payload: Payload;
  /** As {@link RunJournal.append} answered it: 0 when the session had failed before. */
  readonly seq: number;
}

/** The right to write one run's entries. */
export interface RunJournal {
  readonly runId: string;
  /** Where its session is stored. */
  readonly sessionId: string;
  /** True once the run has its terminal entry, or asked for it; nothing is taken any more. */
  readonly settled: boolean;
  /** The newest entry of this run; 0 before the first. */
  readonly lastSeq: number;
  /** Entries that came after the settlement or a failure and were dropped (INV-23). */
  readonly dropped: number;
  /**
   * What a failure of the session costs: the events that it lost or refused, in order, without what
   * only streams (text, reasoning, progress). None that came after the settlement.
   */
  readonly unstored: readonly UnstoredEvent[];
  /** Queues an event. Answers its `seq`, or 0 when it was dropped. Throws only what is not JSON. */
  append(kind: 'agent', event: AgentEvent): number;
  append(kind: 'lifecycle', event: LifecycleEvent): number;
  /** The same for a `text_delta`, cheaper. */
  text(delta: string): number;
  /**
   * Queues the run's record, a JSON text: it is stored with the entries appended so far, or not. With
   * the first one goes the key under which a repeated start finds the run.
   */
  record(json: string, startKey?: RunLine['startKey']): void;
  /** Queues what the run can be resumed from; stored like a record. */
  checkpoint(text: string): void;
  /**
   * Queues what is kept of an approval whose end was appended just before; stored like a record. Of two
   * for the same decision id the first one counts.
   */
  endApproval(ended: Omit<EndedApprovalLine, 'runId'>): void;
  /**
   * The run goes on with a parked one. Said in the turn of its first entry, and by no other run of the
   * session until that is durable; if another run does already, or that one is not parked, nothing of
   * this session is stored and it fails with `RunTakenError`.
   */
  continue(parkedRunId: string): void;
  /**
   * Resolves when everything this run appended so far is durable. Rejects with
   * `StoreUnavailableError` or `LeaseLostError` once entries of its session were lost.
   */
  flushed(): Promise<void>;
  /** Resolves when the queue has room again; undefined while it has. */
  full(): Promise<void> | undefined;
  /**
   * Gives the run its terminal entry, if the store has none yet; what `last` has is stored in the
   * same transaction. Rejects as {@link flushed} does.
   */
  settle(event: TerminalEvent, last?: LastWords): Promise<Settlement>;
  /** Told once when entries were lost; at once when they were lost before. */
  onFailure(fn: (error: Error) => void): void;
  /** Told once when another process has the session; before `onFailure`, which is told too. */
  onLeaseLost(fn: () => void): void;
  /** Lets go of the session; the last run gives the lease back. Never rejects, may be repeated. */
  release(): Promise<void>;
}

export interface RunJournalDeps {
  readonly writer: Writer;
  readonly now: () => number;
  readonly log: JournalLog;
  readonly leave: (session: Session, run: SessionRun) => Promise<void>;
}

/** A run of one session object: when that has failed the run must be opened again. */
export class SessionRunJournal implements RunJournal, SessionRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly #deps: RunJournalDeps;
  readonly #session: Session;
  readonly #head: string;
  readonly #onFailure: ((error: Error) => void)[] = [];
  readonly #onLeaseLost: (() => void)[] = [];
  #unstored: UnstoredEvent[] = [];
  #lastSeq = 0;
  #dropped = 0;
  #settlement: Promise<Settlement> | undefined;
  #release: Promise<void> | undefined;

  constructor(deps: RunJournalDeps, session: Session, runId: string) {
    this.runId = runId;
    this.sessionId = session.id;
    this.#deps = deps;
    this.#session = session;
    this.#head = envelopeHead(session.publicId, runId);
  }

  get settled(): boolean {
    return this.#settlement !== undefined;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get dropped(): number {
    return this.#dropped;
  }

  get unstored(): readonly UnstoredEvent[] {
    return this.#unstored;
  }

  append(kind: 'agent' | 'lifecycle', event: AgentEvent | LifecycleEvent): number {
    // The overloads pair each kind with its events.
    const payload = { kind, event } as Payload;
    if (!this.#writable()) return this.#refuse(payload);
    const eventJson = JSON.stringify(event); // May throw, so before a seq is minted.
    const seq = this.#session.next;
    const at = this.#deps.now();
    const json = encodeEvent(this.#head, { seq, at, kind, eventJson });
    const place = { sessionId: this.sessionId, runId: this.runId, seq, at };
    this.#remember(payload, seq);
    return this.#queue(new EventEntry(place, kind, event, json));
  }

  text(delta: string): number {
    if (!this.#writable()) return this.#drop();
    const seq = this.#session.next;
    const at = this.#deps.now();
    const json = encodeText(this.#head, seq, at, delta);
    return this.#queue(new TextEntry(this.sessionId, this.runId, seq, at, delta, json));
  }

  record(json: string, startKey?: RunLine['startKey']): void {
    if (!this.#writable()) return;
    const line = { runId: this.runId, record: json };
    this.#session.records.push(startKey === undefined ? line : { ...line, startKey });
    this.#deps.writer.list(this.#session, 0);
  }

  checkpoint(text: string): void {
    if (!this.#writable()) return;
    this.#session.checkpoints.push({ runId: this.runId, checkpoint: text });
    this.#deps.writer.list(this.#session, 0);
  }

  endApproval(ended: Omit<EndedApprovalLine, 'runId'>): void {
    if (!this.#writable()) return;
    this.#session.endedApprovals.push({ runId: this.runId, ...ended });
    this.#deps.writer.list(this.#session, 0);
  }

  continue(parkedRunId: string): void {
    if (this.#writable()) this.#session.continues = { runId: parkedRunId, by: this.runId };
  }

  flushed(): Promise<void> {
    const { failure } = this.#session;
    return failure === undefined ? this.#session.reached(this.#lastSeq) : Promise.reject(failure);
  }

  full(): Promise<void> | undefined {
    return this.#deps.writer.full();
  }

  async settle(event: TerminalEvent, last: LastWords = {}): Promise<Settlement> {
    if (this.#settlement !== undefined) return { won: false, seq: (await this.#settlement).seq };
    const session = this.#session;
    if (this.#release !== undefined) throw new Error(`Run "${this.runId}" was released.`);
    if (session.failure !== undefined) throw session.failure;
    const eventJson = JSON.stringify(event);
    const { promise, resolve, reject } = Promise.withResolvers<Settlement>();
    this.#settlement = promise;
    session.settles.push({ runId: this.runId, event, eventJson, last, resolve, reject });
    this.#deps.writer.list(session, 0);
    return promise;
  }

  onFailure(fn: (error: Error) => void): void {
    const { failure } = this.#session;
    if (failure === undefined) this.#onFailure.push(fn);
    else this.#call(() => fn(failure));
  }

  onLeaseLost(fn: () => void): void {
    const { failure } = this.#session;
    if (failure === undefined) this.#onLeaseLost.push(fn);
    else if (failure instanceof LeaseLostError) this.#call(fn);
  }

  release(): Promise<void> {
    this.#release ??= this.#deps.leave(this.#session, this);
    return this.#release;
  }

  /** Called by the session, once. */
  failed(error: Error): void {
    if (error instanceof LeaseLostError) for (const fn of this.#onLeaseLost) this.#call(fn);
    for (const fn of this.#onFailure) this.#call(() => fn(error));
  }

  /** Before the run is handed out: the store says that it has ended. */
  settledBefore(seq: number): void {
    this.#settlement = Promise.resolve({ won: false, seq });
  }

  #writable(): boolean {
    return (
      this.#settlement === undefined &&
      this.#release === undefined &&
      this.#session.failure === undefined
    );
  }

  #queue(entry: EventEntry | TextEntry): number {
    const session = this.#session;
    session.next = entry.seq + 1;
    this.#lastSeq = entry.seq;
    session.queue.push(entry);
    this.#deps.writer.list(session, entry.json.length);
    return entry.seq;
  }

  /** Kept until the store has it; what it has by now is let go. */
  #remember(payload: Payload, seq: number): void {
    if (STREAMED.has(payload.event.type)) return;
    const { durable } = this.#session;
    while (this.#unstored[0] !== undefined && this.#unstored[0].seq <= durable) {
      this.#unstored.shift();
    }
    this.#unstored.push({ payload, seq });
  }

  #refuse(payload: Payload): number {
    const ended = this.#settlement !== undefined || this.#release !== undefined;
    if (!ended && !STREAMED.has(payload.event.type)) this.#unstored.push({ payload, seq: 0 });
    return this.#drop();
  }

  #drop(): number {
    this.#dropped += 1;
    return 0;
  }

  #call(fn: () => void): void {
    try {
      fn();
    } catch (error) {
      this.#deps.log.error({ err: error, run_id: this.runId }, 'A listener of the journal threw.');
    }
  }
}

/** Many, and worth nothing when they come late. */
const STREAMED: ReadonlySet<string> = new Set(['text_delta', 'reasoning', 'tool_progress']);
