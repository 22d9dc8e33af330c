import { assign, setup, type DoneActorEvent, type ErrorActorEvent } from 'xstate';
import { claimsMachine, type ClaimsEvent } from './claims.machine.ts';
import { watchDeadline, type DeadlineReached } from './deadline.ts';
import { promisePort } from './ports.ts';
import type {
  CloseWorkInput,
  OwnWork,
  ReleaseInput,
  RunContext,
  RunEmitted,
  RunEvent,
  RunInput,
  RunOutput,
  RunRef,
  RunSystemEvent,
  SettleInput,
  ToolSnapshot,
} from './run.contract.ts';
import {
  areGated,
  callsOf,
  causeOf,
  CRASHED,
  endedUnrun,
  hasWaiting,
  obligationsOf,
  standingAfter,
  without,
  workRef,
} from './run.rules.ts';
import { toolCallMachine } from './tool-call.machine.ts';
import { turnMachine, type TurnOutput } from './turn.machine.ts';
import type { Failure, LivenessPolicy, StopCause, ToolCallRequest } from './vocabulary.ts';

/** The longest that storing the end may take, tries included. */
const SETTLE_MS = 15_000;
/**
 * A shutdown gives parking most of its drain, so what did not come to a checkpoint then must end in the
 * rest of it, deaf tools or not.
 */
const UNPARKED_GRACE_MS = 500;
/** Release has three steps, each bounded by `releaseMs`. */
const RELEASE_STEPS = 3;

/** What a run is told of its parking. Durations are milliseconds. */
export interface ParkParams {
  readonly cause: StopCause;
  readonly boundMs?: number | undefined;
  /** Patience with deaf tools, should it not come to a checkpoint in time. */
  readonly graceMs?: number | undefined;
}

export const runSetup = setup({
  types: {
    context: {} as RunContext,
    input: {} as RunInput,
    events: {} as RunEvent | RunSystemEvent,
    emitted: {} as RunEmitted,
    output: {} as RunOutput,
    tags: {} as
      | 'queued'
      | 'preparing'
      | 'running'
      | 'input-required'
      | 'stopping'
      | 'settling'
      | 'claimable'
      | 'parking',
  },
  actors: {
    claims: claimsMachine,
    turn: turnMachine,
    toolCall: toolCallMachine,
    watchDeadline,
    prepareRun: promisePort<void, RunRef>('prepareRun'),
    closeWork: promisePort<void, CloseWorkInput>('closeWork'),
    settleRun: promisePort<void, SettleInput>('settleRun'),
    releaseRun: promisePort<void, ReleaseInput>('releaseRun'),
  },
  actions: {
    countTurn: assign({ turn: ({ context }) => context.turn + 1 }),
    keepWork: assign({ work: (_, params: { work: OwnWork }) => params.work }),
    keepCalls: assign({
      queued: (_, params: { calls: readonly ToolCallRequest[] }) =>
        params.calls.filter((call) => call.kind !== 'client'),
      callerOwes: (_, params) => params.calls.some((call) => call.kind === 'client'),
    }),
    keepCause: assign({
      cause: ({ context }, params: { cause: StopCause; graceMs: number | undefined }) =>
        context.cause ?? params.cause,
      stopGraceMs: ({ context }, params) =>
        Math.min(context.stopGraceMs, params.graceMs ?? context.stopGraceMs),
    }),
    keepFailure: assign({ failure: (_, params: { failure: Failure }) => params.failure }),
    noteCause: assign({
      notes: ({ context }, params: { cause: StopCause }) => [...context.notes, params.cause.kind],
    }),
    keepStanding: assign({
      standing: ({ context }, params: ToolSnapshot) => standingAfter(context.standing, params),
    }),
    loseStore: assign({ settled: false }),
    keepParking: assign({
      parking: ({ context }, params: ParkParams) => context.parking ?? params.cause,
      parkMs: ({ context }, params) => Math.min(context.parkMs, params.boundMs ?? context.parkMs),
      stopGraceMs: ({ context }, params) =>
        Math.min(context.stopGraceMs, params.graceMs ?? context.stopGraceMs),
    }),
    endParked: assign({ parked: true }),
    endClaims: assign({ claimsDecided: true }),
  },
  guards: {
    isTool: (_, params: { actorId: string }) => params.actorId.startsWith(TOOL_PREFIX),
    isOpen: ({ context }, params: { toolCallId: string }) =>
      context.open.some((call) => call.id === params.toolCallId),
    isAnswered: (_, params: { output: TurnOutput }) => params.output.kind === 'answered',
    isFailed: (_, params: { output: TurnOutput }) => params.output.kind === 'failed',
    isExpired: (_, params: { output: TurnOutput }) => params.output.kind === 'expired',
    /** What is to be parked anyway does not end for want of a reader. */
    isUnclaimed: ({ context }, params: { policy: LivenessPolicy }) =>
      params.policy === 'cancel' && context.parking === null,
    heedsClaims: ({ context }) => !context.claimsDecided,
    hasTurnsLeft: ({ context }) => context.turn < context.limits.turnsMax,
    /** What nobody but a person holds up can go on in another process. */
    mustPark: ({ context }) => context.parking !== null && areGated(context),
    /** A turn whose calls the caller executes is a normal end. */
    mustParkBeforeCalls: ({ context }, params: { output: TurnOutput }) =>
      context.parking !== null &&
      context.turn < context.limits.turnsMax &&
      callsOf(params.output).some(({ kind }) => kind !== 'client'),
    parksInstead: ({ context }, params: { cause: StopCause }) =>
      params.cause.kind === 'shutdown' && context.liveness.policy === 'park',
    hasResumedCalls: ({ context }) => (context.resume?.calls.length ?? 0) > 0,
    hasWaiting: ({ context }) => hasWaiting(context),
    isNobodyAsked: ({ context }) => !hasWaiting(context),
    areCallsDone: ({ context }) => context.open.length === 0 && context.queued.length === 0,
    callerMustAnswer: ({ context }) =>
      context.open.length === 0 && context.queued.length === 0 && context.callerOwes,
    isQuiet: ({ context }) => context.open.length === 0 && context.work === 'none',
  },
  delays: {
    closeBound: ({ context }) => context.limits.releaseMs,
    parkBound: ({ context }) => context.parkMs,
    settleBound: SETTLE_MS,
    releaseBound: ({ context }) => context.limits.releaseMs * RELEASE_STEPS,
  },
});

