import { assign, setup } from 'xstate';
import type { BusyStrategy } from './vocabulary.ts';

export interface SessionInput {
  /** Runs that wait for the session; one more is refused. */
  readonly queueMax: number;
}

export type SessionEvent =
  /** `others` are the session's runs that live; it may not have heard of parallel ones. */
  | { type: 'session.ask'; runId: string; strategy: BusyStrategy; others: readonly string[] }
  /** A run is over, or came to nothing. */
  | { type: 'session.left'; runId: string };

export type SessionEmitted =
  /** The run may begin. */
  | { type: 'session.admitted'; runId: string }
  | { type: 'session.queued'; runId: string; behind: string }
  | { type: 'session.refused'; runId: string; because: 'busy' | 'full'; behind: string }
  /** A newer run displaces this one. */
  | { type: 'session.superseded'; runId: string; by: string };

export interface SessionContext extends SessionInput {
  /** Runs that may be at work, in the order they were admitted. */
  readonly live: readonly string[];
  /** Runs that wait, the next one first. */
  readonly queue: readonly string[];
}

type Ask = Extract<SessionEvent, { type: 'session.ask' }>;

const sessionSetup = setup({
  types: {
    context: {} as SessionContext,
    input: {} as SessionInput,
    events: {} as SessionEvent,
    emitted: {} as SessionEmitted,
  },
  actions: {
    noteOthers: assign({
      live: ({ context: { live, queue } }, params: { others: readonly string[] }) => [
        ...new Set([...live, ...params.others.filter((runId) => !queue.includes(runId))]),
      ],
    }),
    join: assign({
      live: ({ context }, params: { runId: string }) => [...context.live, params.runId],
    }),
    wait: assign({
      queue: ({ context }, params: { runId: string }) => [...context.queue, params.runId],
    }),
    leave: assign({
      live: ({ context }, params: { runId: string }) =>
        context.live.filter((runId) => runId !== params.runId),
      queue: ({ context }, params) => context.queue.filter((runId) => runId !== params.runId),
    }),
  },
  guards: {
    isParallel: (_, params: { strategy: BusyStrategy }) => params.strategy === 'parallel',
    isFree: ({ context }, params: { others: readonly string[] }) =>
      context.live.length + context.queue.length + params.others.length === 0,
    isReject: (_, params: { strategy: BusyStrategy }) => params.strategy === 'reject',
    isFull: ({ context }) => context.queue.length >= context.queueMax,
    isInterrupt: (_, params: { strategy: BusyStrategy }) => params.strategy === 'interrupt',
    isLast: ({ context }, params: { runId: string }) =>
      [...context.live, ...context.queue].every((runId) => runId === params.runId),
    hasTurn: ({ context }) => context.live.length === 0 && context.queue.length > 0,
  },
});

const asked = { params: ({ event }: { event: Ask }) => event } as const;

const noteOthers = { type: 'noteOthers', ...asked } as const;

const newestOf = ({ live, queue }: SessionContext, { others }: Ask): string =>
  queue.at(-1) ?? others.at(-1) ?? live.at(-1) ?? '';

/** Who is named to the caller of a refused start: somebody who is at work, if anybody is. */
const holderOf = ({ live, queue }: SessionContext, { others }: Ask): string =>
  live[0] ?? others[0] ?? queue[0] ?? '';

const tellAdmitted = sessionSetup.emit(({ event }) => ({
  type: 'session.admitted',
  runId: (event as Ask).runId,
}));

const tellRefused = (because: 'busy' | 'full') =>
  sessionSetup.emit(({ context, event }) => ({
    type: 'session.refused',
    runId: (event as Ask).runId,
    because,
    behind: holderOf(context, event as Ask),
  }));

const tellQueued = sessionSetup.emit(({ context, event }) => ({
  type: 'session.queued',
  runId: (event as Ask).runId,
  behind: newestOf(context, event as Ask),
}));

const supersede = sessionSetup.enqueueActions(({ context, event, enqueue }) => {
  const { runId: by, others } = event as Ask;
  for (const runId of new Set([...context.live, ...others, ...context.queue])) {
    enqueue.emit({ type: 'session.superseded', runId, by });
  }
});

const promoteNext = sessionSetup.enqueueActions(({ context, enqueue }) => {
  const [runId] = context.queue;
  if (runId === undefined) return;
  enqueue.assign({ live: [runId], queue: context.queue.slice(1) });
  enqueue.emit({ type: 'session.admitted', runId });
});

/**
 * Which runs of one session may be at work: all its order, and nothing else of it.
 *
 * SE1. A run is admitted, queued or refused exactly once, in the step that asks, and a queued one is
 *      admitted at most once.
 * SE2. Unless it asked to be parallel, a run is admitted only while no other run of the session lives
 *      (INV-54); parallel ones count as live for all others.
 * SE3. Queued runs are admitted in the order they asked, one at a time.
 * SE4. An interrupt displaces every run before it, waiting ones too, and begins when the last of them
 *      has left.
 * SE5. A run that left, however, never holds up another; leaving twice is nothing.
 * SE6. The session ends with its last run.
 */
export const sessionMachine = sessionSetup.createMachine({
  id: 'session',
  options: { maxIterations: 1_000 },
  context: ({ input }) => ({ ...input, live: [], queue: [] }),
  initial: 'running',
  states: {
    running: {
      on: {
        'session.ask': [
          {
            guard: { type: 'isParallel', ...asked },
            actions: [noteOthers, { type: 'join', ...asked }, tellAdmitted],
          },
          {
            guard: { type: 'isFree', ...asked },
            actions: [{ type: 'join', ...asked }, tellAdmitted],
          },
          {
            guard: { type: 'isReject', ...asked },
            actions: [tellRefused('busy'), noteOthers],
          },
          { guard: 'isFull', actions: [tellRefused('full'), noteOthers] },
          {
            guard: { type: 'isInterrupt', ...asked },
            actions: [tellQueued, supersede, noteOthers, { type: 'wait', ...asked }],
          },
          { actions: [tellQueued, noteOthers, { type: 'wait', ...asked }] },
        ],
        'session.left': [
          { guard: { type: 'isLast', params: ({ event }) => event }, target: 'ended' },
          { actions: [{ type: 'leave', params: ({ event }) => event }] },
        ],
      },
      always: { guard: 'hasTurn', actions: [promoteNext] },
    },
    ended: { type: 'final' },
  },
});
