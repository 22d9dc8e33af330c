import type { Mutant } from '../mutant.ts';

const setup = 'machines/run.setup.ts';
const rules = 'machines/run.rules.ts';
const step = 'machines/run.step.ts';

/** Turns, calls, clocks, parking and resuming of a run. */
export const RUN_MUTANTS: readonly Mutant[] = [
  {
    name: 'run-one-turn-too-many',
    says: 'an agent takes one more turn than it may',
    file: setup,
    edits: [
      [
        'context.turn < context.limits.turnsMax,\n    /**',
        'context.turn <= context.limits.turnsMax,\n    /**',
      ],
    ],
  },
  {
    name: 'run-parallel-bound-ignored',
    core: true,
    says: 'all calls of a turn run at once',
    file: setup,
    edits: [
      [
        'context.queued.slice(0, Math.max(0, places))',
        'context.queued.slice(0, Math.max(99, places))',
      ],
    ],
  },
  {
    name: 'run-executes-calls-of-the-caller',
    says: "a call that is the caller's is executed here",
    file: setup,
    edits: [
      [
        "params.calls.filter((call) => call.kind !== 'client')",
        'params.calls.filter((call) => call.kind !== undefined)',
      ],
    ],
  },
  {
    name: 'run-begins-call-while-parking',
    core: true,
    says: 'a run that is asked to park begins another call',
    file: setup,
    edits: [['  if (context.parking !== null) return;\n', '']],
  },
  {
    name: 'run-parks-without-checkpoint',
    core: true,
    says: 'a run is parked while a tool is at work, which nobody can go on with',
    file: rules,
    edits: [
      [
        "open.every(({ id }) => standing[id] === 'gated')",
        "open.every(({ id }) => standing[id] !== 'asking')",
      ],
    ],
  },
  {
    name: 'run-parks-with-open-question',
    says: 'a run is parked while a tool that runs asks a person',
    file: rules,
    edits: [
      [
        "open.every(({ id }) => standing[id] === 'gated')",
        "open.every(({ id }) => standing[id] === 'gated' || standing[id] === 'asking')",
      ],
    ],
  },
  {
    name: 'run-park-without-bound',
    says: 'a run that comes to no checkpoint is never cancelled',
    file: 'machines/run.parking.ts',
    edits: [
      ["      after: { parkBound: { target: '#run.stopping', actions: [stopUnparked] } },\n", ''],
    ],
  },
  {
    name: 'run-shutdown-cancels-what-could-park',
    says: 'a shutdown cancels a run that was to be parked',
    file: setup,
    edits: [
      [
        "params.cause.kind === 'shutdown' && context.liveness.policy === 'park'",
        "params.cause.kind === 'error' && context.liveness.policy === 'park'",
      ],
    ],
  },
  {
    name: 'run-resumed-turn-counted-from-0',
    core: true,
    says: 'a resumed run may take all its turns again',
    file: rules,
    edits: [['return resume.calls.length > 0 ? resume.turn - 1 : resume.turn;', 'return 0;']],
  },
  {
    name: 'run-resumed-step-counts-twice',
    says: 'a run that is resumed inside a step is one turn further than it was',
    file: rules,
    edits: [['resume.turn - 1 : resume.turn', 'resume.turn : resume.turn']],
  },
  {
    name: 'run-resumed-calls-forgotten',
    says: 'a resumed run asks the model instead of ending its open calls',
    file: setup,
    edits: [['(context.resume?.calls.length ?? 0) > 0', '(context.resume?.calls.length ?? 0) < 0']],
  },
  {
    name: 'run-clock-runs-while-person-is-asked',
    core: true,
    says: "a person's time to decide counts against the step",
    file: step,
    edits: [["      entry: [tellClocks('deadline.pause')],\n", '']],
  },
  {
    name: 'run-clock-stays-paused',
    says: 'no deadline of the step runs after a decision',
    file: step,
    edits: [["      exit: [tellClocks('deadline.resume')],\n", '']],
  },
  {
    name: 'run-total-paused-unasked',
    says: 'the total stands still while a person is asked, though nobody configured that',
    file: setup,
    edits: [['if (context.limits.totalPauses) enqueue', 'enqueue']],
  },
  {
    name: 'run-step-clock-not-fresh',
    says: 'the next step goes on with the clock of the last one',
    file: step,
    edits: [
      [
        "target: '#run.live.work.begun.betweenSteps'",
        "target: '#run.live.work.begun.stepping.turning'",
      ],
    ],
  },
  {
    name: 'run-next-turn-before-all-calls',
    says: 'the model is asked again while a call still runs',
    file: setup,
    edits: [
      [
        'areCallsDone: ({ context }) => context.open.length === 0 && context.queued.length === 0',
        'areCallsDone: ({ context }) => context.queued.length === 0',
      ],
    ],
  },
  {
    name: 'run-decision-to-unknown-call',
    says: 'a decision for a call that is over reaches for its chart',
    file: setup,
    edits: [
      [
        'context.open.some((call) => call.id === params.toolCallId)',
        "params.toolCallId !== '' || context.open.length === 0",
      ],
    ],
  },
];
