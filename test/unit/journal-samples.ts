import type {
  Envelope,
  JournalEvent,
  ParkReason,
  TerminalEvent,
} from '../../src/journal/events.ts';

const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const END = { by: 'x', at: 1, after_ms: 1, evidence: [] };
const DIGEST = 'sha256:00';

export type Step = JournalEvent | RunStep;

export interface RunStep {
  readonly run: string;
  readonly event: JournalEvent;
  /** 1 unless told. */
  readonly at?: number;
}

/** A journal of steps; those without a run are of run `r`. */
export function journalOf(...steps: Step[]): Envelope[] {
  return steps.map((step, i) => {
    const { run, event, at = 1 }: RunStep = 'run' in step ? step : { run: 'r', event: step };
    const payload = { kind: 'agent', event } as Envelope['payload'];
    return { session_id: 's', run_id: run, seq: i + 1, at, payload };
  });
}

export const of = (run: string, event: JournalEvent): Step => ({ run, event });

export const started: JournalEvent = {
  type: 'started',
  agent: 'a',
  prompt: 'p',
  liveness: { policy: 'cancel', grace_ms: 0 },
};
export const text: JournalEvent = { type: 'text_delta', text: 'x' };
export const finished: TerminalEvent = { type: 'finished', ...USAGE, end: END };
export const failed: TerminalEvent = {
  type: 'failed',
  error: { code: 'c', message: 'm', retryable: false },
  ...USAGE,
  end: END,
};
export const cancelled = (reason: 'unclaimed' | 'external'): TerminalEvent => ({
  type: 'cancelled',
  reason,
  ...USAGE,
  end: END,
});
export const stopping = (cause: 'unclaimed' | 'external' = 'external'): JournalEvent => ({
  type: 'stopping',
  cause,
  obligations: 1,
});
export const obligation = (state: 'asked' | 'confirmed' | 'abandoned', id = 'm'): JournalEvent => ({
  type: 'obligation',
  what: 'model',
  id,
  state,
  waited_ms: 0,
});
export const requested = (id = 't', client?: true): JournalEvent => ({
  type: 'tool_requested',
  tool_id: id,
  tool_name: 'n',
  arguments: {},
  arguments_text: '{}',
  ...(client && { client }),
});
export const start = (id = 't'): JournalEvent => ({
  type: 'tool_start',
  tool_id: id,
  tool_name: 'n',
});
export const progress = (id = 't'): JournalEvent => ({
  type: 'tool_progress',
  tool_id: id,
  message: 'm',
  phase: 'mcp_progress',
});
export const complete = (id = 't'): JournalEvent => ({
  type: 'tool_complete',
  tool_id: id,
  tool_name: 'n',
  duration_ms: 1,
  success: true,
});
/** The end of a call that a person, or the lack of one, kept from running. */
export const refused = (approval: 'denied' | 'timed_out' | 'cancelled', id = 't'): JournalEvent =>
  ({ ...complete(id), success: approval === 'denied', approval }) as JournalEvent;
export const asked = (kind: 'config_gate' | 'agent_requested' = 'config_gate'): JournalEvent => ({
  type: 'approval_requested',
  decision_id: 'd',
  tool_name: 'n',
  origin:
    kind === 'config_gate'
      ? { kind, matched_pattern: '*' }
      : { kind, reason: 'r', agent_name: 'a' },
  scope: { kind: 'single' },
  tool_call_id: 't',
  arguments_digest: DIGEST,
});
export const answered = (kind: 'approved' | 'denied', digest = DIGEST): JournalEvent => ({
  type: 'approval_completed',
  decision_id: 'd',
  outcome: { kind },
  duration_ms: 1,
  scope: { kind: 'single' },
  tool_call_id: 't',
  arguments_digest: digest,
});
export const attached = {
  type: 'observer_attached',
  observer: { id: 'o', kind: 'claiming', presence: true },
} as const satisfies JournalEvent;
/** It came inside the grace window. */
export const within: JournalEvent = { ...attached, within_grace: true };
export const detached: JournalEvent = {
  type: 'observer_detached',
  observer: { id: 'o', kind: 'claiming', presence: true },
  because: 'released',
};
export const exhausted: JournalEvent = { type: 'claims_exhausted', grace_ms: 0 };
export const decided = (policy: 'cancel' | 'continue' | 'park' = 'cancel'): JournalEvent => ({
  type: 'liveness_decided',
  policy,
});

export const queued: JournalEvent = {
  type: 'queued',
  agent: 'a',
  liveness: { policy: 'cancel', grace_ms: 0 },
};
export const parked = (reason: ParkReason = 'unclaimed'): TerminalEvent => ({
  type: 'parked',
  checkpoint: 'v1:r:1',
  reason,
  ...USAGE,
  end: END,
});
/** `started`, or the `queued` before it, of a run that goes on with a parked one. */
export const goingOn = (type: 'started' | 'queued', continues: string): JournalEvent =>
  ({
    ...(type === 'started' ? started : queued),
    continues,
  }) as JournalEvent;
