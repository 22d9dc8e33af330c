import type { ApprovalRoute } from '../../machines/vocabulary.ts';
import type {
  AgentEvent,
  ApprovalOutcomeFields,
  JournalEvent,
  LifecycleEvent,
  Payload,
} from './events.ts';

type EventOf<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>;

/** How a run ends that nobody is left to speak for. */
export interface Ending {
  /** Why, in words, for the error of a call. */
  readonly text: string;
  /** The same as the reason of an approval's cancellation. */
  readonly reason: 'owner_lost' | 'error';
  /** Epoch milliseconds up to which durations count. */
  readonly at: number;
}

/** An approval that nobody has answered; `at` is when it was asked for, in epoch milliseconds. */
export interface OpenApproval {
  readonly event: EventOf<'approval_requested'>;
  readonly at: number;
  readonly route: ApprovalRoute;
  /** Undefined where an older version told it with `approval_pending`, which did not reach the store. */
  readonly expiresAt?: number;
}

/** An approval that ended otherwise than by the answer of its webhook, which has not been told of that. */
export interface OwedNotice {
  readonly decisionId: string;
  readonly toolCallId: string;
  readonly outcome: ApprovalOutcomeFields;
}

interface Call {
  readonly name: string;
  readonly requestedAt: number;
  started: boolean;
  /** How its latest approval ended; `open` while it has not, or its run has taken the question back. */
  approval: ApprovalOutcomeFields | 'open' | undefined;
}

/**
 * What the stored entries of one run have begun and not ended. Read them in order, from the run's
 * first to any later one; what is then still open can be closed so that the journal is sound. It is
 * for runs whose process is gone: nothing but the entries is known of them.
 *
 * OE1. A call that the caller executes is the caller's to end.
 * OE2. Nothing is told twice: what has an end in the entries is left as it is.
 * OE3. An approval that was inherited is this run's to close, and nothing of its call ran before that.
 * OE4. A call that may have been executed has an unknown effect: one that had started, and one that
 *      nobody held back, because what it did last may not have reached the store.
 * OE5. A question of a server goes with the execution that asked it, also where its call goes on: the
 *      next execution asks anew. It says nothing of whether its call was approved.
 * OE6. A webhook that was asked in vain is owed a notice until the entries tell of one.
 * OE7. A question to a webhook goes with its run, also where its call goes on, which is held back then
 *      until the next run has asked anew.
 */
export class OpenEnds {
  readonly #calls = new Map<string, Call>();
  readonly #approvals = new Map<string, OpenApproval>();
  readonly #obligations = new Map<string, { event: EventOf<'obligation'>; at: number }>();
  readonly #owed = new Map<string, OwedNotice>();
  /** Decision ids that a run before this one asked for. */
  readonly #inherited = new Set<string>();

  /** Before the first entry: an approval that the run it goes on with left open, by its decision id. */
  inherit(asked: OpenApproval): void {
    this.#inherited.add(asked.event.decision_id);
    this.#approvals.set(asked.event.decision_id, asked);
  }

  /** Whether the call's approval has ended and does not let it run. */
  isRefused(callId: string): boolean {
    const approval = this.#calls.get(callId)?.approval;
    return approval !== undefined && approval !== 'open' && approval.kind !== 'approved';
  }

  /** The run's next entry. */
  note(event: JournalEvent, at: number): void {
    switch (event.type) {
      case 'tool_requested':
        if (event.client !== true) this.#request(event.tool_id, event.tool_name, at);
        return;
      case 'tool_start':
        return this.#change(event.tool_id, { started: true });
      case 'tool_complete':
        this.#calls.delete(event.tool_id);
        return;
      case 'approval_requested':
        return this.#ask(event, at);
      case 'approval_pending': {
        const asked = this.#approvals.get(event.decision_id);
        if (asked === undefined || asked.expiresAt !== undefined) return;
        const expiresAt = Date.parse(event.expires_at);
        this.#approvals.set(event.decision_id, { ...asked, expiresAt });
        return;
      }
      case 'approval_completed':
        return this.#answer(event);
      case 'approval_withdrawn':
        this.#owed.delete(event.decision_id);
        return;
      case 'obligation':
        return this.#noteObligation(event, at);
      default:
    }
  }

