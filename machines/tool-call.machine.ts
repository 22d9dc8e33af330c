import type { ChildEnded } from './tool-call.contract.ts';
import {
  askClosing,
  askNotice,
  askQuestion,
  cancelApproval,
  cancelQuestions,
  forwardDecision,
  forwardToQuestion,
  giveUpNotice,
  giveUpWithdrawals,
  keepCauseOf,
  keepOutcome,
  outcome,
  reapQuestion,
  reapWithdrawal,
  refOf,
  refusedByCrash,
  required,
  retractQuestion,
  settleNotice,
  status,
  tellApproval,
  tellClosed,
  tellEnded,
  tellTool,
  toolCallSetup,
  withdrawGate,
} from './tool-call.setup.ts';

const wasTold = (event: ChildEnded): boolean => 'output' in event && event.output === true;

const ofQuestion = {
  guard: { type: 'isOfQuestion', params: ({ event }: { event: ChildEnded }) => event },
  actions: [reapQuestion],
} as const;

const ofWithdrawal = { actions: [reapWithdrawal(wasTold)] } as const;

/**
 * One use of a tool.
 *
 * TC1. The gate comes before the run: a gated call executes only after its approval ended in
 *      `approved`, and a forbidden one never.
 * TC2. At most one execution: `executeTool` is invoked by exactly one state, entered at most once.
 * TC3. Every path ends, also with a tool that ignores its signal: it is abandoned after its grace
 *      and its effect is told to be unknown (INV-17).
 * TC4. `toolCall.ended` is told exactly once, and nothing after it.
 * TC5. A tool's own deadline ends the tool call alone (INV-31); waiting for a person does not count
 *      against it, and it begins anew when the executor's last question is answered.
 * TC6. A stop while a person is asked cancels the approval and runs nothing.
 * TC7. Whoever executes the call may ask people while it runs, and take a question back. When it is over,
 *      so are its questions.
 * TC8. A webhook that was asked and did not answer is told so once, within a bound, before the call
 *      ends: nobody is left in front of a question that nobody waits for.
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
    questions: [],
    withdrawals: [],
    closingAsked: false,
  }),
  initial: 'idle',
  on: {
    'xstate.done.actor.*': [ofQuestion, ofWithdrawal],
    'xstate.error.actor.*': [ofQuestion, ofWithdrawal],
  },
  states: {
    idle: {
      on: {
        'toolCall.begin': [
          { guard: 'isForbidden', target: 'ended', actions: [status('denied')] },
          { guard: 'isGated', target: 'gated' },
          { target: 'running' },
        ],
        'toolCall.stop': { target: 'ended', actions: [keepCauseOf] },
      },
    },
    gated: {
      tags: ['gated', 'input-required'],
      invoke: {
        id: 'approval',
        src: 'approval',
        input: ({ context }) => ({
          runId: context.runId,
          request: required(context.call.approval),
        }),
        onDone: [
          {
            guard: { type: 'mayRun', ...outcome },
            target: 'running',
            actions: [keepOutcome, withdrawGate],
          },
          {
            target: 'closing',
            actions: [
              { type: 'keepRefusal', ...outcome },
              tellApproval('obligation.confirmed'),
              withdrawGate,
            ],
          },
        ],
        onError: { target: 'closing', actions: [refusedByCrash, withdrawGate] },
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
            target: 'closing',
            actions: [status('failed')],
          },
          { target: 'closing', actions: [status('completed')] },
        ],
        onError: { target: 'closing', actions: [status('failed')] },
      },
      on: {
        'toolCall.ask': {
          guard: { type: 'isNew', params: ({ event }) => event },
          target: '.asking',
          actions: [askQuestion],
        },
        'approval.decide': {
          guard: { type: 'isQuestion', params: ({ event }) => event },
          actions: [forwardToQuestion],
        },
        'toolCall.retract': {
          guard: { type: 'isQuestion', params: ({ event }) => event },
          actions: [retractQuestion],
        },
        'toolCall.stop': { target: 'stopping', actions: [keepCauseOf] },
      },
      initial: 'working',
      states: {
        working: {
          after: { startToClose: { target: '#toolCall.stopping', actions: [status('timed_out')] } },
        },
        asking: {
          tags: ['input-required'],
          always: { guard: 'isNobodyAsked', target: 'working' },
        },
      },
    },
    stopping: {
      tags: ['in-flight', 'stopping'],
      entry: [cancelQuestions, tellTool('obligation.asked'), askNotice],
      invoke: [
        {
          id: 'awaitToolStop',
          src: 'awaitToolStop',
          input: ({ context }) => refOf(context),
          onDone: { target: 'closing', actions: [tellTool('obligation.confirmed')] },
          onError: { target: 'closing', actions: ['giveUp', tellTool('obligation.abandoned')] },
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
        stopGrace: { target: 'closing', actions: ['giveUp', tellTool('obligation.abandoned')] },
      },
      exit: [giveUpNotice],
    },
    // The tool is over, or never ran; whom it asked is still to be told.
    closing: {
      tags: ['closing'],
      entry: [cancelQuestions],
      always: { guard: 'isQuiet', target: 'ended', actions: [tellClosed('obligation.confirmed')] },
      on: {
        // Entered again, so that the stop's patience counts.
        'toolCall.stop': {
          guard: 'isFirstStop',
          target: 'closing',
          reenter: true,
          actions: [keepCauseOf, askClosing],
        },
      },
      after: {
        noticeBound: {
          target: 'ended',
          actions: [giveUpWithdrawals, tellClosed('obligation.abandoned')],
        },
      },
    },
    ended: { type: 'final', entry: [tellEnded] },
  },
  output: ({ context }) => ({ id: context.call.id, status: context.status }),
});
