import { assign, setup, type DoneActorEvent, type ErrorActorEvent } from 'xstate';
import { promisePort } from './ports.ts';
import type { ApprovalOutcome, ApprovalRequest, Decision, WithdrawCause } from './vocabulary.ts';

export interface ApprovalInput {
  readonly runId: string;
  readonly request: ApprovalRequest;
}

export type ApprovalEvent =
  | ({
      type: 'approval.decide';
      decisionId: string;
      /** It carries the signature of a webhook's decisions. */
      signed?: boolean;
    } & Decision)
  | { type: 'approval.cancel'; cause: WithdrawCause };

export type ApprovalEmitted =
  | { type: 'approval.requested'; request: ApprovalRequest }
  | { type: 'approval.pending'; request: ApprovalRequest }
  | { type: 'approval.reminded'; request: ApprovalRequest }
  | { type: 'approval.retrying'; request: ApprovalRequest; message: string }
  | { type: 'approval.completed'; request: ApprovalRequest; outcome: ApprovalOutcome };

/** How one question to a webhook came back. */
export type PostAnswer =
  | { readonly kind: 'decided'; readonly decision: Decision }
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly retryable: boolean;
      /** Spreads retries; 0 to 1. */
      readonly jitter: number;
    }
  /** Its time was over before it could be asked, or answered. */
  | { readonly kind: 'expired' };

/** What the approval ports are asked about. */
export interface ApprovalRef {
  readonly runId: string;
  readonly decisionId: string;
}

export interface ApprovalContext extends ApprovalInput {
  readonly outcome: ApprovalOutcome | null;
  /** Questions to the webhook that failed. */
  readonly failures: number;
  /** Why the last question failed, until the next one is out. */
  readonly failure: string | null;
  readonly backoffMs: number;
}

/** The first retry waits half a second to a second, each later one twice as long, up to this. */
const BACKOFF_MAX_MS = 30_000;
const BACKOFF_MS = 1_000;

const CRASHED = 'the question could not be sent';

const approvalSetup = setup({
  types: {
    context: {} as ApprovalContext,
    input: {} as ApprovalInput,
    events: {} as ApprovalEvent | DoneActorEvent | ErrorActorEvent,
    emitted: {} as ApprovalEmitted,
    output: {} as ApprovalOutcome,
    tags: {} as 'pending',
  },
  actors: {
    postApproval: promisePort<PostAnswer, ApprovalRef>('postApproval'),
  },
  actions: {
    keepOutcome: assign({ outcome: (_, params: { outcome: ApprovalOutcome }) => params.outcome }),
    keepDecision: assign({
      outcome: (_, params: { decision: Decision & { readonly signed?: boolean } }) =>
        outcomeOf(params.decision),
    }),
    keepGranted: assign({
      outcome: ({ context: { request } }) => ({
        kind: 'approved',
        ...(request.grantedBy !== undefined && { grantedBy: request.grantedBy }),
      }),
    }),
    keepFailure: assign({
      failures: ({ context }) => context.failures + 1,
      failure: (_, params: { message: string; jitter: number }) => params.message,
      backoffMs: ({ context }, params) => backoffMs(context.failures, params.jitter),
    }),
    forgetFailure: assign({ failure: null }),
    failWithLast: assign({
      outcome: ({ context }) => ({ kind: 'errored', message: context.failure ?? CRASHED }),
    }),
  },
  guards: {
    wasApproved: ({ context }) => context.request.decided?.kind === 'approved',
    wasDenied: ({ context }) => context.request.decided?.kind === 'denied',
    hasExpired: ({ context }) => context.request.decided?.kind === 'timed_out',
    isGranted: ({ context }) => context.request.grantedBy !== undefined,
    isWebhook: ({ context }) => context.request.route === 'webhook',
    isBackingOff: ({ context }) => context.failure !== null,
    /** What a webhook is asked for is not for others to decide. */
    mayDecide: ({ context }, params: { decisionId: string; signed?: boolean }) =>
      isHis(context.request, params),
    isApproved: (
      { context },
      params: { decisionId: string; signed?: boolean; approved: boolean },
    ) => isHis(context.request, params) && params.approved,
    isYes: (_, params: { answer: PostAnswer }) =>
      params.answer.kind === 'decided' && params.answer.decision.approved,
    isNo: (_, params: { answer: PostAnswer }) =>
      params.answer.kind === 'decided' && !params.answer.decision.approved,
    isLate: (_, params: { answer: PostAnswer }) => params.answer.kind === 'expired',
    mayRetry: (_, params: { answer: PostAnswer }) =>
      params.answer.kind === 'failed' && params.answer.retryable,
  },
  delays: {
    expiry: ({ context: { request } }) => request.timeoutMs,
    reminder: ({ context: { request } }) =>
      request.reminderMs === 0 ? Number.POSITIVE_INFINITY : request.reminderMs,
    backoff: ({ context }) => context.backoffMs,
  },
});

