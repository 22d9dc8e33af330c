import { assign, setup, type AnyActorRef, type DoneActorEvent, type ErrorActorEvent } from 'xstate';
import { mcpServerMachine } from './mcp-server.machine.ts';
import { poolOf, type PoolChanged } from './pool.ts';
import type { RunEvent, RunInput } from './run.contract.ts';
import { runMachine } from './run.machine.ts';
import { sessionMachine, type SessionEvent } from './session.machine.ts';
import {
  shutdownMachine,
  type ShutdownInput,
  type ShutdownOutput,
  type ShutdownSignal,
} from './shutdown.machine.ts';

export interface SupervisorInput {
  readonly runsMax: number;
  /** Runs that may wait for one session. */
  readonly queueMax: number;
  readonly shutdown: ShutdownInput;
  /** A deaf tool must not turn a clean stop into an abort, so drain waits for it less long. */
  readonly drainToolGraceMs: number;
}

export type SupervisorEvent =
  | { type: 'supervisor.begin' }
  /** `waits`: its session is busy. `tenant`: how many runs of its tenant live, and how many may. */
  | {
      type: 'run.submit';
      input: RunInput;
      waits: boolean;
      tenant: { readonly live: number; readonly max: number };
    }
  | { type: 'session.tell'; sessionKey: string; event: SessionEvent }
  | { type: 'run.tell'; runId: string; event: RunEvent }
  /** An HTTP request came or went; shutdown waits for those in flight. */
  | { type: 'request.begin' }
  | { type: 'request.end' }
  | { type: 'shutdown.signal'; signal: ShutdownSignal };

export type SupervisorEmitted =
  | { type: 'run.admitted'; runId: string }
  | { type: 'run.rejected'; runId: string; reason: RejectedBecause };

export type RejectedBecause = 'full' | 'tenantFull' | 'draining';

export interface PhaseSnapshot {
  type: `xstate.snapshot.${string}`;
  snapshot: { hasTag(tag: 'gated' | 'draining' | 'aborting' | 'flushing'): boolean };
}

export interface SupervisorContext extends SupervisorInput {
  readonly live: number;
  readonly requests: number;
  readonly outcome: ShutdownOutput | null;
}

export type SystemEvent = DoneActorEvent | ErrorActorEvent | PoolChanged | PhaseSnapshot;

const supervisorSetup = setup({
  types: {
    context: {} as SupervisorContext,
    input: {} as SupervisorInput,
    events: {} as SupervisorEvent | SystemEvent,
    emitted: {} as SupervisorEmitted,
    output: {} as ShutdownOutput,
    tags: {} as 'accepting',
  },
  actors: {
    runs: poolOf('runs', runMachine),
    sessions: poolOf('sessions', sessionMachine),
    mcpServers: poolOf('mcpServers', mcpServerMachine),
    shutdown: shutdownMachine,
  },
  actions: {
    keepLive: assign({ live: (_, params: { live: number }) => params.live }),
    addRequest: assign({ requests: ({ context }) => context.requests + 1 }),
    dropRequest: assign({ requests: ({ context }) => Math.max(0, context.requests - 1) }),
    keepOutcome: assign({ outcome: (_, params: { outcome: ShutdownOutput }) => params.outcome }),
  },
  guards: {
    isFull: ({ context }) => context.live >= context.runsMax,
    isTenantFull: (_, params: { tenant: { live: number; max: number } }) =>
      params.tenant.max > 0 && params.tenant.live >= params.tenant.max,
    isAsk: (_, params: { event: SessionEvent }) => params.event.type === 'session.ask',
    isOfRuns: (_, params: { pool: string }) => params.pool === 'runs',
    isGated: (_, params: PhaseSnapshot) => params.snapshot.hasTag('gated'),
    isDraining: (_, params: PhaseSnapshot) => params.snapshot.hasTag('draining'),
    isAborting: (_, params: PhaseSnapshot) => params.snapshot.hasTag('aborting'),
    isFlushing: (_, params: PhaseSnapshot) => params.snapshot.hasTag('flushing'),
  },
});

const admit = supervisorSetup.enqueueActions(({ event, enqueue }) => {
  const { input, waits } = event as Extract<SupervisorEvent, { type: 'run.submit' }>;
  enqueue.emit({ type: 'run.admitted', runId: input.runId });
  enqueue.sendTo(
    'runs' as never,
    {
      type: 'pool.spawn',
      id: input.runId,
      input,
      begin: { type: waits ? 'run.queue' : 'run.begin' },
    } as never,
  );
});

const reject = (reason: RejectedBecause) =>
  supervisorSetup.emit(({ event }) => ({
    type: 'run.rejected',
    runId: (event as Extract<SupervisorEvent, { type: 'run.submit' }>).input.runId,
    reason,
  }));

const tellRun = supervisorSetup.sendTo('runs' as never, ({ event }) => {
  const { runId, event: told } = event as Extract<SupervisorEvent, { type: 'run.tell' }>;
  return { type: 'pool.tell', id: runId, event: told } as never;
});

type SessionTell = Extract<SupervisorEvent, { type: 'session.tell' }>;

