import { assign, setup } from 'xstate';
import type { ApprovalOutcome, ApprovalRequest, StopCause } from './vocabulary.ts';

export interface ApprovalInput {
  readonly request: ApprovalRequest;
}

export type ApprovalEvent =
  | { type: 'approval.decide'; decisionId: string; approved: boolean; reason?: string }
  | { type: 'approval.cancel'; cause: StopCause };

export type ApprovalEmitted =
  | { type: 'approval.requested'; request: ApprovalRequest }
  | { type: 'approval.pending'; request: ApprovalRequest }
  | { type: 'approval.completed'; request: ApprovalRequest; outcome: ApprovalOutcome };

export interface ApprovalContext {
  readonly request: ApprovalRequest;
  readonly outcome: ApprovalOutcome | null;
}

const approvalSetup = setup({
  types: {
    context: {} as ApprovalContext,
    input: {} as ApprovalInput,
    events: {} as ApprovalEvent,
    emitted: {} as ApprovalEmitted,
    output: {} as ApprovalOutcome,
    tags: {} as 'pending',
  },
  actions: {
    keepOutcome: assign({ outcome: (_, params: { outcome: ApprovalOutcome }) => params.outcome }),
  },
  guards: {
    isMine: ({ context }, params: { decisionId: string }) =>
      params.decisionId === context.request.decisionId,
    wasApproved: ({ context }) => context.request.decided?.kind === 'approved',
    wasDenied: ({ context }) => context.request.decided?.kind === 'denied',
    hasExpired: ({ context }) => context.request.decided?.kind === 'timed_out',
    isApproved: ({ context }, params: { decisionId: string; approved: boolean }) =>
      params.decisionId === context.request.decisionId && params.approved,
  },
  delays: { expiry: ({ context }) => context.request.timeoutMs },
});

const tell = (type: 'approval.requested' | 'approval.pending') =>
  approvalSetup.emit(({ context }) => ({ type, request: context.request }));

const tellCompleted = approvalSetup.emit(({ context }) => ({
  type: 'approval.completed',
  request: context.request,
  outcome: required(context.outcome),
}));

const withReason = (event: { reason?: string }) =>
  event.reason === undefined ? {} : { reason: event.reason };

/**
 * One human decision about one tool call.
 *
 * AP1. One winner: whatever comes first of decision, expiry and cancellation ends it, the rest is
 *      passed over.
 * AP2. Fail closed: only an explicit approval of this decision id ends in `approved`.
 * AP3. `approval.requested` is told before `approval.pending`, and `approval.completed` exactly once.
 * AP4. It always ends: the expiry is armed from the first moment.
 * AP5. One that was decided while its run was parked asks nobody again and ends as it was decided.
 */
export const approvalMachine = approvalSetup.createMachine({
  id: 'approval',
  options: { maxIterations: 100 },
  context: ({ input }) => ({ ...input, outcome: input.request.decided ?? null }),
  initial: 'opening',
  states: {
    opening: {
      always: [
        { guard: 'wasApproved', target: 'approved' },
        { guard: 'wasDenied', target: 'denied' },
        { guard: 'hasExpired', target: 'timedOut' },
        { target: 'pending' },
      ],
    },
    pending: {
      tags: ['pending'],
      entry: [tell('approval.requested'), tell('approval.pending')],
      on: {
        'approval.decide': [
          {
            guard: { type: 'isApproved', params: ({ event }) => event },
            target: 'approved',
            actions: {
              type: 'keepOutcome',
              params: ({ event }) => ({ outcome: { kind: 'approved', ...withReason(event) } }),
            },
          },
          {
            guard: { type: 'isMine', params: ({ event }) => event },
            target: 'denied',
            actions: {
              type: 'keepOutcome',
              params: ({ event }) => ({ outcome: { kind: 'denied', ...withReason(event) } }),
            },
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
        expiry: {
          target: 'timedOut',
          actions: {
            type: 'keepOutcome',
            params: ({ context }) => ({
              outcome: { kind: 'timed_out', waitedMs: context.request.timeoutMs },
            }),
          },
        },
      },
    },
    approved: { type: 'final', entry: tellCompleted },
    denied: { type: 'final', entry: tellCompleted },
    timedOut: { type: 'final', entry: tellCompleted },
    cancelled: { type: 'final', entry: tellCompleted },
  },
  output: ({ context }) => required(context.outcome),
});

function required(outcome: ApprovalOutcome | null): ApprovalOutcome {
  if (outcome === null) throw new Error('invariant: an approval ends with an outcome');
  return outcome;
}