  /** Approvals without an answer, questions of servers among them, in the order they were asked for. */
  get open(): readonly OpenApproval[] {
    return [...this.#approvals.values()];
  }

  /**
   * Webhooks to be told that nobody waits any more. Those of approvals that `close` ends are among them
   * once its entries are noted.
   */
  get owed(): readonly OwedNotice[] {
    return [...this.#owed.values()];
  }

  /** Ids of the calls that wait for a person. One that was inherited need not have been told of yet. */
  get held(): ReadonlySet<string> {
    const told = [...this.#calls].filter(([, { approval }]) => approval === 'open');
    const untold = this.open.filter(
      ({ event }) => this.#inherited.has(event.decision_id) && !this.#calls.has(event.tool_call_id),
    );
    return new Set([...told.map(([id]) => id), ...untold.map(({ event }) => event.tool_call_id)]);
  }

  /** What a person was asked for a call that waits, unless that goes with the run. */
  openFor(callId: string): OpenApproval | undefined {
    return this.open.find((asked) => asked.event.tool_call_id === callId && !goesWithRun(asked));
  }

  /**
   * What must be told before the terminal entry, in order, but for the notices that are owed. Changes
   * nothing here. The calls in `kept` go on in another run, which tells of them and of their approvals.
   */
  close(ending: Ending, kept: ReadonlySet<string> = new Set()): readonly Payload[] {
    const approvals = [...this.#approvals.values()]
      .filter((asked) => goesWithRun(asked) || !kept.has(asked.event.tool_call_id))
      .map(({ event, at }) => agent(cancelled(event, at, ending)));
    const calls = [...this.#calls]
      .filter(([id]) => !kept.has(id))
      .map(([id, call]) => agent(completed(id, call, ending)));
    const obligations = [...this.#obligations.values()].map(({ event, at }) =>
      lifecycle({ ...event, state: 'abandoned', waited_ms: since(at, ending) }),
    );
    return [...approvals, ...calls, ...obligations];
  }

  #request(id: string, name: string, requestedAt: number): void {
    const isAsked = this.open.some(
      ({ event }) => event.tool_call_id === id && !isElicitation(event),
    );
    const approval = isAsked ? ('open' as const) : undefined;
    this.#calls.set(id, { name, requestedAt, started: false, approval });
  }

  #ask(event: EventOf<'approval_requested'>, at: number): void {
    const { decision_id: id, route = 'conversational', expires_at: expires } = event;
    const expiry = expires === undefined ? {} : { expiresAt: Date.parse(expires) };
    this.#approvals.set(id, { event, at, route, ...expiry });
    if (!isElicitation(event)) this.#change(event.tool_call_id, { approval: 'open' });
  }

  #answer(event: EventOf<'approval_completed'>): void {
    const { decision_id: decisionId, tool_call_id: toolCallId, outcome, signed } = event;
    const asked = this.#approvals.get(decisionId);
    this.#approvals.delete(decisionId);
    if (asked === undefined || !isElicitation(asked.event)) {
      // Only a run that ends cancels it, and nothing of its call ran before that.
      const isTakenBack = asked?.route === 'webhook' && outcome.kind === 'cancelled';
      this.#change(toolCallId, { approval: isTakenBack ? 'open' : outcome });
    }
    // A signed decision came by another way than the webhook's answer.
    if (asked?.route !== 'webhook' || (isDecision(outcome) && signed !== true)) return;
    this.#owed.set(decisionId, { decisionId, toolCallId, outcome });
  }

  #change(id: string, change: Partial<Call>): void {
    const call = this.#calls.get(id);
    if (call !== undefined) Object.assign(call, change);
  }

  #noteObligation(event: EventOf<'obligation'>, at: number): void {
    const key = `${event.what}:${event.id}`;
    if (event.state === 'asked') this.#obligations.set(key, { event, at });
    else this.#obligations.delete(key);
  }
}

const isElicitation = ({ origin }: EventOf<'approval_requested'>): boolean =>
  origin.kind === 'elicitation';

/** It is not for the next run to go on with. */
const goesWithRun = ({ event, route }: OpenApproval): boolean =>
  isElicitation(event) || route === 'webhook';

const isDecision = ({ kind }: ApprovalOutcomeFields): boolean =>
  kind === 'approved' || kind === 'denied';

function cancelled(
  event: EventOf<'approval_requested'>,
  requestedAt: number,
  ending: Ending,
): AgentEvent {
  const { decision_id, scope, tool_call_id, arguments_digest } = event;
  return {
    type: 'approval_completed',
    decision_id,
    outcome: { kind: 'cancelled', reason: ending.reason },
    duration_ms: since(requestedAt, ending),
    scope,
    tool_call_id,
    arguments_digest,
  };
}

function completed(id: string, call: Call, ending: Ending): AgentEvent {
  return {
    type: 'tool_complete',
    tool_id: id,
    tool_name: call.name,
    duration_ms: since(call.requestedAt, ending),
    ...howItEnded(call, ending),
  };
}

type How = Pick<EventOf<'tool_complete'>, 'success' | 'result' | 'error' | 'approval' | 'effect'>;

function howItEnded({ started, approval }: Call, { text }: Ending): How {
  const error = `ToolCallError: Cancelled: ${text}`;
  const unknown = `${error}; it may have been executed, so its effect may have happened`;
  const mayHaveRun: How = { success: false, error: unknown, effect: 'unknown' };
  if (started) return mayHaveRun;
  switch (approval === 'open' ? 'cancelled' : approval?.kind) {
    case 'denied':
      // A denial is told as a normal result; `approval` tells it apart.
      return { success: true, approval: 'denied', result: 'The call was denied and did not run.' };
    case 'timed_out':
      return { success: false, approval: 'timed_out', error };
    case 'cancelled':
      return { success: false, approval: 'cancelled', error };
    case 'errored':
      return { success: false, error };
    default:
      return mayHaveRun;
  }
}

const since = (from: number, { at }: Ending): number => Math.max(0, at - from);

const agent = (event: AgentEvent): Payload => ({ kind: 'agent', event });

const lifecycle = (event: LifecycleEvent): Payload => ({ kind: 'lifecycle', event });
