import { parking } from './run.parking.ts';
import { mustEvict, outcomeOf, stepMs, turnBefore } from './run.rules.ts';
import {
  closeQueued,
  crashed,
  deadlineCause,
  parkUnclaimed,
  reapTool,
  runSetup,
  stopTools,
  stopWith,
  tellCrashed,
  tellQueued,
  tellStarted,
  tellStopping,
  tellWork,
  toClaims,
} from './run.setup.ts';
import { acting, preparing, turning } from './run.step.ts';

/**
 * One unit of work in a session, from prompt to exactly one terminal event.
 *
 * R1. The first cause wins (INV-33): nothing changes it once a stop has begun; later ones are notes.
 * R2. After a stop has begun no turn, attempt or tool starts (INV-18, INV-19).
 * R3. Each open obligation is asked, then confirmed or abandoned within its bound, before the run
 *     settles.
 * R4. `settleRun` is invoked by exactly one state, entered exactly once; a stop that arrives there
 *     is a note and changes nothing (INV-35, INV-47).
 * R5. What was taken is released whatever happened before, and the run ends even if that hangs
 *     (INV-48, INV-49).
 * R6. Waiting for a person suspends the step's clock; the total goes on unless it is configured to wait
 *     too.
 * R7. Every call the model asked for is told as ended, begun or not (INV-37, INV-38); those that the
 *     caller executes are the caller's to end.
 * R8. Tool calls run side by side up to `parallelToolsMax`; the next turn waits for all of them.
 * R9. A run that is asked to park begins no tool, turn or attempt after its next checkpoint: before it
 *     began, after a turn that asked for tools, when all tools have ended, or when all that are open
 *     wait for a person. What it leaves open is told by whoever goes on with it.
 * R10. Parking is bounded; a run that comes to no checkpoint in time is cancelled with the cause that
 *     asked for it. Any other stop meanwhile counts at once.
 * R11. A run that waits for its session has not started: no deadline of it runs, but its claims count.
 * R12. A resumed run begins where its checkpoint was: with the calls that had no result, or with the
 *     turn after them, which counts on.
 */
export const runMachine = runSetup.createMachine({
  id: 'run',
  options: { maxIterations: 1_000 },
  context: ({ input }) => ({
    ...input,
    turn: turnBefore(input),
    queued: [],
    open: [],
    standing: {},
    callerOwes: false,
    work: 'none',
    cause: null,
    claimsDecided: false,
    parking: null,
    parkMs: input.limits.parkMs,
    parked: false,
    notes: [],
    stopGraceMs: input.limits.toolStopGraceMs,
    failure: null,
    settled: true,
  }),
  initial: 'idle',
  states: {
    idle: {
      on: {
        'run.begin': { target: '#run.live.work.begun', actions: [tellStarted] },
        'run.queue': { target: 'live', actions: [tellQueued] },
      },
    },
    live: {
      type: 'parallel',
      invoke: {
        id: 'claims',
        src: 'claims',
        input: ({ context }) => ({ liveness: context.liveness, first: context.firstClaim }),
        onDone: [
          {
            guard: { type: 'isUnclaimed', params: ({ event }) => event.output },
            target: 'stopping',
            actions: [stopWith({ kind: 'unclaimed' })],
          },
          { actions: ['endClaims', parkUnclaimed] },
        ],
        onError: crashed,
      },
      on: {
        'run.stop': {
          target: 'stopping',
          actions: [
            {
              type: 'keepCause',
              params: ({ event }) => ({ cause: event.cause, graceMs: event.graceMs }),
            },
          ],
        },
        'deadline.reached': { target: 'stopping', actions: [deadlineCause] },
        'claim.attach': { guard: 'heedsClaims', actions: [toClaims] },
        'claim.detach': { guard: 'heedsClaims', actions: [toClaims] },
      },
      states: {
        work: {
          initial: 'queued',
          states: {
            queued: {
              tags: ['queued'],
              on: { 'run.begin': { target: 'begun', actions: [tellStarted] } },
              always: { guard: 'mustPark', target: '#run.settling', actions: ['endParked'] },
            },
            begun: {
              invoke: {
                id: 'total',
                src: 'watchDeadline',
                onError: crashed,
                input: ({ context }) => ({
                  runId: context.runId,
                  which: 'total' as const,
                  ms: context.limits.totalMs,
                }),
              },
              initial: 'preparing',
              states: {
                preparing,
                stepping: {
                  tags: ['running'],
                  entry: ['countTurn'],
                  invoke: {
                    id: 'step',
                    src: 'watchDeadline',
                    onError: crashed,
                    input: ({ context }) => ({
                      runId: context.runId,
                      which: 'step' as const,
                      ms: stepMs(context.limits),
                    }),
                  },
                  initial: 'turning',
                  states: {
                    turning,
                    acting,
                  },
                },
                // Left and entered again, so that each step has a fresh clock (INV-30).
                betweenSteps: { always: { target: 'stepping' } },
              },
            },
          },
        },
        parking,
      },
    },
    stopping: {
      tags: ['stopping'],
      entry: [tellStopping, tellWork('obligation.asked'), stopTools, closeQueued],
      invoke: {
        id: 'closeWork',
        src: 'closeWork',
        input: ({ context }) => ({ runId: context.runId, work: context.work }),
        onDone: { actions: [tellWork('obligation.confirmed')] },
        onError: { actions: [tellWork('obligation.abandoned')] },
      },
      on: {
        'xstate.done.actor.*': {
          guard: { type: 'isTool', params: ({ event }) => event },
          actions: [reapTool],
        },
        'xstate.error.actor.*': {
          guard: { type: 'isTool', params: ({ event }) => event },
          actions: [tellCrashed, reapTool],
        },
        'run.stop': { actions: [{ type: 'noteCause', params: ({ event }) => event }] },
      },
      after: { closeBound: { actions: [tellWork('obligation.abandoned')] } },
      always: { guard: 'isQuiet', target: 'settling' },
    },
    settling: {
      tags: ['settling'],
      invoke: {
        id: 'settleRun',
        src: 'settleRun',
        input: ({ context }) => ({
          runId: context.runId,
          outcome: outcomeOf(context),
          notes: context.notes,
        }),
        onDone: { target: 'releasing' },
        onError: { target: 'releasing', actions: ['loseStore'] },
      },
      on: { 'run.stop': { actions: [{ type: 'noteCause', params: ({ event }) => event }] } },
      after: { settleBound: { target: 'releasing', actions: ['loseStore'] } },
    },
    releasing: {
      tags: ['settling'],
      invoke: {
        id: 'releaseRun',
        src: 'releaseRun',
        input: ({ context }) => ({ runId: context.runId, evict: mustEvict(context) }),
        onDone: { target: 'ended' },
        onError: { target: 'ended' },
      },
      after: { releaseBound: { target: 'ended' } },
    },
    ended: { type: 'final' },
  },
  output: ({ context }) => ({ outcome: outcomeOf(context), settled: context.settled }),
});