type Told = 'approval.pending' | 'approval.reminded' | 'approval.requested';

const tell = (type: Told) =>
  approvalSetup.emit(({ context }) => ({ type, request: context.request }));

const tellRetrying = approvalSetup.emit(({ context }) => ({
  type: 'approval.retrying',
  request: context.request,
  message: context.failure ?? '',
}));

const tellCompleted = approvalSetup.emit(({ context }) => ({
  type: 'approval.completed',
  request: context.request,
  outcome: required(context.outcome),
}));

const answerOf = {
  params: ({ event }: { event: DoneActorEvent<PostAnswer> }) => ({ answer: event.output }),
} as const;

const keepAnswer = {
  type: 'keepDecision',
  params: ({ event }: { event: DoneActorEvent<PostAnswer> }) => ({
    decision: decisionOf(event.output),
  }),
} as const;

const keepFailureOf = {
  type: 'keepFailure',
  params: ({ event }: { event: DoneActorEvent<PostAnswer> }) => failureOf(event.output),
} as const;

const expire = {
  type: 'keepOutcome',
  params: ({ context: { request } }: { context: ApprovalContext }) => ({
    outcome: { kind: 'timed_out', waitedMs: request.timeoutMs } as const,
  }),
} as const;

/** The one question under way; leaving it cuts the request off. */
const posting = approvalSetup.createStateConfig({
  entry: ['forgetFailure'],
  invoke: {
    id: 'postApproval',
    src: 'postApproval',
    input: ({ context }) => ({ runId: context.runId, decisionId: context.request.decisionId }),
    onDone: [
      {
        guard: { type: 'isYes', ...answerOf },
        target: '#approval.approved',
        actions: [keepAnswer],
      },
      { guard: { type: 'isNo', ...answerOf }, target: '#approval.denied', actions: [keepAnswer] },
      {
        guard: { type: 'mayRetry', ...answerOf },
        target: 'backingOff',
        actions: [keepFailureOf, tellRetrying],
      },
      { guard: { type: 'isLate', ...answerOf }, target: '#approval.timedOut', actions: [expire] },
      { target: '#approval.errored', actions: [keepFailureOf, 'failWithLast'] },
    ],
    onError: { target: '#approval.errored', actions: ['failWithLast'] },
  },
});

/**
 * One human decision.
 *
 * AP1. One winner: whatever comes first of decision, expiry, error and cancellation ends it, the rest
 *      is passed over.
 * AP2. Fail closed: only an explicit approval of this decision id ends in `approved`.
 * AP3. `approval.requested` is told before anything else, and `approval.completed` exactly once.
 * AP4. It always ends: the expiry is armed from the first moment, whatever the route does meanwhile.
 * AP5. One that was decided while its run was parked asks nobody again and ends as it was decided.
 * AP6. One that an earlier decision of the session covers asks nobody and says which decision that was.
 * AP7. What a webhook is asked for is decided by its answer, or by a decision that carries its signature.
 *      At most one question is under way; a failed one is repeated only when that may help, and at the
 *      expiry it has failed with what the webhook said last.
 * AP8. Reminders come while it is open, and change nothing.
 */
