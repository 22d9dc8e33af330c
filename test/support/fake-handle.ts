import type { DetachBecause, Liveness } from '../../machines/vocabulary.ts';
import { ShuttingDownError } from '../../src/errors.ts';
import type {
  AgentSummary,
  AgentTools,
  Decision,
  DecisionAnswer,
  Health,
  RunRecord,
  RunState,
  ShutdownOutcome,
  ShutdownPhase,
  StartedRun,
  StartRun,
  SupervisorHandle,
} from '../../src/handle.ts';
import type {
  CancelReason,
  EndFields,
  JournalEvent,
  TerminalEvent,
  UsageFields,
} from '../../src/journal/events.ts';
import type { StoredEntry } from '../../src/journal/reader.ts';
import { FakeJournal } from './fake-journal.ts';

export const USAGE: UsageFields = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };

const STATES: Readonly<Record<TerminalEvent['type'], RunState>> = {
  finished: 'finished',
  cancelled: 'cancelled',
  failed: 'failed',
};

/** One agent without tools; a test replaces what it needs of it. */
export const AGENT: AgentSummary = {
  id: 'demo',
  provider: 'scripted',
  model: 'echo',
  createdAtMs: 1_700_000_000_000,
  hidden: false,
  allowsClientTools: false,
  asksPeople: false,
  mcpServers: [],
};