/** The first run that asks for a session's order brings its chart into being. */
const askSession = supervisorSetup.sendTo('sessions' as never, ({ context, event }) => {
  const { sessionKey, event: ask } = event as SessionTell;
  const input = { queueMax: context.queueMax };
  return { type: 'pool.ask', id: sessionKey, input, event: ask } as never;
});

const tellSession = supervisorSetup.sendTo('sessions' as never, ({ event }) => {
  const { sessionKey, event: told } = event as SessionTell;
  return { type: 'pool.tell', id: sessionKey, event: told } as never;
});

const stopRuns = supervisorSetup.sendTo(
  'runs' as never,
  ({ context }) =>
    ({
      type: 'pool.tellAll',
      event: {
        type: 'run.stop',
        cause: { kind: 'shutdown' },
        graceMs: context.drainToolGraceMs,
      },
    }) as never,
);

const abortRuns = supervisorSetup.sendTo('runs' as never, { type: 'pool.stopAll' } as never);

const tellLoad = supervisorSetup.sendTo(
  'shutdown' as never,
  ({ context }) => ({ type: 'shutdown.load', inFlight: context.live + context.requests }) as never,
);

const toShutdown = supervisorSetup.sendTo('shutdown' as never, ({ event }) => event as never);

const parentOf = ({ self }: { self: AnyActorRef }) => ({ parent: self });

const PHASES = {
  gated: 'isGated',
  draining: 'isDraining',
  aborting: 'isAborting',
  flushing: 'isFlushing',
} as const;

/** A phase only looks ahead, so that each is entered once however often shutdown tells of it. */
const follow = (...phases: (keyof typeof PHASES)[]) =>
  phases.map((phase) => ({
    guard: {
      type: PHASES[phase],
      params: ({ event }: { event: PhaseSnapshot }) => event,
    },
    target: `#supervisor.active.${phase}` as const,
  }));

const CRASHED: ShutdownOutput = { cleanShutdown: false, unabortedTasks: true, second: null };

const crash = {
  target: '#supervisor.stopped',
  actions: [{ type: 'keepOutcome', params: { outcome: CRASHED } }],
} as const;

/**
 * Owns every live run, every pooled connection and the way out.
 *
 * SU1. A run is admitted only while accepting and below `runsMax`; a refusal is told, never silent.
 * SU2. Every child that ends is reaped, and a run that crashes takes no sibling with it.
 * SU3. Shutdown hears of every change of what is in flight, so that it leaves early (SD2).
 * SU4. Draining asks every run to stop, aborting stops every run, each exactly once.
 * SU5. A session's order is kept by its own chart, which is there while a run that asked for one, or
 *      one it had to reckon with, has not left.
 */
export const supervisorMachine = supervisorSetup.createMachine({
  id: 'supervisor',
  options: { maxIterations: 1_000 },
  context: ({ input }) => ({ ...input, live: 0, requests: 0, outcome: null }),
  initial: 'idle',
  states: {
    idle: {
      on: {
        'supervisor.begin': { target: 'active' },
        'run.submit': { actions: [reject('draining')] },
      },
    },
    active: {
      invoke: [
        { id: 'runs', src: 'runs', input: parentOf, onError: crash },
        { id: 'sessions', src: 'sessions', input: parentOf, onError: crash },
        { id: 'mcpServers', src: 'mcpServers', input: parentOf, onError: crash },
        {
          id: 'shutdown',
          src: 'shutdown',
          input: ({ context }) => context.shutdown,
          onSnapshot: {}, // The phases below read it; without this XState sends none.
          onDone: {
            target: 'stopped',
            actions: [{ type: 'keepOutcome', params: ({ event }) => ({ outcome: event.output }) }],
          },
          onError: crash,
        },
      ],
      on: {
        'run.submit': { actions: [reject('draining')] },
        'run.tell': { actions: [tellRun] },
        'session.tell': [
          { guard: { type: 'isAsk', params: ({ event }) => event }, actions: [askSession] },
          { actions: [tellSession] },
        ],
        'pool.changed': {
          guard: { type: 'isOfRuns', params: ({ event }) => event },
          actions: [{ type: 'keepLive', params: ({ event }) => event }, tellLoad],
        },
        'request.begin': { actions: ['addRequest', tellLoad] },
        'request.end': { actions: ['dropRequest', tellLoad] },
        'shutdown.signal': { actions: [toShutdown] },
      },
      initial: 'accepting',
      states: {
        accepting: {
          tags: ['accepting'],
          on: {
            'run.submit': [
              { guard: 'isFull', actions: [reject('full')] },
              {
                guard: { type: 'isTenantFull', params: ({ event }) => event },
                actions: [reject('tenantFull')],
              },
              { actions: [admit] },
            ],
            'xstate.snapshot.*': follow('gated', 'draining', 'aborting', 'flushing'),
          },
        },
        gated: { on: { 'xstate.snapshot.*': follow('draining', 'aborting', 'flushing') } },
        draining: {
          entry: [stopRuns],
          on: { 'xstate.snapshot.*': follow('aborting', 'flushing') },
        },
        aborting: {
          entry: [abortRuns],
          on: { 'xstate.snapshot.*': follow('flushing') },
        },
        flushing: {},
      },
    },
    stopped: { type: 'final' },
  },
  output: ({ context }) => context.outcome ?? CRASHED,
});
