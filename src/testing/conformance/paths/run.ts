import type { AnyEventObject, AnyMachineSnapshot } from 'xstate';
import type { RunContext, RunInput } from '../../../../machines/run.contract.ts';
import { runMachine } from '../../../../machines/run.machine.ts';
import type { RunOutcome, ToolCallRequest } from '../../../../machines/vocabulary.ts';
import { labelOfEvent } from '../../labels.ts';
import type { PathOptions, Payloads } from '../../paths.ts';
import { AGENTS, type AgentName } from '../kit/agents.ts';
import { EXTERNAL, failure, LIMITS, toolCall } from './samples.ts';
import { ITSELF, type Scenario, scenarioOf } from './scenario.ts';
import { STEPS } from './steps.ts';

/** In a table of a scenario: left out, calls of a later turn are not walked. */
const LATER_CALLS = 'calls of a later turn';

/** The life of a run: turns, tools, a stop, a park, its deadlines. */
export const runScenarios = (): Scenario[] => [
  run('one tool a turn', AGENTS.plain, {
    'done turn (one call)': STEPS.calls,
    'done tool.a (ended)': STEPS.toolAnswers,
  }),
  run('two tools at once', AGENTS.plain, {
    'done turn (two calls)': STEPS.callsTwo,
    'done tool.a (ended)': STEPS.toolAnswers,
    'done tool.b (ended)': STEPS.otherToolAnswers,
    'deadline.reached (total)': '',
    'deadline.reached (step)': '',
    [LATER_CALLS]: '',
  }),
  run('a tool that waits for a person', AGENTS.approvals, {
    'done turn (one call)': STEPS.callsGuarded,
    'snapshot tool.a (gated)': ITSELF,
    'done tool.a (ended)': STEPS.approveAndAnswer,
    'deadline.reached (step)': '',
    [LATER_CALLS]: '',
  }),
];

const ALWAYS: Readonly<Record<string, string>> = {
  'run.begin': ITSELF,
  'done prepareRun': ITSELF,
  'done closeWork': ITSELF,
  'done settleRun': ITSELF,
  'done releaseRun': ITSELF,
  'done turn (answered)': STEPS.answers,
  'done turn (failed)': STEPS.refuses,
  'run.stop (external)': STEPS.cancel,
  'run.park (external)': STEPS.park,
  'deadline.reached (total)': STEPS.totalPasses,
  'deadline.reached (step)': STEPS.stepPasses,
};

function run(name: string, agent: AgentName, own: Readonly<Record<string, string>>): Scenario {
  const table = { ...ALWAYS, ...own };
  return scenarioOf({
    feature: 'runs',
    name,
    machine: runMachine,
    options: options(table),
    begins: { agent, by: 'start', model: 'waits' },
    sees: (event, before) => {
      // What is asked to stop ends without anybody's help.
      if (before.matches('stopping') && event.type.startsWith('xstate.done.actor.')) return ITSELF;
      const label = labelOfEvent(event);
      const step = table[label];
      if (step === undefined || step === '') return 'never';
      // How calls follow each other is walked once, with the simplest of them.
      const isLater = label.endsWith('calls)') || label.endsWith('call)');
      if (isLater && contextOf(before).turn > 1 && own[LATER_CALLS] === '') return 'never';
      return step === ITSELF ? ITSELF : { step };
    },
    tells: ['queued', 'started'],
    ending: ({ output }) => ({ terminal: terminalOf(output.outcome) }),
  });
}

/** Payloads of those events alone that the scenario knows, so that the walk stays small. */
function options(table: Readonly<Record<string, string>>): PathOptions<typeof runMachine> {
  return {
    input: INPUT,
    fact: ({ type }: AnyEventObject) => (/^run\.(queued|started)$/.test(type) ? type.slice(4) : ''),
    key: keyOf,
    shows: { toolCall: ({ call }: { call: ToolCallRequest }) => showing(call, 'in-flight') },
    payloads: onlyKnown(PAYLOADS, table),
    limit: 20_000,
  };
}

const INPUT: RunInput = {
  runId: 'run-1',
  liveness: { policy: 'continue', graceMs: 0 },
  limits: LIMITS,
  firstClaim: null,
};

