import type { DetachBecause } from '../../machines/vocabulary.ts';
import type { RunRecord, RunState, StartRun } from '../../src/handle.ts';
import type {
  CancelReason,
  EndFields,
  JournalEvent,
  ParkReason,
  TerminalEvent,
  UsageFields,
} from '../../src/journal/events.ts';
import type { StoredEntry } from '../../src/journal/reader.ts';
import { sessionKey } from '../../src/session-key.ts';
import type { FakeJournal } from './fake-journal.ts';

export const USAGE: UsageFields = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };

export interface FakeRunOptions {
  readonly runId: string;
  readonly command: StartRun;
  /** It waits for its session, until `begin`. */
  readonly queued?: boolean;
  /** The parked run that it goes on with. */
  readonly continues?: string;
}

/** A run of the fake: a test writes its journal by hand. */
export class FakeRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly command: StartRun;
  readonly continues: string | undefined;
  continuedBy: string | undefined;
  readonly claims = new Set<string>();
  /** Decision ids that wait for an answer. */
  readonly undecided = new Set<string>();
  observers = 0;
  readonly lossListeners = new Set<() => void>();
  state: RunState;
  end: TerminalEvent | undefined;
  readonly #journal: FakeJournal;
  readonly #firstSeq: number;
  #lastSeq: number;
  #ended: (() => void) | undefined;
  /** Resolves when the terminal entry has been written. */
  readonly settled: Promise<void>;

  constructor(journal: FakeJournal, { runId, command, queued, continues }: FakeRunOptions) {
    this.#journal = journal;
    this.runId = runId;
    this.sessionId = command.sessionId;
    this.command = command;
    this.continues = continues;
    this.state = queued === true ? 'queued' : 'running';
    if (command.claim !== undefined) this.claims.add(command.claim.observerId);
    this.settled = new Promise((resolve) => {
      this.#ended = resolve;
    });
    this.#firstSeq = (queued === true ? this.#queue() : this.begin()).seq;
    this.#lastSeq = this.#firstSeq;
  }

  /** Where its session is stored. */
  get sessionKey(): string {
    return sessionKey(this.command.tenant ?? '', this.sessionId);
  }

  get live(): boolean {
    return this.end === undefined;
  }

  /** The run's turn has come. */
  begin(): StoredEntry {
    this.state = 'running';
    const { agent, prompt, liveness, timeoutMs } = this.command;
    return this.emit({
      type: 'started',
      agent,
      prompt,
      liveness: { policy: liveness.policy, grace_ms: liveness.graceMs },
      ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
      ...(this.continues !== undefined && { continues: this.continues }),
    });
  }

  #queue(): StoredEntry {
    const { agent, liveness } = this.command;
    const { policy, graceMs: grace_ms } = liveness;
    return this.emit({ type: 'queued', agent, liveness: { policy, grace_ms } });
  }

  /** Appends one entry of this run; nothing is taken after the terminal one. */
  emit(event: JournalEvent): StoredEntry {
    if (this.end !== undefined) throw new Error(`run ${this.runId} has ended`);
    const entry = this.#journal.append(this.sessionKey, this.runId, event);
    this.#lastSeq = entry.seq;
    return entry;
  }

  text(...deltas: readonly string[]): void {
    for (const text of deltas) this.emit({ type: 'text_delta', text });
  }

  finish(usage: UsageFields = USAGE): void {
    this.terminate({ type: 'finished', end: this.#end('agent'), ...usage });
  }

  /** Ends the run as cancelled; `more` adds `which`, `after_ms` or `message`. */
  cancelled(
    reason: CancelReason,
    more: Partial<Extract<TerminalEvent, { type: 'cancelled' }>> = {},
  ): void {
    this.terminate({ type: 'cancelled', reason, end: this.#end(reason), ...USAGE, ...more });
  }

  fail(code: string, message = 'It broke.', retryable = false): void {
    const error = { code, message, retryable };
    this.terminate({ type: 'failed', error, end: this.#end('agent'), ...USAGE });
  }

  /** Ends the run resumable. */
  parked(reason: ParkReason = 'external'): void {
    const checkpoint = `v1:${this.runId}:${this.#lastSeq}`;
    this.terminate({ type: 'parked', checkpoint, reason, end: this.#end(reason), ...USAGE });
  }

  terminate(event: TerminalEvent): void {
    this.emit(event);
    this.end = event;
    this.state = event.type;
    this.claims.clear();
    this.#ended?.();
  }

  /** The run is over and the store has not taken its end. */
  lose(): void {
    for (const fn of [...this.lossListeners]) fn();
  }

  /** The last claim gone without grace decides at once, as the charts do. */
  release(observerId: string, because: DetachBecause = 'released'): void {
    if (!this.claims.delete(observerId) || this.end !== undefined) return;
    this.emit({
      type: 'observer_detached',
      observer: { id: observerId, kind: 'claiming', presence: true },
      because,
    });
    const { policy, graceMs } = this.command.liveness;
    if (this.claims.size > 0) return;
    this.emit({ type: 'claims_exhausted', grace_ms: graceMs });
    if (graceMs > 0) return;
    this.emit({ type: 'liveness_decided', policy });
    if (policy === 'cancel') this.cancelled('unclaimed');
    if (policy === 'park') this.parked('unclaimed');
  }

  record(): RunRecord {
    const { policy, graceMs } = this.command.liveness;
    const { live } = this;
    return {
      run_id: this.runId,
      session_id: this.sessionId,
      agent: this.command.agent,
      state: this.state,
      liveness: { policy, grace_ms: graceMs },
      created_at: 1_700_000_000_000,
      started_at: this.state === 'queued' ? null : 1_700_000_000_000,
      ended_at: live ? null : 1_700_000_000_001,
      claims: [...this.claims].map((id) => ({ id, presence: true })),
      observers: this.observers,
      deadlines: [],
      obligations: [],
      approvals: [...this.undecided],
      usage: USAGE,
      first_seq: this.#firstSeq,
      last_seq: this.#lastSeq,
      continues: this.continues ?? null,
      continued_by: this.continuedBy ?? null,
      end: this.end === undefined ? null : runEnd(this.end),
      verbs: this.#verbs(),
    };
  }

  #verbs(): RunRecord['verbs'] {
    if (this.live) return this.state === 'stopping' ? ['cancel'] : ['cancel', 'attach', 'park'];
    return this.state === 'parked' && this.continuedBy === undefined ? ['resume'] : [];
  }

  #end(by: string): EndFields {
    return { by, at: 1_700_000_000_001, after_ms: 1, evidence: [this.#lastSeq] };
  }
}

const runEnd = (event: TerminalEvent): NonNullable<RunRecord['end']> => ({
  ...event.end,
  reason: event.type === 'cancelled' || event.type === 'parked' ? event.reason : null,
  which: event.type === 'cancelled' ? (event.which ?? null) : null,
  error: event.type === 'failed' ? event.error : null,
});
