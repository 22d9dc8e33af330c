import { assign, setup, type DoneActorEvent, type ErrorActorEvent } from 'xstate';
import { approvalMachine, type ApprovalEvent } from './approval.machine.ts';
import { promisePort } from './ports.ts';
import type {
  ApprovalOutcome,
  ObligationRef,
  StopCause,
  ToolCallRequest,
  ToolCallStatus,
} from './vocabulary.ts';

export interface ToolCallInput {
  readonly runId: string;
  readonly call: ToolCallRequest;
  /** How long a tool that was told to stop may take before it is abandoned. */
  readonly stopGraceMs: number;
}

export type ToolCallEvent =
  | { type: 'toolCall.begin' }
  | { type: 'toolCall.stop'; cause: StopCause; graceMs?: number }
  | Extract<ApprovalEvent, { type: 'approval.decide' }>;

/** XState's own events; they arrive from children and are never accepted from outside. */
export type ChildEnded = DoneActorEvent | ErrorActorEvent;

/** How an execution came back: the text itself stays with the port. */
export interface ToolCallReturn {
  readonly isError: boolean;
}

export interface ToolCallOutput {
  readonly id: string;
  readonly status: ToolCallStatus;
}

export type ToolCallEmitted =
  | { type: 'obligation.asked'; obligation: ObligationRef }
  | { type: 'obligation.confirmed'; obligation: ObligationRef }
  | { type: 'obligation.abandoned'; obligation: ObligationRef }
  | {
      type: 'toolCall.ended';
      id: string;
      name: string;
      status: ToolCallStatus;
      /** Present when a person, or the lack of one, kept the tool from running. */
      approval: ApprovalOutcome | null;
      cause: StopCause | null;
      /** The tool ignored its signal: what it did is not known. */
      abandoned: boolean;
    };

export interface ToolCallContext {
  readonly runId: string;
  readonly call: ToolCallRequest;
  readonly stopGraceMs: number;
  readonly status: ToolCallStatus;
  readonly approval: ApprovalOutcome | null;
  readonly cause: StopCause | null;
  readonly abandoned: boolean;
  /** Whether the executor could be told to stop; `asked` while the stop waits for an answer. */
  readonly notice: { readonly asked: boolean; readonly sent: boolean | null };
}

/** What the tool ports are asked about. */
export interface ToolCallRef {
  readonly runId: string;
  readonly toolCallId: string;
}

/** How a call ends that its approval did not let run. */
const STATUS_OF: Readonly<Record<ApprovalOutcome['kind'], ToolCallStatus>> = {
  approved: 'cancelled', // The stop had come first.
  denied: 'denied',
  timed_out: 'timed_out',
  cancelled: 'cancelled',
  errored: 'failed',
};

const toolCallSetup = setup({
  types: {
    context: {} as ToolCallContext,
    input: {} as ToolCallInput,
    events: {} as ToolCallEvent | ChildEnded,
    emitted: {} as ToolCallEmitted,
    output: {} as ToolCallOutput,
    tags: {} as 'input-required' | 'in-flight' | 'stopping',
    children: {} as { approval: 'approval' },
  },
  actors: {
    approval: approvalMachine,
    executeTool: promisePort<ToolCallReturn, ToolCallRef>('executeTool'),
    awaitToolStop: promisePort<void, ToolCallRef>('awaitToolStop'),
    awaitStopNotice: promisePort<void, ToolCallRef>('awaitStopNotice'),
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
    isGated: ({ context }) => context.call.approval !== undefined,
    isAsked: ({ context }) => context.cause !== null,
    isFirstStop: ({ context }) => context.cause === null,
    isError: (_, params: { isError: boolean }) => params.isError,
    /** An approval that comes in the same breath as a stop is too late. */
    mayRun: ({ context }, params: { outcome: ApprovalOutcome }) =>
      params.outcome.kind === 'approved' && context.cause === null,
  },
  delays: {
    startToClose: ({ context }) => orNever(context.call.timeoutMs),
    stopGrace: ({ context }) => context.stopGraceMs,
  },
});

const forwardDecision = toolCallSetup.sendTo('approval', ({ event }) => event as ApprovalEvent);

const cancelApproval = toolCallSetup.sendTo('approval', ({ event }) => ({
  type: 'approval.cancel',
  cause: (event as Extract<ToolCallEvent, { type: 'toolCall.stop' }>).cause,
}));

type ObligationType = 'obligation.asked' | 'obligation.confirmed' | 'obligation.abandoned';

const tellTool = (type: ObligationType) =>
  toolCallSetup.enqueueActions(({ context, enqueue, check }) => {
    if (!check('isAsked')) return; // A tool's own deadline is no obligation of a stop.
    enqueue.emit({ type, obligation: { what: 'tool', id: context.call.id } });
  });

const tellApproval = (type: ObligationType) =>
  toolCallSetup.enqueueActions(({ context, enqueue, check }) => {
    if (!check('isAsked')) return;
    const id = required(context.call.approval).decisionId;
    enqueue.emit({ type, obligation: { what: 'approval', id } });
  });

/**
 * The notice to an MCP server is an obligation of its own: the tool may end without it. It may have
 * been sent before, when the tool's own deadline had passed; then the answer is there at once.
 */
const askNotice = toolCallSetup.enqueueActions(({ context, enqueue, check }) => {
  if (context.call.executor !== 'mcp' || !check('isAsked')) return;
  const { sent } = context.notice;
  enqueue.emit({ type: 'obligation.asked', obligation: noticeRef(context) });
  enqueue.assign({ notice: { asked: sent === null, sent } });
  if (sent !== null) enqueue.emit({ type: answerOf(sent), obligation: noticeRef(context) });
});

