import type { AnyEventObject, AnyMachineSnapshot } from 'xstate';
import type { ToolCallContext } from '../../../../machines/tool-call.contract.ts';
import { toolCallMachine } from '../../../../machines/tool-call.machine.ts';
import type { ToolCallRequest } from '../../../../machines/vocabulary.ts';
import { labelOfEvent } from '../../labels.ts';
import type { Payloads } from '../../paths.ts';
import { AGENTS, type AgentName, TOOLS } from '../kit/agents.ts';
import type { Seen } from './graph.ts';
import { approvalRequest, EXTERNAL, toolCall } from './samples.ts';
import { ITSELF, type Scenario, scenarioOf } from './scenario.ts';
import { STEPS } from './steps.ts';

/** One use of a tool: its gate, its result, its deadline, a stop. */
export const toolCallScenarios = (): Scenario[] => [
  tool('a tool', TOOLS.brief, AGENTS.plain, { 'after startToClose': STEPS.toolTimePasses }),
  tool('a tool that a rule forbids', TOOLS.forbidden, AGENTS.approvals, {}, { forbiddenBy: 'x' }),
  tool(
    'a tool behind a gate',
    TOOLS.guarded,
    AGENTS.impatient,
    {},
    { approval: approvalRequest() },
  ),
];

const ALWAYS: Readonly<Record<string, string>> = {
  'toolCall.begin': ITSELF,
  'done executeTool (result)': STEPS.toolAnswers,
  'done executeTool (error result)': STEPS.toolFails,
  'toolCall.stop (external)': STEPS.cancel,
  'done awaitToolStop': ITSELF,
  'done awaitStopNotice': ITSELF,
  'done approval (approved)': STEPS.approve,
  'done approval (denied)': STEPS.deny,
  'done approval (timed out)': STEPS.approvalPasses,
};

function tool(
  name: string,
  toolName: string,
  agent: AgentName,
  own: Readonly<Record<string, string>>,
  call: Partial<ToolCallRequest> = {},
): Scenario {
  const table = { ...ALWAYS, ...own };
  return scenarioOf({
    feature: 'tools',
    name,
    machine: toolCallMachine,
    options: {
      input: {
        runId: 'run-1',
        call: toolCall('call-1', { ...call, name: toolName }),
        stopGraceMs: 5_000,
      },
      fact: factOf,
      key: keyOf,
      payloads: PAYLOADS,
    },
    begins: { agent, by: 'start', model: { calls: toolName } },
    sees: (event, before): Seen => {
      const label = labelOfEvent(event);
      const { cause } = contextOf(before);
      // A stop ends the question, and nothing else does any more.
      if (label === 'done approval (cancelled)') return cause === null ? 'never' : ITSELF;
      if (label.startsWith('done approval') && cause !== null) return 'never';
      const step = table[label];
      if (step === undefined || before.matches('idle')) return step === ITSELF ? ITSELF : 'never';
      return step === ITSELF ? ITSELF : { step };
    },
    tells: ['tool_complete'],
    ending: (end) => ({
      terminal: contextOf(end).cause === null ? 'finished' : 'cancelled(external)',
    }),
  });
}

const contextOf = (snapshot: AnyMachineSnapshot): ToolCallContext => snapshot.context;

const NEVER = { '': () => undefined };

const PAYLOADS: Payloads = {
  'toolCall.ask': NEVER,
  'toolCall.retract': NEVER,
  'approval.decide': NEVER,
  'toolCall.stop': { external: { cause: EXTERNAL } },
  'xstate.done.actor.approval': {
    approved: { output: { kind: 'approved' } },
    denied: { output: { kind: 'denied' } },
    'timed out': { output: { kind: 'timed_out', waitedMs: 1 } },
    cancelled: { output: { kind: 'cancelled', cause: EXTERNAL } },
  },
  'xstate.error.actor.approval': NEVER,
  'xstate.done.actor.executeTool': {
    result: { output: { isError: false } },
    'error result': { output: { isError: true } },
  },
  'xstate.error.actor.executeTool': NEVER,
  'xstate.error.actor.awaitToolStop': NEVER,
  'xstate.error.actor.awaitStopNotice': NEVER,
  'xstate.done.actor.*': NEVER,
  'xstate.error.actor.*': NEVER,
};

const keyOf = (snapshot: AnyMachineSnapshot): unknown => {
  const { status, cause, notice, approval } = contextOf(snapshot);
  return [status, cause?.kind, notice, approval?.kind];
};

/** As `wordOf` says a `tool_complete`: how the call ended, as the journal tells it apart. */
function factOf({ type, status, approval }: AnyEventObject): string {
  if (type !== 'toolCall.ended') return '';
  if (approval !== null && approval?.kind !== 'approved') return `tool_complete(${approval?.kind})`;
  return `tool_complete(${status === 'completed' ? 'success' : 'failure'})`;
}
