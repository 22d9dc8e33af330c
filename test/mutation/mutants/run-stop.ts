import type { Mutant } from '../mutant.ts';

const chart = 'machines/run.machine.ts';
const setup = 'machines/run.setup.ts';
const rules = 'machines/run.rules.ts';

/** How a run ends: the first cause, what is open, the one settlement, the release. */
export const RUN_STOP_MUTANTS: readonly Mutant[] = [
  {
    name: 'run-cancel-ignored',
    core: true,
    says: 'a run that is told to stop goes on',
    file: chart,
    edits: [["'run.stop': {\n          target: 'stopping',", "'run.stop': {"]],
  },
  {
    name: 'run-stop-cause-overwritten',
    core: true,
    says: 'a later cause takes the place of the first one',
    file: setup,
    edits: [
      [
        'noteCause: assign({\n',
        'noteCause: assign({\n      cause: (_, params: { cause: StopCause }) => params.cause,\n',
      ],
    ],
  },
  {
    name: 'run-terminal-overwritten',
    core: true,
    says: 'a stop that arrives while the end is stored has it stored again',
    file: chart,
    edits: [
      [
        "on: { 'run.stop': { actions: [{ type: 'noteCause', params: ({ event }) => event }] } },\n      after: { settleBound",
        "on: { 'run.stop': { target: 'settling', reenter: true, actions: [{ type: 'keepCause', params: ({ event }) => ({ cause: event.cause, graceMs: undefined }) }] } },\n      after: { settleBound",
      ],
    ],
  },
  {
    name: 'run-queued-call-forgotten-at-stop',
    says: 'a call that had no place yet is never told as ended',
    file: setup,
    edits: [
      [
        "  for (const call of context.queued) enqueue.emit(endedUnrun(call, 'cancelled', why));\n",
        '',
      ],
    ],
  },
  {
    name: 'run-queued-call-begun-after-stop',
    core: true,
    says: 'a call that ends after the stop makes room for the next one',
    file: chart,
    edits: [
      ['stopTools, closeQueued],\n', 'stopTools],\n'],
      ['import {\n  closeQueued,', 'import {\n  beginTools,\n  closeQueued,'],
      ['actions: [reapTool],', 'actions: [reapTool, beginTools],'],
    ],
  },
  {
    name: 'run-tools-not-told-to-stop',
    says: 'a stop waits for tools that nobody has told of it',
    file: chart,
    edits: [
      [
        "tellWork('obligation.asked'), stopTools, closeQueued]",
        "tellWork('obligation.asked'), closeQueued]",
      ],
    ],
  },
  {
    name: 'run-deadline-cause-lost',
    says: 'a run that a deadline ended says that it was somebody else',
    file: setup,
    edits: [
      [
        "cause: { kind: 'deadline', which: event.which, afterMs: event.afterMs } as const,",
        "cause: { kind: 'external', message: event.which } as const,",
      ],
    ],
  },
  {
    name: 'run-close-without-bound',
    says: 'a model request that does not close keeps the run for ever',
    file: chart,
    edits: [
      ["      after: { closeBound: { actions: [tellWork('obligation.abandoned')] } },\n", ''],
    ],
  },
  {
    name: 'run-settle-without-bound',
    says: 'a store that hangs keeps the run for ever',
    file: chart,
    edits: [
      ["      after: { settleBound: { target: 'releasing', actions: ['loseStore'] } },\n", ''],
    ],
  },
  {
    name: 'run-lost-end-called-stored',
    core: true,
    says: 'a run whose end could not be stored says that it is',
    file: chart,
    edits: [
      [
        "onError: { target: 'releasing', actions: ['loseStore'] }",
        "onError: { target: 'releasing' }",
      ],
    ],
  },
  {
    name: 'run-release-skipped-on-lost-store',
    says: 'what a run took is kept when its end could not be stored',
    file: chart,
    edits: [
      [
        "onError: { target: 'releasing', actions: ['loseStore'] }",
        "onError: { target: 'ended', actions: ['loseStore'] }",
      ],
    ],
  },
  {
    name: 'run-cut-connection-reused',
    says: 'a connection that may carry the last request of a run that was cut off is pooled',
    file: rules,
    edits: [
      [
        "return cause?.kind === 'unclaimed' || cause?.kind === 'deadline';",
        "return cause?.kind === 'unclaimed';",
      ],
    ],
  },
  {
    name: 'run-failure-told-as-cancel',
    says: 'a run that crashed is told as cancelled',
    file: rules,
    edits: [
      [
        "  if (context.cause.kind === 'error') return { kind: 'failed', failure: context.cause.failure };\n",
        '',
      ],
    ],
  },
  {
    name: 'run-claims-heard-after-decision',
    says: 'a claim that comes after the decision reaches for a chart that is over',
    file: setup,
    edits: [
      [
        'heedsClaims: ({ context }) => !context.claimsDecided',
        "heedsClaims: ({ context }) => context.runId !== ''",
      ],
    ],
  },
  {
    name: 'run-unclaimed-goes-on',
    says: 'a run under cancel goes on without any reader',
    file: setup,
    edits: [
      [
        "params.policy === 'cancel' && context.parking === null",
        "params.policy === 'continue' && context.parking === null",
      ],
    ],
  },
  {
    name: 'run-obligations-counted-short',
    says: 'the stop counts no open exchange with the model',
    file: rules,
    edits: [
      [
        "context.open.length + notices + (context.work === 'none' ? 0 : 1)",
        'context.open.length + notices',
      ],
    ],
  },
];
