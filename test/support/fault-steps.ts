import type { LivenessPolicy } from '../../src/handle.ts';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { delta, reply, type UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import { toolCall } from './fault-world.ts';

/** What the model answers, turn by turn; a run that has had them all hears that it is done. */
type Script = (id: string) => readonly UpstreamAnswer[];

/** A moment in the life of a run at which its process is killed. */
export interface Step {
  readonly script: Script;
  /** What a reader of its events has seen when the run is there. */
  readonly seen: string;
  /** Told to the run then: the path behind its own. */
  readonly told?: { readonly path: string; readonly seen: string };
  /** Model turns that were answered by the time of the kill. */
  readonly answered: number;
  /** Executions by the time of the kill, by the id of the call. */
  readonly executed: Readonly<Record<string, number>>;
}

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

export const DONE: UpstreamAnswer = { steps: reply({ text: ['Done.'], usage: USAGE }) };

/** Goes on for ever, so that the kill comes between two deltas. */
async function* endless(): AsyncGenerator<UpstreamStep> {
  for (let n = 0; ; n += 1) {
    yield delta({ content: `${n} ` });
    yield { kind: 'delay', ms: 1 };
  }
}

const asks = (...toolCalls: Parameters<typeof reply>[0]['toolCalls'] & {}): UpstreamAnswer => ({
  steps: reply({ text: ['Well. '], toolCalls, usage: USAGE }),
});

const STALL: UpstreamStep = { kind: 'stall' };
const HALF: UpstreamAnswer = { steps: [delta({ content: 'Half' }), STALL] };
const holds: Script = (id) => [asks(toolCall(`${id}-a`, 'hold'))];

/** The agent runs one tool at a time, so that the second one of a turn waits for the first. */
export const STEPS = {
  'after it started': {
    script: () => [{ steps: [STALL] }],
    seen: '"started"',
    answered: 0,
    executed: {},
  },
  'at its first delta': { script: () => [HALF], seen: 'text_delta', answered: 0, executed: {} },
  'in the middle of its text': {
    script: () => [{ steps: endless() }],
    seen: '"50 "',
    answered: 0,
    executed: {},
  },
  'with a tool requested and not started': {
    script: (id) => [asks(toolCall(`${id}-a`, 'hold'), toolCall(`${id}-b`, 'quick'))],
    seen: '"Noted"',
    answered: 1,
    executed: { a: 1, b: 0 },
  },
  'with a tool started': { script: holds, seen: '"Noted"', answered: 1, executed: { a: 1 } },
  'with a tool started that may be repeated': {
    script: (id) => [asks(toolCall(`${id}-a`, 'once', 'work_again'))],
    seen: '"Noted"',
    answered: 1,
    executed: { a: 1 },
  },
  'with one tool ended and the next one started': {
    script: (id) => [asks(toolCall(`${id}-a`, 'quick'), toolCall(`${id}-b`, 'hold'))],
    seen: '-b","message":"Noted"',
    answered: 1,
    executed: { a: 1, b: 1 },
  },
  'in its second turn': {
    script: (id) => [asks(toolCall(`${id}-a`, 'quick')), HALF],
    seen: '"Half"',
    answered: 1,
    executed: { a: 1 },
  },
  'while it waits for a person': {
    script: (id) => [asks(toolCall(`${id}-a`, 'quick', 'gated'))],
    seen: 'approval_pending',
    answered: 1,
    executed: { a: 0 },
  },
  'on its way to be parked': {
    script: holds,
    seen: '"Noted"',
    told: { path: 'park', seen: '' },
    answered: 1,
    executed: { a: 1 },
  },
  'while it is being stopped': {
    script: (id) => [asks(toolCall(`${id}-a`, 'deaf'))],
    seen: '"Noted"',
    told: { path: 'cancel', seen: '"stopping"' },
    answered: 1,
    executed: { a: 1 },
  },
} as const satisfies Readonly<Record<string, Step>>;

export type StepName = keyof typeof STEPS;

export const STEP_NAMES = Object.keys(STEPS) as StepName[]; // Its own keys.

export const POLICIES = ['cancel', 'continue', 'park'] as const satisfies LivenessPolicy[];

/** The configuration that the steps need, beside the witness's own table. */
export const STEPS_TOML = `[hitl]
require_approval = ["gated"]
route = { mode = "conversational", timeout_secs = 600 }
[runtime]
max_parallel_tools = 1
[runtime.timeouts]
tool_stop_grace_secs = 100
[runtime.tools."work_again"]
retry = "idempotent"`;
