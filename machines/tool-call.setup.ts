import { assign, setup, type DoneActorEvent, type ErrorActorEvent } from 'xstate';
import { approvalMachine, type ApprovalEvent } from './approval.machine.ts';
import { promisePort } from './ports.ts';
import type {
  ChildEnded,
  ToolCallContext,
  ToolCallEmitted,
  ToolCallEvent,
  ToolCallInput,
  ToolCallOutput,
  ToolCallRef,
  ToolCallReturn,
  Withdrawal,
} from './tool-call.contract.ts';
import type {
  ApprovalOutcome,
  ApprovalRequest,
  ObligationRef,
  StopCause,
  ToolCallStatus,
} from './vocabulary.ts';
import { withdrawnFor } from './withdrawn-for.ts';

/** One notice to a webhook is tried once, and for so long. */
const NOTICE_MS = 5_000;

/** How a call ends that its approval did not let run. */
const STATUS_OF: Readonly<Record<ApprovalOutcome['kind'], ToolCallStatus>> = {
  approved: 'cancelled', // The stop had come first.
  denied: 'denied',
  timed_out: 'timed_out',
  cancelled: 'cancelled',
  errored: 'failed',
};

/** Ids of children; a dot, so that XState's wildcards see a token of its own. */
const QUESTION = 'question.';
const WITHDRAWAL = 'withdrawal.';

export const toolCallSetup = setup({
  types: {
    context: {} as ToolCallContext,
    input: {} as ToolCallInput,
    events: {} as ToolCallEvent | ChildEnded,
    emitted: {} as ToolCallEmitted,
    output: {} as ToolCallOutput,
    tags: {} as 'input-required' | 'gated' | 'in-flight' | 'stopping' | 'closing',
  },
  actors: {
    approval: approvalMachine,
    executeTool: promisePort<ToolCallReturn, ToolCallRef>('executeTool'),
    awaitToolStop: promisePort<void, ToolCallRef>('awaitToolStop'),
    awaitStopNotice: promisePort<void, ToolCallRef>('awaitStopNotice'),
    withdrawApproval: promisePort<boolean, Withdrawal>('withdrawApproval'),
  },
  actions: {
    keepStatus: assign({ status: (_, params: { status: ToolCallStatus }) => params.status }),
    keepApproval: assign({ approval: (_, params: { outcome: ApprovalOutcome }) => params.outcome }),
    keepRefusal: assign({
      approval: (_, params: { outcome: ApprovalOutcome }) => params.outcome,
      status: (_, params) => STATUS_OF[params.outcome.kind],
    }),
    keepCause: assign({
      cause: (_, params: { cause: StopCause; graceMs: number | undefined }) => params.cause,
      stopGraceMs: ({ context }, params) =>
        Math.min(context.stopGraceMs, params.graceMs ?? context.stopGraceMs),
    }),
    giveUp: assign({
      abandoned: true,
      status: ({ context }) => (context.status === 'timed_out' ? 'timed_out' : 'unknown'),
    }),
  },
  guards: {
    isForbidden: ({ context }) => context.call.forbiddenBy !== undefined,
    isGated: ({ context }) => context.call.approval !== undefined,
    isAsked: ({ context }) => context.cause !== null,
    isFirstStop: ({ context }) => context.cause === null,
    isError: (_, params: { isError: boolean }) => params.isError,
    /** An approval that comes in the same breath as a stop is too late. */
    mayRun: ({ context }, params: { outcome: ApprovalOutcome }) =>
      params.outcome.kind === 'approved' && context.cause === null,
    isNew: ({ context }, params: { request: ApprovalRequest }) =>
      !context.questions.some(({ decisionId }) => decisionId === params.request.decisionId),
    isQuestion: ({ context }, params: { decisionId: string }) =>
      context.questions.some(({ decisionId }) => decisionId === params.decisionId),
    isOfQuestion: (_, params: { actorId: string }) => params.actorId.startsWith(QUESTION),
    isNobodyAsked: ({ context }) => context.questions.length === 0,
    isQuiet: ({ context }) => context.questions.length === 0 && context.withdrawals.length === 0,
  },
  delays: {
    startToClose: ({ context }) => orNever(context.call.timeoutMs),
    stopGrace: ({ context }) => context.stopGraceMs,
    noticeBound: ({ context }) =>
      context.cause === null ? NOTICE_MS : Math.min(NOTICE_MS, context.stopGraceMs),
  },
});

export const refOf = (context: ToolCallContext): ToolCallRef => ({
  runId: context.runId,
  toolCallId: context.call.id,
});