/** Ids of tool call actors; a dot, so that XState's wildcards see a token of its own. */
const TOOL_PREFIX = 'tool.';
const toolActorId = (call: { id: string }): string => `${TOOL_PREFIX}${call.id}`;

export const tellStarted = runSetup.emit({ type: 'run.started' });

export const tellQueued = runSetup.emit({ type: 'run.queued' });

export const tellParking = runSetup.emit(({ context }) => ({
  type: 'run.parking',
  cause: causeOf(context),
}));

/** The last claim is gone and the policy is to park: the run goes on to its next checkpoint. */
export const parkUnclaimed = runSetup.raise({ type: 'run.park', cause: { kind: 'unclaimed' } });

export const toClaims = runSetup.sendTo('claims', ({ event }) => event as ClaimsEvent);

export const toToolCall = runSetup.sendTo(
  ({ event }) => toolActorId({ id: (event as { toolCallId: string }).toolCallId }) as never,
  ({ event }) => event as Extract<RunEvent, { toolCallId: string }> as never,
);

/** Begins as many queued calls as there are places; the rest wait. A run that is to park begins none. */
export const beginTools = runSetup.enqueueActions(({ context, enqueue }) => {
  if (context.parking !== null) return;
  const places = context.limits.parallelToolsMax - context.open.length;
  const next = context.queued.slice(0, Math.max(0, places));
  enqueue.assign({
    queued: context.queued.slice(next.length),
    open: [...context.open, ...next],
  });
  for (const call of next) {
    enqueue.spawnChild('toolCall', {
      id: toolActorId(call) as never,
      syncSnapshot: true,
      input: { runId: context.runId, call, stopGraceMs: context.limits.toolStopGraceMs },
    });
    enqueue.sendTo(toolActorId(call) as never, { type: 'toolCall.begin' } as never);
  }
});

export const reapTool = runSetup.enqueueActions(({ context, event, enqueue }) => {
  const { actorId } = event as DoneActorEvent | ErrorActorEvent;
  enqueue.stopChild(actorId);
  const gone = context.open.find((call) => toolActorId(call) === actorId);
  enqueue.assign({
    open: context.open.filter((call) => call !== gone),
    standing: without(context.standing, gone?.id ?? ''),
  });
});

