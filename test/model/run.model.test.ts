import type { AnyMachineSnapshot } from 'xstate';
import type { RunContext, RunInput } from '../../machines/run.contract.ts';
import { runMachine } from '../../machines/run.machine.ts';
import type { ToolCallRequest } from '../../machines/vocabulary.ts';
import type { Payloads, PathOptions } from '../../src/testing/paths.ts';
import { describeModel } from './model-suite.ts';
import { APPROVAL, EXTERNAL, failure, inShort, LIMITS, SHUTDOWN, toolCall } from './samples.ts';

const CLIENT = toolCall('ask', { kind: 'client' });

/** Alternatives that the chart tells apart only by the calls a turn ends with. */
const answers = (calls: Readonly<Record<string, readonly ToolCallRequest[]>>) =>
  Object.fromEntries(
    Object.entries(calls).map(([name, list]) => [name, { output: { kind: 'tools', calls: list } }]),
  );

const contextOf = (snapshot: AnyMachineSnapshot): RunContext => snapshot.context;

const tools = (snapshot: AnyMachineSnapshot): string[] =>
  Object.keys(snapshot.children).filter((id) => id.startsWith('tool.'));

/** One event for each tool call that runs. */
const ofEachTool = (kind: string, fields: object) => (snapshot: AnyMachineSnapshot) =>
  tools(snapshot).map((id) => ({ type: `xstate.${kind}.actor.${id}`, ...fields }));

/** The tags of a tool call's states, by how it stands. */
const TAGS: Readonly<Record<string, readonly string[]>> = {
  running: ['in-flight'],
  gated: ['gated', 'input-required'],
  asking: ['in-flight', 'input-required'],
  closing: ['closing'],
};

const showing = (call: ToolCallRequest, how: string) => ({
  hasTag: (tag: string) => TAGS[how]?.includes(tag) === true,
  context: { call },
});

/** A tool call shows a snapshot that differs from what the run knows of it. */
const standsNow = (how: string) => (snapshot: AnyMachineSnapshot) =>
  contextOf(snapshot)
    .open.filter(({ id }) => (contextOf(snapshot).standing[id] ?? 'running') !== how)
    .map((call) => ({
      type: `xstate.snapshot.tool.${call.id}`,
      snapshot: showing(call, how),
    }));

/** The stopwatches that run in a state; each may say that the time is up. */
const deadlines = (snapshot: AnyMachineSnapshot) =>
  ['total', 'setup', 'step']
    .filter((which) => which in snapshot.children)
    .map((which) => ({ which, afterMs: 1_000 }));

const once =
  (cause: object, fields = {}) =>
  (snapshot: AnyMachineSnapshot) =>
    contextOf(snapshot).notes.length === 0 ? { cause, ...fields } : undefined;

const bug = { error: new Error('bug') };

/** Only the scenarios about parking ask for it; elsewhere it would only double the states. */
const NEVER = { '': () => undefined };

const PAYLOADS: Payloads = {
  'run.park': NEVER,
  'toolCall.ask': NEVER,
  'toolCall.retract': NEVER,
  'run.queue': NEVER,
  'run.stop': { external: once(EXTERNAL), 'shutdown in 4 s': once(SHUTDOWN, { graceMs: 4_000 }) },
  'deadline.reached': { '': deadlines },
  'claim.attach': { ann: { observer: { id: 'ann', presence: true } } },
  'claim.detach': { ann: { observerId: 'ann', because: 'released' } },
  'approval.decide': {
    'first open': (snapshot) =>
      contextOf(snapshot)
        .open.slice(0, 1)
        .map(({ id }) => ({ toolCallId: id, decisionId: 'decision-1', approved: true })),
    unknown: { toolCallId: 'nobody', decisionId: 'decision-2', approved: true },
  },
  'xstate.done.actor.claims': { decided: { output: { policy: 'cancel' } } },
  'xstate.error.actor.claims': { bug },
  'xstate.error.actor.prepareRun': { failure: { error: failure() }, bug },
  'xstate.error.actor.turn': { bug },
  'xstate.done.actor.*': { ended: ofEachTool('done', { output: { status: 'completed' } }) },
  'xstate.error.actor.*': { bug: ofEachTool('error', bug) },
  'xstate.snapshot.*': { 'waits at its gate': standsNow('gated'), runs: standsNow('running') },
  'xstate.error.actor.closeWork': { bug },
  'xstate.error.actor.settleRun': { 'store down': { error: new Error('disk') } },
  'xstate.error.actor.releaseRun': { bug },
};

const ids = (calls: readonly { id: string }[]): string => calls.map(({ id }) => id).join('+');

const isStored = (snapshot: AnyMachineSnapshot): boolean =>
  snapshot.matches('releasing') || snapshot.matches('ended');

