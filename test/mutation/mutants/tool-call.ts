import type { Mutant } from '../mutant.ts';

const chart = 'machines/tool-call.machine.ts';
const setup = 'machines/tool-call.setup.ts';

/** One use of a tool: gate, execution, questions, notices. */
export const TOOL_CALL_MUTANTS: readonly Mutant[] = [
  {
    name: 'tool-gate-skipped',
    core: true,
    says: 'a call that needs an approval runs without one',
    file: chart,
    edits: [["          { guard: 'isGated', target: 'gated' },\n", '']],
  },
  {
    name: 'tool-forbidden-runs',
    says: 'a call that a rule forbids runs',
    file: setup,
    edits: [
      [
        'context.call.forbiddenBy !== undefined,\n    isGated',
        'context.call.forbiddenBy === null,\n    isGated',
      ],
    ],
  },
  {
    name: 'tool-approval-honoured-after-stop',
    core: true,
    says: 'an approval that comes in the same breath as a stop lets the tool run',
    file: setup,
    edits: [
      [
        "params.outcome.kind === 'approved' && context.cause === null",
        "params.outcome.kind === 'approved'",
      ],
    ],
  },
  {
    name: 'tool-denied-runs',
    says: 'whatever the approval says, the tool runs',
    file: setup,
    edits: [
      [
        "params.outcome.kind === 'approved' && context.cause === null",
        "params.outcome.kind !== 'cancelled' && context.cause === null",
      ],
    ],
  },
  {
    name: 'tool-executed-again-after-question',
    core: true,
    says: 'a question of the tool makes it run a second time',
    file: chart,
    edits: [
      [
        "target: '.asking',\n          actions: [askQuestion],",
        "target: '.asking',\n          reenter: true,\n          actions: [askQuestion],",
      ],
    ],
  },
  {
    name: 'tool-stop-grace-missing',
    core: true,
    says: 'a tool that ignores its signal keeps the run for ever',
    file: chart,
    edits: [
      [
        "        stopGrace: { target: 'closing', actions: ['giveUp', tellTool('obligation.abandoned')] },\n",
        '',
      ],
    ],
  },
  {
    name: 'tool-abandoned-effect-denied',
    says: 'a tool that may have done its work is told as cancelled',
    file: setup,
    edits: [
      [
        "(context.status === 'timed_out' ? 'timed_out' : 'unknown')",
        "(context.status === 'timed_out' ? 'timed_out' : 'cancelled')",
      ],
    ],
  },
  {
    name: 'tool-clock-runs-while-asking',
    core: true,
    says: "a person's time to answer counts against the tool",
    file: chart,
    edits: [
      [
        "        working: {\n          after: { startToClose: { target: '#toolCall.stopping', actions: [status('timed_out')] } },\n        },",
        '        working: {},',
      ],
      [
        "      initial: 'working',",
        "      after: { startToClose: { target: '#toolCall.stopping', actions: [status('timed_out')] } },\n      initial: 'working',",
      ],
    ],
  },
  {
    name: 'tool-question-outlives-call',
    core: true,
    says: 'an elicitation can be answered after its call is over',
    file: setup,
    edits: [
      [
        '    enqueue.sendTo(questionId(request) as never, cancel as never);\n',
        '    if (context.cause !== null) enqueue.sendTo(questionId(request) as never, cancel as never);\n',
      ],
    ],
  },
  {
    name: 'tool-question-asked-twice',
    says: 'a question that is open already is put again',
    file: setup,
    edits: [
      [
        '!context.questions.some(({ decisionId }) => decisionId === params.request.decisionId)',
        "params.request.decisionId !== '' || context.questions.length === 0",
      ],
    ],
  },
  {
    name: 'tool-webhook-notice-forgotten',
    core: true,
    says: 'nobody tells a webhook that its question is void',
    file: 'machines/withdrawn-for.ts',
    edits: [
      [
        "    case 'cancelled':\n      return outcome.cause.kind;",
        "    case 'cancelled':\n      return undefined;",
      ],
    ],
  },
  {
    name: 'tool-webhook-notice-after-its-own-answer',
    says: 'a webhook that has answered is told that nobody waits for it',
    file: 'machines/withdrawn-for.ts',
    edits: [["outcome.signed === true ? 'decided' : undefined", "'decided'"]],
  },
  {
    name: 'tool-webhook-notice-sent-twice',
    core: true,
    says: 'a webhook is told twice that its question is void',
    file: chart,
    edits: [
      ['actions: [keepCauseOf, askClosing],', 'actions: [keepCauseOf, askClosing, withdrawGate],'],
    ],
  },
  {
    name: 'tool-stop-notice-confirmed-twice',
    says: 'the notice to an MCP server is confirmed again after it was',
    file: setup,
    edits: [
      [
        'enqueue.assign({ notice: { asked: sent === null, sent } });',
        'enqueue.assign({ notice: { asked: true, sent } });',
      ],
    ],
  },
  {
    name: 'tool-notice-bound-missing',
    says: 'a webhook that does not take its notice keeps the call for ever',
    file: chart,
    edits: [
      [
        "        noticeBound: {\n          target: 'ended',",
        "        noticeBound: {\n          target: 'closing',",
      ],
    ],
  },
  {
    name: 'tool-later-cause-wins',
    core: true,
    says: 'a second stop overwrites why the tool was stopped',
    file: setup,
    edits: [
      [
        'isFirstStop: ({ context }) => context.cause === null',
        "isFirstStop: ({ context }) => context.cause?.kind !== 'error'",
      ],
    ],
  },
];