/** 0 means that the step alone bounds it. */
const orNever = (ms: number): number => (ms === 0 ? Number.POSITIVE_INFINITY : ms);

export const forwardDecision = toolCallSetup.sendTo(
  'approval' as never,
  ({ event }) => event as never,
);

export const forwardToQuestion = toolCallSetup.sendTo(
  ({ event }) => questionId(event as Extract<ApprovalEvent, { decisionId: string }>) as never,
  ({ event }) => event as never,
);

const questionId = ({ decisionId }: { readonly decisionId: string }): string =>
  `${QUESTION}${decisionId}`;

const withdrawalId = ({ decisionId }: { readonly decisionId: string }): string =>
  `${WITHDRAWAL}${decisionId}`;

export const cancelApproval = toolCallSetup.sendTo(
  'approval' as never,
  ({ event }) =>
    ({
      type: 'approval.cancel',
      cause: (event as Extract<ToolCallEvent, { type: 'toolCall.stop' }>).cause,
    }) as never,
);

export const askQuestion = toolCallSetup.enqueueActions(({ context, event, enqueue }) => {
  const { request } = event as Extract<ToolCallEvent, { type: 'toolCall.ask' }>;
  enqueue.assign({ questions: [...context.questions, request] });
  enqueue.spawnChild('approval', {
    id: questionId(request) as never,
    input: { runId: context.runId, request },
  });
});

export const retractQuestion = toolCallSetup.sendTo(
  ({ event }) => questionId(event as Extract<ToolCallEvent, { decisionId: string }>) as never,
  { type: 'approval.cancel', cause: { kind: 'call_over' } } as never,
);

/** Whoever asked is over, or is to be. */
export const cancelQuestions = toolCallSetup.enqueueActions(({ context, enqueue }) => {
  const cancel = { type: 'approval.cancel', cause: context.cause ?? { kind: 'call_over' } };
  for (const request of context.questions) {
    enqueue.sendTo(questionId(request) as never, cancel as never);
  }
});

/** A question that has ended, or crashed: then nobody has been told, so it is withdrawn too. */
export const reapQuestion = toolCallSetup.enqueueActions(({ context, event, enqueue }) => {
  const { actorId } = event as DoneActorEvent | ErrorActorEvent;
  enqueue.stopChild(actorId);
  const gone = context.questions.find((request) => questionId(request) === actorId);
  if (gone === undefined) return;
  if (!('output' in event)) enqueue.emit(completedCrashed(gone));
  const left = context.questions.filter((request) => request !== gone);
  const owed = withdrawalOf(context, gone, outcomeIn(event as ChildEnded));
  enqueue.assign({ questions: left, withdrawals: [...context.withdrawals, ...owed] });
  for (const input of owed) {
    enqueue.spawnChild('withdrawApproval', { id: withdrawalId(input) as never, input });
  }
});

/** The gate's own approval has ended, maybe otherwise than by the answer of who was asked. */
export const withdrawGate = toolCallSetup.enqueueActions(({ context, event, enqueue }) => {
  const request = context.call.approval;
  if (request === undefined) return;
  if (!('output' in event)) enqueue.emit(completedCrashed(request));
  const owed = withdrawalOf(context, request, outcomeIn(event as ChildEnded));
  enqueue.assign({ withdrawals: [...context.withdrawals, ...owed] });
  for (const input of owed) {
    enqueue.spawnChild('withdrawApproval', { id: withdrawalId(input) as never, input });
  }
});

const CRASHED: ApprovalOutcome = { kind: 'errored', message: 'the approval crashed' };

/** A bug; whoever waits for the answer must hear of an end all the same. */
const completedCrashed = (request: ApprovalRequest) =>
  ({ type: 'approval.completed', request, outcome: CRASHED }) as const;

export const refusedByCrash = { type: 'keepRefusal', params: { outcome: CRASHED } } as const;

const outcomeIn = (event: ChildEnded): ApprovalOutcome =>
  'output' in event ? (event.output as ApprovalOutcome) : CRASHED;

/** A webhook that was asked and has not answered still shows its question to somebody. */
function withdrawalOf(
  context: ToolCallContext,
  request: ApprovalRequest,
  outcome: ApprovalOutcome,
): readonly Withdrawal[] {
  const reason = withdrawnFor(request, outcome);
  const { decisionId } = request;
  return reason === undefined ? [] : [{ ...refOf(context), decisionId, reason }];
}

