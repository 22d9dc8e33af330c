import type { RunRecord, RunState } from '../../src/handle.ts';
import type {
  CancelReason,
  DeadlineName,
  JournalEvent,
  ParkReason,
} from '../../src/journal/events.ts';
import { explainRun } from '../../src/explain/explain.ts';
import type {
  ExplainFacts,
  KeptApproval,
  LiveApproval,
  LiveCall,
  LiveRun,
  Resumption,
  RunEntry,
} from '../../src/explain/facts.ts';
import type { TransitionStep } from '../../src/transitions/transition-log.ts';
import { stepOf } from './transitions-kit.ts';

export const START = 1_800_000_000_000;

type OneOf<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>;

/** The fields of a terminal entry that say how; `end` and usage are filled in. */
type Ending =
  | { readonly type: 'finished'; readonly finish_reason?: OneOf<'finished'>['finish_reason'] }
  | {
      readonly type: 'cancelled';
      readonly reason: CancelReason;
      readonly which?: DeadlineName;
      readonly after_ms?: number;
      readonly message?: string;
    }
  | { readonly type: 'failed'; readonly error: OneOf<'failed'>['error'] }
  | { readonly type: 'parked'; readonly checkpoint: string; readonly reason: ParkReason };

const USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** Tells a run entry by entry and step by step, as its journal and its log would have it. */
export class Tale {
  readonly entries: RunEntry[] = [];
  readonly steps: TransitionStep[] = [];
  now = START;
  #record: RunRecord;

  constructor(change: Partial<RunRecord> = {}) {
    this.#record = {
      run_id: 'run-1',
      session_id: 'session-1',
      agent: 'agent',
      state: 'running',
      liveness: { policy: 'cancel', grace_ms: 0 },
      created_at: START,
      started_at: START,
      ended_at: null,
      claims: [],
      observers: 0,
      deadlines: [],
      obligations: [],
      approvals: [],
      usage: USAGE,
      first_seq: 1,
      last_seq: 0,
      continues: null,
      continued_by: null,
      end: null,
      verbs: ['attach'],
      ...change,
    };
  }

  /** Time goes by. */
  wait(ms: number): this {
    this.now += ms;
    return this;
  }

  tell(...events: JournalEvent[]): this {
    for (const event of events) {
      this.entries.push({ seq: this.entries.length + 1, at: this.now, event });
    }
    return this;
  }

  /** An entry of another run of the session. */
  tellOther(runId: string, event: JournalEvent): this {
    this.entries.push({ seq: this.entries.length + 1, at: this.now, event, runId });
    return this;
  }

  step(change: Partial<TransitionStep>): this {
    this.steps.push(stepOf({ at: this.now, after: this.entries.length, ...change }));
    return this;
  }

  started(change: Partial<OneOf<'started'>> = {}): this {
    const { liveness } = this.#record;
    return this.tell({ type: 'started', agent: 'agent', prompt: 'Hello', liveness, ...change });
  }

  /** The model asks for a tool, which begins at once. */
  call(tool_id: string, tool_name: string): this {
    return this.tell(
      { type: 'tool_requested', tool_id, tool_name, arguments: {}, arguments_text: '{}' },
      { type: 'tool_start', tool_id, tool_name },
    );
  }

  answer(tool_id: string, tool_name: string, success = true): this {
    return this.tell({ type: 'tool_complete', tool_id, tool_name, duration_ms: 5, success });
  }

  /** A person is asked to approve a call. */
  ask(decision_id: string, tool_call_id: string, tool_name: string): this {
    const common = commonOf({ decision_id, tool_call_id, tool_name });
    return this.tell(
      {
        type: 'tool_requested',
        tool_id: tool_call_id,
        tool_name,
        arguments: {},
        arguments_text: '',
      },
      { type: 'approval_requested', ...common },
      { type: 'approval_pending', ...common, arguments: {}, expires_at: '2027-01-15T08:00:00Z' },
    );
  }

  /** Somebody is asked: by a webhook, or on behalf of a server, as the change says. */
  asks(change: Partial<OneOf<'approval_requested'>> = {}): this {
    const common = commonOf({ decision_id: 'd1', tool_call_id: 'c1', tool_name: 'pay' });
    return this.tell({ type: 'approval_requested', ...common, ...change });
  }

  /** An approval of the call `c1` ends. */
  decides(
    outcome: OneOf<'approval_completed'>['outcome'],
    change: Partial<OneOf<'approval_completed'>> = {},
  ): this {
    const {
      tool_name: _,
      origin: __,
      ...common
    } = commonOf({
      decision_id: 'd1',
      tool_call_id: 'c1',
      tool_name: 'pay',
    });
    return this.tell({
      type: 'approval_completed',
      ...common,
      outcome,
      duration_ms: 12_000,
      ...change,
    });
  }

  /** The last reader goes, and what follows from that up to the decision. */
  leave(policy: 'cancel' | 'continue' | 'park', grace_ms = 0): this {
    const observer = { id: 'reader', kind: 'claiming', presence: false } as const;
    this.tell(
      { type: 'observer_detached', observer, because: 'released' },
      { type: 'claims_exhausted', grace_ms },
    );
    return this.wait(grace_ms).tell({ type: 'liveness_decided', policy });
  }

  stopping(cause: OneOf<'stopping'>['cause'], obligations: number, which?: DeadlineName): this {
    return this.tell({ type: 'stopping', cause, obligations, ...(which && { which }) });
  }

  obligation(
    what: OneOf<'obligation'>['what'],
    id: string,
    state: OneOf<'obligation'>['state'],
    waited_ms = 0,
  ): this {
    return this.tell({ type: 'obligation', what, id, state, waited_ms });
  }

  /** The terminal entry; evidence is every entry that the product names so, and `also`. */
  ends(ending: Ending, by: string, also: readonly number[] = []): this {
    const evidence = this.entries
      .filter(({ event }) => EVIDENCE.has(event.type))
      .map(({ seq }) => seq)
      .concat(also);
    const end = { by, at: this.now, after_ms: this.now - START, evidence };
    this.tell({ ...ending, ...USAGE, end } as JournalEvent);
    this.#record = {
      ...this.#record,
      state: ending.type,
      ended_at: this.now,
      end: {
        ...end,
        reason: 'reason' in ending ? ending.reason : null,
        which: 'which' in ending ? (ending.which ?? null) : null,
        error: 'error' in ending ? ending.error : null,
      },
    };
    return this;
  }

  facts(
    more: Partial<Omit<ExplainFacts, 'record'>> & { readonly record?: Partial<RunRecord> } = {},
  ): ExplainFacts {
    const { record, ...rest } = more;
    return {
      record: { ...this.#record, last_seq: this.entries.at(-1)?.seq ?? 0, ...record },
      entries: this.entries,
      transitions: { steps: this.steps, dropped: 0, before: [] },
      now: this.now,
      ...rest,
    };
  }

  explain(more: Parameters<Tale['facts']>[0] = {}) {
    return explainRun(this.facts(more));
  }
}