/** A tool call's chart that crashes is a bug; its call must still be told as ended. */
export const tellCrashed = runSetup.enqueueActions(({ context, event, enqueue }) => {
  const { actorId } = event as ErrorActorEvent;
  const call = context.open.find((open) => toolActorId(open) === actorId);
  if (call !== undefined) enqueue.emit(endedUnrun(call, 'failed', context.cause));
});

export const tellStopping = runSetup.emit(({ context }) => ({
  type: 'run.stopping',
  cause: causeOf(context),
  obligations: obligationsOf(context),
}));

export const stopTools = runSetup.enqueueActions(({ context, enqueue }) => {
  const stop = { type: 'toolCall.stop', cause: causeOf(context), graceMs: context.stopGraceMs };
  for (const call of context.open) enqueue.sendTo(toolActorId(call) as never, stop as never);
});

/** Calls that wait for a person go on elsewhere, so nothing is told of their end. */
export const dropTools = runSetup.enqueueActions(({ context, enqueue }) => {
  for (const call of context.open) enqueue.stopChild(toolActorId(call) as never);
  enqueue.assign({ open: [], standing: {}, queued: [] });
});

/** Calls that had no place yet are closed without having begun (INV-18, INV-37). */
export const closeQueued = runSetup.enqueueActions(({ context, enqueue }) => {
  const { failure, cause } = context;
  const why: StopCause | null = failure === null ? cause : { kind: 'error', failure };
  for (const call of context.queued) enqueue.emit(endedUnrun(call, 'cancelled', why));
  enqueue.assign({ queued: [] });
});

export const tellWork = (
  type: 'obligation.asked' | 'obligation.confirmed' | 'obligation.abandoned',
) =>
  runSetup.enqueueActions(({ context, enqueue }) => {
    if (context.work === 'none') return;
    enqueue.emit({ type, obligation: workRef(context) });
    if (type !== 'obligation.asked') enqueue.assign({ work: 'none' });
  });

type ClockCommand = 'deadline.pause' | 'deadline.resume';

/** A person is asked, or no more: the step's clock heeds it, and the total's where that is configured. */
export const tellClocks = (type: ClockCommand) =>
  runSetup.enqueueActions(({ context, enqueue }) => {
    enqueue.sendTo('step' as never, { type } as never);
    if (context.limits.totalPauses) enqueue.sendTo('total' as never, { type } as never);
  });

/** The calls that a parked run left without a result. */
export const keepResumed = {
  type: 'keepCalls',
  params: ({ context }: { context: RunContext }) => ({ calls: context.resume?.calls ?? [] }),
} as const;

export const stopUnparked = {
  type: 'keepCause',
  params: ({ context }: { context: RunContext }) => ({
    cause: causeOf(context),
    graceMs: undefined,
  }),
} as const;

export const stopWith = (cause: StopCause) =>
  ({ type: 'keepCause', params: { cause, graceMs: undefined } }) as const;

export const failWith = (failure: Failure) =>
  ({ type: 'keepFailure', params: { failure } }) as const;

export const outputOf = {
  params: ({ event }: { event: DoneActorEvent<TurnOutput> }) => ({ output: event.output }),
} as const;

export const deadlineCause = {
  type: 'keepCause',
  params: ({ event }: { event: DeadlineReached }) => ({
    cause: { kind: 'deadline', which: event.which, afterMs: event.afterMs } as const,
    graceMs: undefined,
  }),
} as const;

/** A part that crashes is a bug; the run ends by the path of any other stop and says so. */
export const crashed = {
  target: '#run.stopping',
  actions: [stopWith({ kind: 'error', failure: CRASHED })],
} as const;

export const workDone = { type: 'keepWork', params: { work: 'none' } } as const;

export const keepCallsOf = {
  type: 'keepCalls',
  params: ({ event }: { event: DoneActorEvent<TurnOutput> }) => ({ calls: callsOf(event.output) }),
} as const;

export const parkAsAsked = {
  type: 'keepParking',
  params: ({ event }: { event: Extract<RunEvent, { type: 'run.park' }> }) => ({
    cause: event.cause,
    boundMs: event.boundMs,
  }),
} as const;

export const parkAtShutdown = {
  type: 'keepParking',
  params: ({ event }: { event: Extract<RunEvent, { type: 'run.stop' }> }) => ({
    cause: event.cause,
    boundMs: event.graceMs,
    graceMs: UNPARKED_GRACE_MS,
  }),
} as const;