export const reapWithdrawal = (notified: (event: ChildEnded) => boolean) =>
  toolCallSetup.enqueueActions(({ context, event, enqueue }) => {
    const { actorId } = event as DoneActorEvent | ErrorActorEvent;
    const gone = context.withdrawals.find((one) => withdrawalId(one) === actorId);
    if (gone === undefined) return;
    enqueue.stopChild(actorId);
    enqueue.assign({ withdrawals: context.withdrawals.filter((one) => one !== gone) });
    enqueue.emit({
      type: 'approval.withdrawn',
      withdrawal: gone,
      notified: notified(event as ChildEnded),
    });
  });

export const giveUpWithdrawals = toolCallSetup.enqueueActions(({ context, enqueue }) => {
  for (const withdrawal of context.withdrawals) {
    enqueue.emit({ type: 'approval.withdrawn', withdrawal, notified: false });
  }
  enqueue.assign({ withdrawals: [] });
});

type ObligationType = 'obligation.asked' | 'obligation.confirmed' | 'obligation.abandoned';

export const tellTool = (type: ObligationType) =>
  toolCallSetup.enqueueActions(({ context, enqueue, check }) => {
    if (!check('isAsked')) return; // A tool's own deadline is no obligation of a stop.
    enqueue.emit({ type, obligation: { what: 'tool', id: context.call.id } });
  });

export const tellApproval = (type: ObligationType) =>
  toolCallSetup.enqueueActions(({ context, enqueue, check }) => {
    if (!check('isAsked')) return;
    const id = required(context.call.approval).decisionId;
    enqueue.emit({ type, obligation: { what: 'approval', id } });
  });

/** The stop finds the tool over and its notices on their way. */
export const askClosing = toolCallSetup.enqueueActions(({ context, enqueue }) => {
  enqueue.assign({ closingAsked: true });
  enqueue.emit({ type: 'obligation.asked', obligation: { what: 'tool', id: context.call.id } });
});

export const tellClosed = (type: 'obligation.confirmed' | 'obligation.abandoned') =>
  toolCallSetup.enqueueActions(({ context, enqueue }) => {
    if (!context.closingAsked) return;
    enqueue.emit({ type, obligation: { what: 'tool', id: context.call.id } });
  });

/**
 * The notice to an MCP server is an obligation of its own: the tool may end without it. It may have
 * been sent before, when the tool's own deadline had passed; then the answer is there at once.
 */
export const askNotice = toolCallSetup.enqueueActions(({ context, enqueue, check }) => {
  if (context.call.executor !== 'mcp' || !check('isAsked')) return;
  const { sent } = context.notice;
  enqueue.emit({ type: 'obligation.asked', obligation: noticeRef(context) });
  enqueue.assign({ notice: { asked: sent === null, sent } });
  if (sent !== null) enqueue.emit({ type: answerOf(sent), obligation: noticeRef(context) });
});

export const settleNotice = (sent: boolean) =>
  toolCallSetup.enqueueActions(({ context, enqueue }) => {
    if (context.notice.asked) {
      enqueue.emit({ type: answerOf(sent), obligation: noticeRef(context) });
    }
    enqueue.assign({ notice: { asked: false, sent } });
  });

/** Nobody answered before the call ended. */
export const giveUpNotice = toolCallSetup.enqueueActions(({ context, enqueue }) => {
  if (!context.notice.asked) return;
  enqueue.emit({ type: 'obligation.abandoned', obligation: noticeRef(context) });
});

const noticeRef = ({ call }: ToolCallContext): ObligationRef => ({ what: 'mcp', id: call.id });

const answerOf = (sent: boolean) => (sent ? 'obligation.confirmed' : 'obligation.abandoned');

export const tellEnded = toolCallSetup.emit(({ context }) => ({
  type: 'toolCall.ended',
  id: context.call.id,
  name: context.call.name,
  status: context.status,
  approval: context.approval,
  cause: context.cause,
  abandoned: context.abandoned,
  ...(context.call.forbiddenBy !== undefined && { forbiddenBy: context.call.forbiddenBy }),
}));

export const keepCauseOf = {
  type: 'keepCause',
  params: ({ event }: { event: Extract<ToolCallEvent, { type: 'toolCall.stop' }> }) => ({
    cause: event.cause,
    graceMs: event.graceMs,
  }),
} as const;

export const status = (value: ToolCallStatus) =>
  ({ type: 'keepStatus', params: { status: value } }) as const;

export const outcome = {
  params: ({ event }: { event: DoneActorEvent<ApprovalOutcome> }) => ({ outcome: event.output }),
} as const;

export const keepOutcome = { type: 'keepApproval', ...outcome } as const;

export function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('invariant: only a gated call enters `gated`');
  return value;
}