function keyOf(snapshot: AnyMachineSnapshot): unknown {
  const {
    turn,
    queued,
    open,
    standing,
    callerOwes,
    work,
    cause,
    notes,
    failure: failed,
    parking,
    parkMs,
    ...rest
  } = contextOf(snapshot);
  const working = snapshot.matches('live') || snapshot.matches('idle');
  return [
    // Once a run stops, only an open exchange with the model is still told by its turn.
    (working || work === 'model') && `turn ${turn}`,
    queued.length > 0 && `queued ${ids(queued)}`,
    open.length > 0 && `open ${ids(open)}`,
    ...Object.entries(standing).map(([id, how]) => `${id} ${how}`),
    working && callerOwes && 'caller owes',
    work !== 'none' && work,
    cause?.kind === 'deadline' ? `deadline ${cause.which}` : cause?.kind,
    // What was noted goes into the settlement and decides nothing after it.
    !isStored(snapshot) && notes.length > 0 && `noted ${notes.join('+')}`,
    failed?.code,
    parking !== null && !isStored(snapshot) && `parks for ${parking.kind}`,
    parking !== null && working && parkMs < LIMITS.parkMs && 'soon',
    working && rest.claimsDecided && 'claims decided',
    rest.parked && 'parked',
    !rest.settled && 'not stored',
  ];
}

function options(
  payloads: Payloads,
  limits = LIMITS,
  input: Partial<RunInput> = {},
): PathOptions<typeof runMachine> {
  return {
    input: {
      runId: 'run-1',
      liveness: { policy: 'cancel', graceMs: 0 },
      limits,
      firstClaim: { id: 'ann', presence: true },
      ...input,
    },
    fact: inShort,
    key: keyOf,
    shows: { toolCall: ({ call }: { call: ToolCallRequest }) => showing(call, 'running') },
    payloads: { ...PAYLOADS, ...payloads },
    limit: 50_000,
  };
}

describeModel('run', runMachine, {
  'one call a turn': options({
    'xstate.done.actor.turn': {
      answered: { output: { kind: 'answered' } },
      failed: { output: { kind: 'failed', failure: failure() } },
      expired: { output: { kind: 'expired', which: 'first_chunk', afterMs: 90_000 } },
      ...answers({ 'a call': [toolCall('a')] }),
    },
  }),
  'two calls, one at a time, and one of the caller': options(
    {
      'run.stop': { external: once(EXTERNAL) },
      'xstate.done.actor.turn': answers({
        'two calls and one of the caller': [toolCall('a'), toolCall('b'), CLIENT],
      }),
    },
    { ...LIMITS, parallelToolsMax: 1 },
  ),
  'parked under park': options(
    {
      'run.queue': { '': {} },
      'claim.attach': NEVER,
      'approval.decide': NEVER,
      'deadline.reached': NEVER,
      'xstate.error.actor.*': NEVER,
      'run.park': { 'by hand': { cause: EXTERNAL } },
      'run.stop': {
        external: once(EXTERNAL),
        'shutdown in 4 s': once(SHUTDOWN, { graceMs: 4_000 }),
      },
      'xstate.done.actor.claims': { parks: { output: { policy: 'park' } } },
      'xstate.done.actor.turn': {
        answered: { output: { kind: 'answered' } },
        ...answers({ 'a call': [toolCall('a')], 'a call of the caller': [CLIENT] }),
      },
    },
    LIMITS,
    { liveness: { policy: 'park', graceMs: 0 } },
  ),
  'parked under cancel, two calls one at a time': options(
    {
      'run.park': { 'by hand': { cause: EXTERNAL } },
      'run.stop': { 'shutdown in 4 s': once(SHUTDOWN, { graceMs: 4_000 }) },
      'claim.attach': NEVER,
      'claim.detach': NEVER,
      'deadline.reached': NEVER,
      'xstate.done.actor.turn': answers({ 'two calls': [toolCall('a'), toolCall('b')] }),
    },
    { ...LIMITS, parallelToolsMax: 1 },
  ),
  'a tool that asks a question, parked by hand': options(
    {
      'run.park': { 'by hand': { cause: EXTERNAL } },
      'run.stop': { 'shutdown in 4 s': once(SHUTDOWN, { graceMs: 4_000 }) },
      'claim.attach': NEVER,
      'claim.detach': NEVER,
      'deadline.reached': NEVER,
      'toolCall.ask': {
        'first open': (snapshot) =>
          contextOf(snapshot)
            .open.slice(0, 1)
            .map(({ id }) => ({ toolCallId: id, request: APPROVAL })),
        unknown: { toolCallId: 'nobody', request: APPROVAL },
      },
      'toolCall.retract': {
        'first open': (snapshot) =>
          contextOf(snapshot)
            .open.slice(0, 1)
            .map(({ id }) => ({ toolCallId: id, decisionId: APPROVAL.decisionId })),
        unknown: { toolCallId: 'nobody', decisionId: APPROVAL.decisionId },
      },
      'xstate.snapshot.*': {
        asks: standsNow('asking'),
        'tells whom it asked': standsNow('closing'),
        runs: standsNow('running'),
      },
      'xstate.done.actor.turn': answers({ 'an MCP call': [toolCall('a', { executor: 'mcp' })] }),
    },
    { ...LIMITS, totalPauses: true },
  ),
  'resumed with a call': options(
    { 'xstate.done.actor.turn': { answered: { output: { kind: 'answered' } } } },
    LIMITS,
    { resume: { turn: 2, calls: [toolCall('a')] }, firstClaim: null },
  ),
  'resumed after a turn': options(
    { 'xstate.done.actor.turn': { ...answers({ 'a call': [toolCall('a')] }) } },
    LIMITS,
    { resume: { turn: 1, calls: [] }, firstClaim: null },
  ),
});
