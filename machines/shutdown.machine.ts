import { assign, setup, type DoneActorEvent, type ErrorActorEvent } from 'xstate';
import { promisePort } from './ports.ts';

export interface ShutdownInput {
  /** How long requests in flight may go on undisturbed; 0 means no grace. */
  readonly graceMs: number;
  /** How long what was told to stop may take. */
  readonly drainMs: number;
  /** How long the abort of stragglers may take. */
  readonly abortMs: number;
  /** How long logs, metrics and the journal may take to be flushed. */
  readonly flushMs: number;
}

export type ShutdownSignal = 'SIGINT' | 'SIGTERM';

export type ShutdownEvent =
  | { type: 'shutdown.signal'; signal: ShutdownSignal }
  /** How many runs and requests are in flight, told at every change. */
  | { type: 'shutdown.load'; inFlight: number };

export type ShutdownEmitted =
  | { type: 'shutdown.gated'; signal: ShutdownSignal; graceMs: number; inFlight: number }
  | { type: 'shutdown.draining'; inFlight: number }
  | { type: 'shutdown.aborting'; inFlight: number }
  | { type: 'shutdown.completed'; cleanShutdown: boolean; unabortedTasks: boolean };

export interface ShutdownOutput {
  readonly cleanShutdown: boolean;
  readonly unabortedTasks: boolean;
  /** The signal that came while the first one was still being served. */
  readonly second: ShutdownSignal | null;
}

export interface ShutdownContext extends ShutdownInput {
  readonly inFlight: number;
  readonly aborted: boolean;
  readonly unaborted: boolean;
  readonly first: ShutdownSignal;
  readonly second: ShutdownSignal | null;
}

export type ChildEnded = DoneActorEvent | ErrorActorEvent;

const shutdownSetup = setup({
  types: {
    context: {} as ShutdownContext,
    input: {} as ShutdownInput,
    events: {} as ShutdownEvent | ChildEnded,
    emitted: {} as ShutdownEmitted,
    output: {} as ShutdownOutput,
    tags: {} as 'accepting' | 'gated' | 'draining' | 'aborting' | 'flushing',
  },
  actors: { flushAll: promisePort<void, Record<string, never>>('flushAll') },
  actions: {
    keepLoad: assign({ inFlight: (_, params: { inFlight: number }) => params.inFlight }),
    keepFirst: assign({ first: (_, params: { signal: ShutdownSignal }) => params.signal }),
    keepSecond: assign({
      second: ({ context }, params: { signal: ShutdownSignal }) => context.second ?? params.signal,
    }),
    markAborted: assign({ aborted: true }),
    markUnaborted: assign({ unaborted: true }),
  },
  guards: { isIdle: ({ context }) => context.inFlight === 0 },
  delays: {
    grace: ({ context }) => context.graceMs,
    drain: ({ context }) => context.drainMs,
    abort: ({ context }) => context.abortMs,
    flush: ({ context }) => context.flushMs,
  },
});

const tellGated = shutdownSetup.emit(({ context }) => ({
  type: 'shutdown.gated',
  signal: context.first,
  graceMs: context.graceMs,
  inFlight: context.inFlight,
}));

const tell = (type: 'shutdown.draining' | 'shutdown.aborting') =>
  shutdownSetup.emit(({ context }) => ({ type, inFlight: context.inFlight }));

const tellCompleted = shutdownSetup.emit(({ context }) => ({
  type: 'shutdown.completed',
  cleanShutdown: !context.aborted,
  unabortedTasks: context.unaborted,
}));

const secondSignal = {
  target: 'aborting',
  actions: [
    {
      type: 'keepSecond',
      params: ({ event }: { event: Extract<ShutdownEvent, { type: 'shutdown.signal' }> }) => event,
    },
  ],
} as const;

/**
 * How the process leaves: gate, grace, drain, abort, flush.
 *
 * SD1. From the first signal on nothing new is admitted, and that never changes back.
 * SD2. With nothing in flight every waiting phase is left at once.
 * SD3. Each phase is bounded, so the process ends whatever hangs.
 * SD4. A second signal goes straight to aborting.
 * SD5. `cleanShutdown` is false exactly when something had to be aborted.
 */
export const shutdownMachine = shutdownSetup.createMachine({
  id: 'shutdown',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    ...input,
    inFlight: 0,
    aborted: false,
    unaborted: false,
    first: 'SIGTERM',
    second: null,
  }),
  initial: 'serving',
  on: { 'shutdown.load': { actions: [{ type: 'keepLoad', params: ({ event }) => event }] } },
  states: {
    serving: {
      tags: ['accepting'],
      on: {
        'shutdown.signal': {
          target: 'gated',
          actions: [{ type: 'keepFirst', params: ({ event }) => event }],
        },
      },
    },
    gated: {
      tags: ['gated'],
      entry: [tellGated],
      always: { guard: 'isIdle', target: 'flushing' },
      after: { grace: { target: 'draining' } },
      on: { 'shutdown.signal': secondSignal },
    },
    draining: {
      tags: ['draining'],
      entry: [tell('shutdown.draining')],
      always: { guard: 'isIdle', target: 'flushing' },
      after: { drain: { target: 'aborting' } },
      on: { 'shutdown.signal': secondSignal },
    },
    aborting: {
      tags: ['aborting'],
      entry: ['markAborted', tell('shutdown.aborting')],
      always: { guard: 'isIdle', target: 'flushing' },
      after: { abort: { target: 'flushing', actions: ['markUnaborted'] } },
      on: {
        'shutdown.signal': { actions: [{ type: 'keepSecond', params: ({ event }) => event }] },
      },
    },
    flushing: {
      tags: ['flushing'],
      entry: [tellCompleted],
      invoke: {
        id: 'flushAll',
        src: 'flushAll',
        input: {},
        onDone: { target: 'stopped' },
        onError: { target: 'stopped' },
      },
      after: { flush: { target: 'stopped' } },
      on: {
        'shutdown.signal': {
          target: 'stopped',
          actions: [{ type: 'keepSecond', params: ({ event }) => event }],
        },
      },
    },
    stopped: { type: 'final' },
  },
  output: ({ context }) => ({
    cleanShutdown: !context.aborted,
    unabortedTasks: context.unaborted,
    second: context.second,
  }),
});