const settleNotice = (sent: boolean) =>
  toolCallSetup.enqueueActions(({ context, enqueue }) => {
    if (context.notice.asked) {
      enqueue.emit({ type: answerOf(sent), obligation: noticeRef(context) });
    }
    enqueue.assign({ notice: { asked: false, sent } });
  });

/** Nobody answered before the call ended. */
const giveUpNotice = toolCallSetup.enqueueActions(({ context, enqueue }) => {
  if (!context.notice.asked) return;
  enqueue.emit({ type: 'obligation.abandoned', obligation: noticeRef(context) });
});

const noticeRef = ({ call }: ToolCallContext): ObligationRef => ({ what: 'mcp', id: call.id });

const answerOf = (sent: boolean) => (sent ? 'obligation.confirmed' : 'obligation.abandoned');

const tellEnded = toolCallSetup.emit(({ context }) => ({
  type: 'toolCall.ended',
  id: context.call.id,
  name: context.call.name,
  status: context.status,
  approval: context.approval,
  cause: context.cause,
  abandoned: context.abandoned,
}));

const keepCauseOf = {
  type: 'keepCause',
  params: ({ event }: { event: Extract<ToolCallEvent, { type: 'toolCall.stop' }> }) => ({
    cause: event.cause,
    graceMs: event.graceMs,
  }),
} as const;

const status = (value: ToolCallStatus) =>
  ({ type: 'keepStatus', params: { status: value } }) as const;

const outcome = {
  params: ({ event }: { event: DoneActorEvent<ApprovalOutcome> }) => ({ outcome: event.output }),
} as const;

const keepOutcome = { type: 'keepApproval', ...outcome } as const;

/**
 * One use of a tool.
 *
 * TC1. The gate comes before the run: a gated call executes only after its approval ended in
 *      `approved`.
 * TC2. At most one execution: `executeTool` is invoked by exactly one state, entered at most once.
 * TC3. Every path ends, also with a tool that ignores its signal: it is abandoned after its grace
 *      and its effect is told to be unknown (INV-17).
 * TC4. `toolCall.ended` is told exactly once, and nothing after it.
 * TC5. A tool's own deadline ends the tool call alone (INV-31); waiting for a person does not count
 *      against it.
 * TC6. A stop while a person is asked cancels the approval and runs nothing.
 */
export const toolCallMachine = toolCallSetup.createMachine({
  id: 'toolCall',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    ...input,
    status: 'cancelled',
    approval: null,
    cause: null,
    abandoned: false,
    notice: { asked: false, sent: null },
  }),
  initial: 'idle',
  states: {
    idle: {
      on: {
        'toolCall.begin': [{ guard: 'isGated', target: 'gated' }, { target: 'running' }],
        'toolCall.stop': { target: 'ended', actions: [keepCauseOf] },
      },
    },
    gated: {
      tags: ['input-required'],
      invoke: {
        id: 'approval',
        src: 'approval',
        input: ({ context }) => ({ request: required(context.call.approval) }),
        onDone: [
          { guard: { type: 'mayRun', ...outcome }, target: 'running', actions: [keepOutcome] },
          {
            target: 'ended',
            actions: [{ type: 'keepRefusal', ...outcome }, tellApproval('obligation.confirmed')],
          },
        ],
        onError: { target: 'ended', actions: [status('failed')] },
      },
      on: {
        'approval.decide': { actions: [forwardDecision] },
        'toolCall.stop': {
          actions: [keepCauseOf, tellApproval('obligation.asked'), cancelApproval],
        },
      },
    },
    running: {
      tags: ['in-flight'],
      invoke: {
        id: 'executeTool',
        src: 'executeTool',
        input: ({ context }) => refOf(context),
        onDone: [
          {
            guard: { type: 'isError', params: ({ event }) => event.output },
            target: 'ended',
            actions: [status('failed')],
          },
          { target: 'ended', actions: [status('completed')] },
        ],
        onError: { target: 'ended', actions: [status('failed')] },
      },
      on: { 'toolCall.stop': { target: 'stopping', actions: [keepCauseOf] } },
      after: { startToClose: { target: 'stopping', actions: [status('timed_out')] } },
    },
    stopping: {
      tags: ['in-flight', 'stopping'],
      entry: [tellTool('obligation.asked'), askNotice],
      invoke: [
        {
          id: 'awaitToolStop',
          src: 'awaitToolStop',
          input: ({ context }) => refOf(context),
          onDone: { target: 'ended', actions: [tellTool('obligation.confirmed')] },
          onError: { target: 'ended', actions: ['giveUp', tellTool('obligation.abandoned')] },
        },
        {
          id: 'awaitStopNotice',
          src: 'awaitStopNotice',
          input: ({ context }) => refOf(context),
          onDone: { actions: [settleNotice(true)] },
          onError: { actions: [settleNotice(false)] },
        },
      ],
      on: {
        'toolCall.stop': {
          guard: 'isFirstStop',
          actions: [keepCauseOf, tellTool('obligation.asked'), askNotice],
        },
      },
      after: {
        stopGrace: { target: 'ended', actions: ['giveUp', tellTool('obligation.abandoned')] },
      },
      exit: [giveUpNotice],
    },
    ended: { type: 'final', entry: [tellEnded] },
  },
  output: ({ context }) => ({ id: context.call.id, status: context.status }),
});

const refOf = (context: ToolCallContext): ToolCallRef => ({
  runId: context.runId,
  toolCallId: context.call.id,
});

/** 0 means that the step alone bounds it. */
const orNever = (ms: number): number => (ms === 0 ? Number.POSITIVE_INFINITY : ms);

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('invariant: only a gated call enters `gated`');
  return value;
}