const commonOf = (
  ids: Pick<OneOf<'approval_requested'>, 'decision_id' | 'tool_call_id' | 'tool_name'>,
) => ({
  ...ids,
  origin: { kind: 'config_gate', matched_pattern: '*' } as const,
  scope: { kind: 'single' } as const,
  arguments_digest: 'sha256:0',
});

const EVIDENCE: ReadonlySet<string> = new Set([
  'observer_detached',
  'claims_exhausted',
  'liveness_decided',
  'stopping',
]);

/** A run that lives in `state`, and whatever else a test says of it. */
export const living = (state: RunState, change: Partial<RunRecord> = {}): Tale =>
  new Tale({ state, ...change });

/** What its process knows of a live run, with what a test does not care about filled in. */
export const liveOf = (change: Partial<LiveRun> = {}): LiveRun => ({
  charts: [],
  calls: [],
  approvals: [],
  obligations: [],
  connecting: [],
  ahead: null,
  parkBoundMs: null,
  ...change,
});

/** A tool call that runs without a deadline of its own, unless a test says otherwise. */
export const liveCall = (change: Partial<LiveCall> & Pick<LiveCall, 'since'>): LiveCall => ({
  id: 'c1',
  name: 'slow_tool',
  requestedAt: change.since,
  state: 'running',
  deadlineAt: null,
  overdue: false,
  ...change,
});

/** An approval that a person is asked for since `requestedAt`, unless a test says otherwise. */
export const liveApproval = (
  change: Partial<LiveApproval> & Pick<LiveApproval, 'requestedAt' | 'expiresAt'>,
): LiveApproval => ({
  decisionId: 'd1',
  toolName: 'pay',
  route: 'conversational',
  question: null,
  retry: null,
  ...change,
});

/** How a parked run comes back, which is by request alone unless a test says otherwise. */
export const waysBack = (change: Partial<Resumption> = {}): Resumption => ({
  automatic: false,
  onStart: false,
  decided: false,
  undecided: [],
  obstacle: null,
  ...change,
});

/** An approval that a parked run left, undecided unless a test says otherwise. */
export const kept = (
  change: Partial<KeptApproval> & Pick<KeptApproval, 'expiresAt'>,
): KeptApproval => ({
  decisionId: 'd1',
  toolName: 'pay',
  requestedAt: START,
  outcome: null,
  ...change,
});

/** The chain as kinds and numbers: `entry 3`, `timer`. */
export const links = ({ chain }: ReturnType<Tale['explain']>): readonly string[] =>
  chain.map(({ kind, seq }) => (seq === null ? kind : `${kind} ${seq}`));