const contextOf = (snapshot: AnyMachineSnapshot): RunContext => snapshot.context;

const showing = (call: ToolCallRequest, ...tags: readonly string[]) => ({
  hasTag: (tag: string) => tags.includes(tag),
  context: { call },
});

const PAYLOADS: Payloads = {
  'run.stop': { external: { cause: EXTERNAL } },
  'run.park': { external: { cause: EXTERNAL } },
  'deadline.reached': {
    total: (at) => ('total' in at.children ? { which: 'total', afterMs: 1 } : undefined),
    step: (at) => ('step' in at.children ? { which: 'step', afterMs: 1 } : undefined),
  },
  'xstate.done.actor.turn': {
    answered: { output: { kind: 'answered' } },
    failed: { output: { kind: 'failed', failure: failure() } },
    'one call': { output: { kind: 'tools', calls: [toolCall('a')] } },
    'two calls': { output: { kind: 'tools', calls: [toolCall('a'), toolCall('b')] } },
  },
  'xstate.done.actor.*': {
    ended: (at) =>
      Object.keys(at.children)
        .filter((id) => id.startsWith('tool.'))
        .map((id) => ({ type: `xstate.done.actor.${id}`, output: { status: 'completed' } })),
  },
  'xstate.snapshot.*': {
    gated: (at) =>
      contextOf(at)
        .open.filter(({ id }) => contextOf(at).standing[id] !== 'gated')
        .map((call) => ({
          type: `xstate.snapshot.tool.${call.id}`,
          snapshot: showing(call, 'gated', 'input-required'),
        })),
  },
};

/** Events of the chart that a table has nothing of are not even walked. */
function onlyKnown(payloads: Payloads, table: Readonly<Record<string, string>>): Payloads {
  const known = Object.entries(table).flatMap(([label, step]) => (step === '' ? [] : [label]));
  const never = Object.fromEntries(UNSEEN.map((type) => [type, { '': () => undefined }]));
  const kept = Object.entries(payloads).map(([type, variants]) => {
    const wanted = Object.entries(variants).filter(([name]) =>
      known.some((label) => label.endsWith(`(${name})`)),
    );
    return [type, wanted.length > 0 ? Object.fromEntries(wanted) : { '': () => undefined }];
  });
  return { ...never, ...Object.fromEntries(kept) };
}

/** Claims have scenarios of their own; the rest is a fault inside the server. */
const UNSEEN = [
  'run.queue',
  'claim.attach',
  'claim.detach',
  'approval.decide',
  'toolCall.ask',
  'toolCall.retract',
  'xstate.done.actor.claims',
  'xstate.error.actor.claims',
  'xstate.error.actor.prepareRun',
  'xstate.error.actor.turn',
  'xstate.error.actor.*',
  'xstate.error.actor.closeWork',
  'xstate.error.actor.settleRun',
  'xstate.error.actor.releaseRun',
  'xstate.error.actor.total',
  'xstate.error.actor.setup',
  'xstate.error.actor.step',
];

function keyOf(snapshot: AnyMachineSnapshot): unknown {
  const {
    turn,
    queued,
    open,
    standing,
    work,
    cause,
    notes,
    failure: failed,
    parking,
    parked,
  } = contextOf(snapshot);
  return [
    `turn ${turn}`,
    ...queued.map(({ id }) => `queued ${id}`),
    ...open.map(({ id }) => `open ${id} ${standing[id] ?? ''}`),
    work,
    cause?.kind === 'deadline' ? cause.which : cause?.kind,
    notes.length > 0 && 'noted',
    failed?.code,
    parking !== null && 'parks',
    parked && 'parked',
  ];
}

/** As `wordOf` says the terminal entry. */
export function terminalOf(outcome: RunOutcome): string {
  switch (outcome.kind) {
    case 'finished':
      return 'finished';
    case 'failed':
      return `failed(${outcome.failure.code})`;
    case 'parked':
      return `parked(${outcome.cause.kind})`;
    case 'cancelled': {
      const { cause } = outcome;
      return `cancelled(${cause.kind === 'deadline' ? `deadline ${cause.which}` : cause.kind})`;
    }
  }
}