export const approvalMachine = approvalSetup.createMachine({
  id: 'approval',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    ...input,
    outcome: input.request.decided ?? null,
    failures: 0,
    failure: null,
    backoffMs: 0,
  }),
  initial: 'opening',
  states: {
    opening: {
      always: [
        { guard: 'wasApproved', target: 'approved' },
        { guard: 'wasDenied', target: 'denied' },
        { guard: 'hasExpired', target: 'timedOut' },
        {
          guard: 'isGranted',
          target: 'approved',
          actions: [tell('approval.requested'), 'keepGranted'],
        },
        { target: 'open', actions: [tell('approval.requested')] },
      ],
    },
    open: {
      type: 'parallel',
      tags: ['pending'],
      on: {
        'approval.decide': [
          {
            guard: { type: 'isApproved', params: ({ event }) => event },
            target: 'approved',
            actions: [{ type: 'keepDecision', params: ({ event }) => ({ decision: event }) }],
          },
          {
            guard: { type: 'mayDecide', params: ({ event }) => event },
            target: 'denied',
            actions: [{ type: 'keepDecision', params: ({ event }) => ({ decision: event }) }],
          },
        ],
        'approval.cancel': {
          target: 'cancelled',
          actions: {
            type: 'keepOutcome',
            params: ({ event }) => ({ outcome: { kind: 'cancelled', cause: event.cause } }),
          },
        },
      },
      after: {
        expiry: [
          { guard: 'isBackingOff', target: 'errored', actions: ['failWithLast'] },
          { target: 'timedOut', actions: [expire] },
        ],
      },
      states: {
        asking: {
          initial: 'choosing',
          states: {
            choosing: {
              always: [{ guard: 'isWebhook', target: 'dispatched' }, { target: 'pending' }],
            },
            pending: { entry: [tell('approval.pending')] },
            dispatched: {
              initial: 'posting',
              states: { posting, backingOff: { after: { backoff: { target: 'posting' } } } },
            },
          },
        },
        reminding: {
          initial: 'waiting',
          states: {
            // Entered again, so that the next reminder is due after as long a wait.
            waiting: {
              after: {
                reminder: {
                  target: 'waiting',
                  reenter: true,
                  actions: [tell('approval.reminded')],
                },
              },
            },
          },
        },
      },
    },
    approved: { type: 'final', entry: tellCompleted },
    denied: { type: 'final', entry: tellCompleted },
    timedOut: { type: 'final', entry: tellCompleted },
    cancelled: { type: 'final', entry: tellCompleted },
    errored: { type: 'final', entry: tellCompleted },
  },
  output: ({ context }) => required(context.outcome),
});

function isHis(
  { decisionId, route }: ApprovalRequest,
  decision: { readonly decisionId: string; readonly signed?: boolean },
): boolean {
  if (decision.decisionId !== decisionId) return false;
  return route === 'conversational' || decision.signed === true;
}

/** The outcome of a decision, without what else its carrier holds. */
function outcomeOf(decision: Decision & { readonly signed?: boolean }): ApprovalOutcome {
  const { approved, reason, by, signed, grant, arguments: edited, content } = decision;
  const said = {
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
    ...(signed === true && { signed }),
  };
  if (!approved) return { kind: 'denied', ...said };
  return {
    kind: 'approved',
    ...said,
    ...(grant !== undefined && { grant }),
    ...(edited !== undefined && { arguments: edited }),
    ...(content !== undefined && { content }),
  };
}

function backoffMs(failures: number, jitter: number): number {
  const full = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** failures);
  return Math.round((full / 2) * (1 + jitter));
}

const decisionOf = (answer: PostAnswer): Decision =>
  answer.kind === 'decided' ? answer.decision : { approved: false };

const failureOf = (answer: PostAnswer): { message: string; jitter: number } =>
  answer.kind === 'failed' ? answer : { message: CRASHED, jitter: 0 };

function required(outcome: ApprovalOutcome | null): ApprovalOutcome {
  if (outcome === null) throw new Error('invariant: an approval ends with an outcome');
  return outcome;
}
