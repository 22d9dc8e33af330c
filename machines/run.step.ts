import { expiryOf, failureOf, toFailure, TURN_LIMIT } from './run.rules.ts';
import {
  beginTools,
  closeQueued,
  crashed,
  dropTools,
  failWith,
  keepCallsOf,
  keepResumed,
  outputOf,
  reapTool,
  runSetup,
  stopWith,
  tellClocks,
  tellCrashed,
  toToolCall,
  workDone,
} from './run.setup.ts';

/** Connects what the run needs. A run that is to park gives that up at once. */
export const preparing = runSetup.createStateConfig({
  tags: ['preparing'],
  entry: [{ type: 'keepWork', params: { work: 'setup' } }],
  always: { guard: 'mustPark', target: '#run.stopping', actions: ['endParked'] },
  invoke: [
    {
      id: 'prepareRun',
      src: 'prepareRun',
      input: ({ context }) => ({ runId: context.runId }),
      onDone: [
        {
          guard: 'hasResumedCalls',
          target: '#run.live.work.begun.stepping.acting',
          actions: [workDone, keepResumed],
        },
        { target: 'stepping', actions: [workDone] },
      ],
      onError: {
        target: '#run.settling',
        actions: [
          workDone,
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
});

/** One exchange with the model. */
export const turning = runSetup.createStateConfig({
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
        actions: [workDone],
      },
      {
        guard: { type: 'isFailed', ...outputOf },
        target: '#run.settling',
        actions: [
          workDone,
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
        guard: { type: 'mustParkBeforeCalls', ...outputOf },
        target: '#run.settling',
        actions: [workDone, keepCallsOf, dropTools, 'endParked'],
      },
      {
        guard: 'hasTurnsLeft',
        target: 'acting',
        actions: [workDone, keepCallsOf],
      },
      {
        target: '#run.settling',
        actions: [workDone, keepCallsOf, failWith(TURN_LIMIT), closeQueued],
      },
    ],
    onError: crashed,
  },
});

/** The tools that the model asked for, those that wait for a person included. */
export const acting = runSetup.createStateConfig({
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
      actions: [{ type: 'keepStanding', params: ({ event }) => event }],
    },
    'approval.decide': {
      guard: { type: 'isOpen', params: ({ event }) => event },
      actions: [toToolCall],
    },
    'toolCall.ask': {
      guard: { type: 'isOpen', params: ({ event }) => event },
      actions: [toToolCall],
    },
    'toolCall.retract': {
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
    { guard: 'mustPark', target: '#run.settling', actions: [dropTools, 'endParked'] },
    { guard: 'areCallsDone', target: '#run.live.work.begun.betweenSteps' },
  ],
  initial: 'executing',
  states: {
    executing: { always: { guard: 'hasWaiting', target: 'awaitingPerson' } },
    awaitingPerson: {
      tags: ['input-required'],
      entry: [tellClocks('deadline.pause')],
      exit: [tellClocks('deadline.resume')],
      always: { guard: 'isNobodyAsked', target: 'executing' },
    },
  },
});
