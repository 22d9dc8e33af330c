import {
  CRASHED,
  TURN_LIMIT,
  callsOf,
  expiryOf,
  failureOf,
  mustEvict,
  outcomeOf,
  stepMs,
  toFailure,
} from './run.rules.ts';
import {
  beginTools,
  closeQueued,
  deadlineCause,
  failWith,
  outputOf,
  pauseStep,
  reapTool,
  resumeStep,
  runSetup,
  stopTools,
  stopWith,
  tellCrashed,
  tellStarted,
  tellStopping,
  tellWork,
  toClaims,
  toToolCall,
} from './run.setup.ts';

/** A part that crashes is a bug; the run ends by the path of any other stop and says so. */
const crashed = {
  target: '#run.stopping',
  actions: [stopWith({ kind: 'error', failure: CRASHED })],
} as const;

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
 * R6. Waiting for a person suspends the step's clock; the total goes on.
 * R7. Every call the model asked for is told as ended, begun or not (INV-37, INV-38); those that the
 *     caller executes are the caller's to end.
 * R8. Tool calls run side by side up to `parallelToolsMax`; the next turn waits for all of them.
 */
export const runMachine = runSetup.createMachine({
  id: 'run',
  options: { maxIterations: 1_000 },
  context: ({ input }) => ({
    ...input,
    turn: 0,
    queued: [],
    open: [],
    waiting: [],
    callerOwes: false,
    work: 'none',
    cause: null,
    notes: [],
    stopGraceMs: input.limits.toolStopGraceMs,
    failure: null,
    settled: true,
  }),
  initial: 'idle',
  states: {
    idle: { on: { 'run.begin': { target: 'working', actions: [tellStarted] } } },
    working: {
      tags: ['claimable'],
      invoke: [
        {
          id: 'claims',
          src: 'claims',
          input: ({ context }) => ({ liveness: context.liveness, first: context.firstClaim }),
          onDone: { target: 'stopping', actions: [stopWith({ kind: 'unclaimed' })] },
          onError: crashed,
        },
        {
          id: 'total',
          src: 'watchDeadline',
          onError: crashed,
          input: ({ context }) => ({
            runId: context.runId,
            which: 'total' as const,
            ms: context.limits.totalMs,
          }),
        },
      ],
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
        'claim.attach': { actions: [toClaims] },
        'claim.detach': { actions: [toClaims] },
      },
      initial: 'preparing',
      states: {
        preparing: {
          tags: ['preparing'],
          entry: [{ type: 'keepWork', params: { work: 'setup' } }],
          invoke: [
            {
              id: 'prepareRun',
              src: 'prepareRun',
              input: ({ context }) => ({ runId: context.runId }),
              onDone: {
                target: 'stepping',
                actions: [{ type: 'keepWork', params: { work: 'none' } }],
              },
              onError: {
                target: '#run.settling',
                actions: [
                  { type: 'keepWork', params: { work: 'none' } },
                  {
                    type: 'keepFailure',
                    params: ({ event }) => ({ failure: toFailure(event.error) }),
                  },
                ],
              },
            },
            {
              id: 'setup',
              src: 'watchDeadline',
              onError: crashed,
              input: ({ context }) => ({
                runId: context.runId,
                which: 'setup' as const,
                ms: context.limits.setupMs,
              }),
            },
          ],
        },
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
            turning: {
              entry: [{ type: 'keepWork', params: { work: 'model' } }],
              invoke: {
                id: 'turn',
                src: 'turn',
                input: ({ context }) => ({
                  runId: context.runId,
                  turn: context.turn,
                  limits: context.limits,
                }),
                onDone: [
                  {
                    guard: { type: 'isAnswered', ...outputOf },
                    target: '#run.settling',
                    actions: [{ type: 'keepWork', params: { work: 'none' } }],
                  },
                  {
                    guard: { type: 'isFailed', ...outputOf },
                    target: '#run.settling',
                    actions: [
                      { type: 'keepWork', params: { work: 'none' } },
                      {
                        type: 'keepFailure',
                        params: ({ event }) => ({ failure: failureOf(event.output) }),
                      },
                    ],
                  },
                  {
                    guard: { type: 'isExpired', ...outputOf },
                    target: '#run.stopping',
                    actions: [
                      {
                        type: 'keepCause',
                        params: ({ event }) => ({
                          cause: expiryOf(event.output),
                          graceMs: undefined,
                        }),
                      },
                    ],
                  },
                  {
                    guard: 'hasTurnsLeft',
                    target: 'acting',
                    actions: [
                      { type: 'keepWork', params: { work: 'none' } },
                      {
                        type: 'keepCalls',
                        params: ({ event }) => ({ calls: callsOf(event.output) }),
                      },
                    ],
                  },
                  {
                    target: '#run.settling',
                    actions: [
                      { type: 'keepWork', params: { work: 'none' } },
                      {
                        type: 'keepCalls',
                        params: ({ event }) => ({ calls: callsOf(event.output) }),
                      },
                      closeQueued,
                      failWith(TURN_LIMIT),
                    ],
                  },
                ],
                onError: crashed,
              },
            },
            acting: {
              entry: [beginTools],
              on: {
                'xstate.done.actor.*': {
                  guard: { type: 'isTool', params: ({ event }) => event },
                  actions: [reapTool, beginTools],
                },
                'xstate.error.actor.*': {
                  guard: { type: 'isTool', params: ({ event }) => event },
                  actions: [tellCrashed, reapTool, beginTools],
                },
                'xstate.snapshot.*': {
                  actions: [{ type: 'keepWaiting', params: ({ event }) => event }],
                },
                'approval.decide': {
                  guard: { type: 'isOpen', params: ({ event }) => event },
                  actions: [toToolCall],
                },
              },
              always: [
                {
                  guard: 'callerMustAnswer',
                  target: '#run.settling',
                  actions: [stopWith({ kind: 'client_tool' })],
                },
                { guard: 'areCallsDone', target: '#run.working.betweenSteps' },
              ],
              initial: 'executing',
              states: {
                executing: { always: { guard: 'hasWaiting', target: 'awaitingPerson' } },
                awaitingPerson: {
                  tags: ['input-required'],
                  entry: [pauseStep],
                  exit: [resumeStep],
                  always: { guard: 'isNobodyAsked', target: 'executing' },
                },
              },
            },
          },
        },
        // Left and entered again, so that each step has a fresh clock (INV-30).
        betweenSteps: { always: { target: 'stepping' } },
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