/** A run of the fake: a test writes its journal by hand. */
export class FakeRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly command: StartRun;
  readonly claims = new Set<string>();
  observers = 0;
  readonly lossListeners = new Set<() => void>();
  state: RunState = 'running';
  end: TerminalEvent | undefined;
  readonly #journal: FakeJournal;
  readonly #firstSeq: number;
  #lastSeq: number;
  #ended: (() => void) | undefined;
  /** Resolves when the terminal entry has been written. */
  readonly settled: Promise<void>;

  constructor(journal: FakeJournal, runId: string, command: StartRun) {
    this.#journal = journal;
    this.runId = runId;
    this.sessionId = command.sessionId;
    this.command = command;
    if (command.claim !== undefined) this.claims.add(command.claim.observerId);
    this.settled = new Promise((resolve) => {
      this.#ended = resolve;
    });
    const { agent, prompt, liveness } = command;
    const entry = journal.append(this.sessionId, runId, {
      type: 'started',
      agent,
      prompt,
      liveness: { policy: liveness.policy, grace_ms: liveness.graceMs },
    });
    this.#firstSeq = entry.seq;
    this.#lastSeq = entry.seq;
  }

  /** Appends one entry of this run; nothing is taken after the terminal one. */
  emit(event: JournalEvent): StoredEntry {
    if (this.end !== undefined) throw new Error(`run ${this.runId} has ended`);
    const entry = this.#journal.append(this.sessionId, this.runId, event);
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

  terminate(event: TerminalEvent): void {
    this.emit(event);
    this.end = event;
    this.state = STATES[event.type];
    this.claims.clear();
    this.#ended?.();
  }

  /** The run is over and the store has not taken its end. */
  lose(): void {
    for (const fn of [...this.lossListeners]) fn();
  }

  /** The last claim gone under the cancel policy without grace ends the run, as the charts do. */
  release(observerId: string, because: DetachBecause = 'released'): void {
    if (!this.claims.delete(observerId) || this.end !== undefined) return;
    this.emit({
      type: 'observer_detached',
      observer: { id: observerId, kind: 'claiming', presence: true },
      because,
    });
    if (this.claims.size > 0 || this.command.liveness.policy !== 'cancel') return;
    this.emit({ type: 'claims_exhausted', grace_ms: 0 });
    this.emit({ type: 'liveness_decided', policy: 'cancel' });
    this.cancelled('unclaimed');
  }

  record(): RunRecord {
    const { policy, graceMs } = this.command.liveness;
    const live = this.end === undefined;
    return {
      run_id: this.runId,
      session_id: this.sessionId,
      agent: this.command.agent,
      state: this.state,
      liveness: { policy, grace_ms: graceMs },
      created_at: 1_700_000_000_000,
      started_at: 1_700_000_000_000,
      ended_at: live ? null : 1_700_000_000_001,
      claims: [...this.claims].map((id) => ({ id, presence: true })),
      observers: this.observers,
      deadlines: [],
      obligations: [],
      approvals: [],
      usage: USAGE,
      first_seq: this.#firstSeq,
      last_seq: this.#lastSeq,
      continues: null,
      continued_by: null,
      end: this.end === undefined ? null : runEnd(this.end),
      verbs: live ? ['cancel', 'attach'] : [],
    };
  }

  #end(by: string): EndFields {
    return { by, at: 1_700_000_000_001, after_ms: 1, evidence: [this.#lastSeq] };
  }
}

const runEnd = (event: TerminalEvent): NonNullable<RunRecord['end']> => ({
  ...event.end,
  reason: event.type === 'cancelled' ? event.reason : null,
  which: event.type === 'cancelled' ? (event.which ?? null) : null,
  error: event.type === 'failed' ? event.error : null,
});

/**
 * A supervisor without charts. `onStart` scripts what a run does; by default it waits for the test
 * to write its journal. `cancels` and `decisions` say what was asked, `tracked` how many requests
 * are under way.
 */
export class FakeHandle implements SupervisorHandle {
  readonly journal = new FakeJournal();
  readonly runs = new Map<string, FakeRun>();
  readonly cancels: { runId: string; message: string | undefined }[] = [];
  readonly decisions: { decisionId: string; decision: Decision }[] = [];
  /** Decision ids that wait for an answer. */
  readonly pending = new Set<string>();
  agents: readonly AgentSummary[] = [AGENT];
  defaultAgent?: string;
  phase: ShutdownPhase = 'serving';
  tracked = 0;
  /** Thrown by `start`, when set. */
  startError: Error | undefined;
  /** `wait` leaves the run live and `stopping`, until the test ends it. */
  cancelMode: 'at once' | 'wait' = 'at once';
  healthAnswer: Health = {
    status: 'healthy',
    store: { backend: 'memory', ping: { ok: true, latency_ms: 0 } },
  };
  toolsAnswer: (agent: string, headers: Readonly<Record<string, string>>) => AgentTools =
    () => ({});
  onStart: (run: FakeRun) => void = () => {};
  onRelease: (runId: string, observerId: string, because: DetachBecause) => void = () => {};
  readonly stopped: Promise<ShutdownOutcome> = new Promise(() => {});
  readonly #decided = new Map<string, boolean>();
  #runs = 0;

  get accepting(): boolean {
    return this.phase === 'serving';
  }

  async start(command: StartRun): Promise<StartedRun> {
    if (!this.accepting) throw new ShuttingDownError();
    if (this.startError !== undefined) throw this.startError;
    const runId = `01890000-0000-7000-8000-${String(++this.#runs).padStart(12, '0')}`;
    const run = new FakeRun(this.journal, runId, command);
    this.runs.set(runId, run);
    const { sessionId, liveness } = command;
    const started: StartedRun = { runId, sessionId, seq: run.record().first_seq, liveness };
    this.onStart(run);
    return started;
  }

  async cancel(
    runId: string,
    options: { readonly message?: string },
  ): Promise<RunRecord | undefined> {
    const run = this.runs.get(runId);
    if (run === undefined || run.end !== undefined) return run?.record();
    this.cancels.push({ runId, message: options.message });
    run.state = 'stopping';
    run.emit({ type: 'stopping', cause: 'external', obligations: 0 });
    const record = run.record();
    if (this.cancelMode === 'at once') run.cancelled('external', options);
    return record;
  }

  async decide(decisionId: string, decision: Decision): Promise<DecisionAnswer> {
    const earlier = this.#decided.get(decisionId);
    if (earlier !== undefined) return earlier === decision.approved ? 'repeated' : 'unknown';
    if (!this.pending.delete(decisionId)) return 'unknown';
    this.#decided.set(decisionId, decision.approved);
    this.decisions.push({ decisionId, decision });
    return 'recorded';
  }

  claim(runId: string, observerId: string): boolean {
    const run = this.runs.get(runId);
    if (run === undefined || run.end !== undefined) return false;
    run.claims.add(observerId);
    return true;
  }

  release(runId: string, observerId: string, because: DetachBecause = 'released'): void {
    this.runs.get(runId)?.release(observerId, because);
    this.onRelease(runId, observerId, because);
  }

  onLost(runId: string, fn: () => void): () => void {
    const listeners = this.runs.get(runId)?.lossListeners;
    listeners?.add(fn);
    return () => void listeners?.delete(fn);
  }

  observe(runId: string, change: 1 | -1): void {
    const run = this.runs.get(runId);
    if (run !== undefined) run.observers += change;
  }

  async record(runId: string): Promise<RunRecord | undefined> {
    return this.runs.get(runId)?.record();
  }

  async tools(
    agent: string,
    requestHeaders: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AgentTools> {
    signal.throwIfAborted();
    return this.toolsAnswer(agent, requestHeaders);
  }

  async health(): Promise<Health> {
    return this.healthAnswer;
  }

  trackRequest(): () => void {
    this.tracked += 1;
    return () => {
      this.tracked -= 1;
    };
  }

  shutdown(): void {
    this.phase = 'gated';
  }
}

/** What a chat request would ask for; override what the test is about. */
export function startCommand(change: Partial<StartRun> = {}): StartRun {
  const liveness: Liveness = { policy: 'cancel', graceMs: 0 };
  return {
    agent: 'demo',
    sessionId: 'cs_1',
    messages: [{ role: 'user', content: 'hi' }],
    prompt: 'hi',
    streaming: true,
    liveness,
    onBusy: 'parallel',
    requestHeaders: {},
    ...change,
  };
}
